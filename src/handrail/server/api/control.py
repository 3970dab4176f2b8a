"""Control requests: every one of the protocol's that a host may make, each with the role that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from handrail.protocol.control import HOST_REQUESTS
from handrail.server.calls import Body, Call, Nothing
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.server.roles import Role

__all__ = ["ROLES_OF_REQUESTS", "control", "rewind", "role_for_request"]

READING: Final = (
    "file_suggestions",
    "get_binary_version",
    "get_context_usage",
    "get_session_cost",
    "get_task_output",
    "get_usage",
    "list_models",
    "list_permission_rules",
)
"""What shows nothing that a viewer may not see. How MCP servers are started, and settings, may hold secrets."""
STEERING: Final = ("background_tasks", "cancel_async_message", "interrupt", "stop_task")
NOT_FOR_CALLERS: Final[Mapping[str, str]] = {
    "initialize": "the hub has done that",
    "end_session": "use /stop",
    "mcp_message": "it belongs to a server inside of the hub",
}
"""What would confuse the session if anybody else did it, and what to do instead."""

NOTED: Final = ("mode", "model", "server_name", "serverName", "enabled", "task_id")
"""Fields that the audit log has: names, and nothing that anybody wrote."""

RESERVED: Final = frozenset({"subtype", "timeout"})

ROLES_OF_REQUESTS: Final[Mapping[str, Role]] = {
    **dict.fromkeys(READING, "viewer"),
    **dict.fromkeys(STEERING, "approver"),
}
"""The least role for each subtype; any other one needs an owner."""


class ControlCall(Body, frozen=True):
    """A control request."""

    subtype: Annotated[str, Meta(min_length=1, max_length=100)]
    fields: dict[str, Any] = msgspec.field(default_factory=dict)


class ControlAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What Claude Code answered."""

    answer: dict[str, Any]


class Rewind(Body, frozen=True):
    """Files as they were before a message."""

    message_uuid: Annotated[str, Meta(min_length=1, max_length=100)]
    dry_run: Annotated[bool, Meta(description="Only say what would change.")] = True


class Rewound(msgspec.Struct, frozen=True, kw_only=True):
    """What was changed back, or would be."""

    can_rewind: bool
    error: str | None = None
    files_changed: tuple[str, ...] = ()
    insertions: int | None = None
    deletions: int | None = None


def role_for_request(subtype: str) -> Role:
    """The least role that may make this request."""
    return ROLES_OF_REQUESTS.get(subtype, "owner")


async def control(hub: Hub, call: Call[ControlCall, Nothing]) -> ControlAnswer:
    """Make a control request of the protocol: modes, models, MCP servers, tasks, usage and more."""
    subtype, fields = call.body.subtype, call.body.fields
    call.note(subtype, *(str(fields[name]) for name in NOTED if name in fields))
    call.caller.check(role_for_request(subtype), f"the request {subtype}")
    if subtype in NOT_FOR_CALLERS:
        raise Problem("invalid", f"{subtype} is not for callers: {NOT_FOR_CALLERS[subtype]}")
    if subtype not in HOST_REQUESTS:
        raise Problem("invalid", f"there is no request {subtype!r}: {', '.join(sorted(HOST_REQUESTS))}")
    _check_fields(subtype, fields)
    session = hub.session(call.id)
    await session.row()
    match subtype, fields:
        case "set_permission_mode", {"mode": str(mode)}:
            await session.set_permission_mode(mode)
            return ControlAnswer(answer={"mode": mode})
        case "set_model", _:
            model = fields.get("model")
            if model is not None and not isinstance(model, str):
                raise Problem("invalid", "a model is a name")
            await session.set_model(model)
            return ControlAnswer(answer={"model": model})
    return ControlAnswer(answer=await session.control(subtype, **fields))


def _check_fields(subtype: str, fields: dict[str, Any]) -> None:
    """Raise `Problem` for fields that the request cannot have. Those that only a newer Claude Code knows pass."""
    if reserved := RESERVED & fields.keys():
        raise Problem("invalid", f"a request has no field {min(reserved)!r}")
    try:
        msgspec.convert({**fields, "subtype": subtype}, HOST_REQUESTS[subtype])
    except msgspec.ValidationError as error:
        raise Problem("invalid", f"{subtype}: {error}") from None


async def rewind(hub: Hub, call: Call[Rewind, Nothing]) -> Rewound:
    """Bring files back to how they were before a message. Without `dry_run: false` it only says what would change."""
    call.note("dry run" if call.body.dry_run else None, call.body.message_uuid)
    call.caller.check("viewer" if call.body.dry_run else "owner", "changing files back")
    fields = {"user_message_id": call.body.message_uuid, "dry_run": call.body.dry_run}
    await hub.session(call.id).row()
    reply = await hub.session(call.id).control("rewind_files", **fields)
    return Rewound(
        can_rewind=bool(reply.get("canRewind")),
        error=reply.get("error"),
        files_changed=tuple(reply.get("filesChanged") or ()),
        insertions=reply.get("insertions"),
        deletions=reply.get("deletions"),
    )
