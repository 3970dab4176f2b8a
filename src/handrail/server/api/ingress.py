"""Sessions whose Claude Code somebody starts elsewhere: an address and a token for each, with which it dials in."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from handrail.errors import PolicyError
from handrail.policy.storage.loading import Asked
from handrail.protocol.dialling import dialling_command_line, dialling_environment
from handrail.protocol.options import Options, PermissionMode
from handrail.server.api.offers import ProfileName
from handrail.server.calls import Body, Call, Nothing, Page
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.sessions.launching import decode_settings
from handrail.store.base import SessionRow, TokenRow

__all__ = ["list_all", "make", "renew", "revoke"]

SOMEWHERE: Final = "/elsewhere"
"""The directory of a session of which nobody said where it runs: there is none such, so nothing counts as inside it."""


class NewIngress(Body, frozen=True):
    """A session whose Claude Code somebody will start."""

    cwd: Annotated[
        str,
        Meta(
            pattern=r"^/",
            max_length=4096,
            description="The directory in which it will run, there: the policy takes it for the project.",
        ),
    ] = SOMEWHERE
    title: Annotated[str, Meta(max_length=200)] = ""
    transport: Annotated[
        Literal["websocket", "hybrid"], Meta(description="`hybrid`: it sends by HTTP, and receives on its socket.")
    ] = "websocket"
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    mode: PermissionMode | None = None
    policy: ProfileName | None = None
    budget: Annotated[float, Meta(gt=0, le=1e6, description="What it may cost before a person is asked.")] | None = None


class IngressLine(msgspec.Struct, frozen=True, kw_only=True):
    """How to start it: `command` with `environment`, and `token`, which is shown this once."""

    id: str
    url: str
    token: Annotated[
        str,
        Meta(
            description="For the variable `CLAUDE_CODE_SESSION_ACCESS_TOKEN`; or better for a descriptor, which "
            "`CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR` names."
        ),
    ]
    command: list[str]
    environment: dict[str, str]


class IngressView(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose Claude Code dials in."""

    id: str
    title: str
    cwd: str
    transport: str
    connected: bool
    created_at: float
    last_seen_at: float | None
    revoked_at: float | None


async def list_all(hub: Hub, call: Call[None, Nothing]) -> Page[IngressView]:
    """The sessions whose Claude Code dials in, those that were made last first."""
    items = []
    for session_id, token in (await hub.ingress.passes.all()).items():
        row = await hub.store.get_session(session_id)
        if row is not None:
            items.append(_view(hub, row, token))
    return Page(items=sorted(items, key=lambda each: each.created_at, reverse=True))


def _view(hub: Hub, row: SessionRow, token: TokenRow) -> IngressView:
    return IngressView(
        id=row.id,
        title=row.title,
        cwd=row.cwd,
        transport=decode_settings(row.settings).options.transport,
        connected=hub.ingress.is_connected(row.id),
        created_at=row.created_at,
        last_seen_at=token.last_used_at,
        revoked_at=token.revoked_at,
    )


async def make(hub: Hub, call: Call[NewIngress, Nothing]) -> IngressLine:
    """Make a session that waits for its Claude Code, and the line that starts it."""
    hub.check_open()
    _refuse_keys(call)
    wanted = call.body
    session = await hub.manager.expect(
        _options(wanted),
        title=wanted.title,
        policy=Asked(profile=wanted.policy),
        budget=wanted.budget or hub.settings.defaults.budget,
    )
    call.made["id"] = session.id
    call.note(wanted.transport, wanted.policy)
    try:
        return await _line(hub, await session.row(), call.caller.name)
    except PolicyError:
        await session.delete()
        raise


async def renew(hub: Hub, call: Call[None, Nothing]) -> IngressLine:
    """Make another token for such a session. The one that it had ends, and a Claude Code that used it is stopped."""
    _refuse_keys(call)
    return await _line(hub, await _expected(hub, call.id), call.caller.name)


async def revoke(hub: Hub, call: Call[None, Nothing]) -> None:
    """End the token of such a session: its Claude Code is told to end, and cannot dial in again."""
    row = await _expected(hub, call.id)
    if not await hub.ingress.passes.revoke(row.id):
        raise Problem("token_not_found", f"session {row.id[:8]} has no token that is good")


def _options(wanted: NewIngress) -> Options:
    chosen = {"model": wanted.model, "permission_mode": wanted.mode}
    return Options(
        cwd=wanted.cwd,
        transport=wanted.transport,
        include_partial_messages=True,
        **{name: value for name, value in chosen.items() if value is not None},  # type: ignore[arg-type]
    )


async def _line(hub: Hub, row: SessionRow, created_by: str) -> IngressLine:
    options = await hub.manager.started_elsewhere(row.id)
    if row.cli_session_id is not None:
        options = msgspec.structs.replace(options, resume=row.cli_session_id)
    url = f"ws{hub.settings.url.removeprefix('http')}/v1/session_ingress/ws/{row.id}"
    return IngressLine(
        id=row.id,
        url=url,
        token=await hub.ingress.passes.mint(row.id, created_by=created_by),
        command=dialling_command_line(options, ["claude"], url),
        environment=dialling_environment(options),
    )


async def _expected(hub: Hub, session_id: str) -> SessionRow:
    row = await hub.session(session_id).row()
    if not decode_settings(row.settings).dials_in:
        raise Problem("invalid", f"the Claude Code of session {row.id[:8]} does not dial in: Handrail starts it")
    return row


def _refuse_keys(call: Call[NewIngress, Nothing] | Call[None, Nothing]) -> None:
    if call.headers.get("idempotency-key") is not None:
        raise Problem("invalid", "a token's secret is kept nowhere, so it cannot be answered again: send no key")
