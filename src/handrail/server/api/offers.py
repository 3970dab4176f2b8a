"""What a program says of a session that it starts or resumes: options, a policy, and what it offers itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from handrail.policy.profiles import Otherwise
from handrail.policy.storage.loading import Asked
from handrail.server.calls import Body, Call
from handrail.server.hub import Hub
from handrail.sessions.programs import HookSpec, ProgramSpec
from handrail.sessions.sitting import Attachments

__all__ = ["PlainOptions", "PolicyWish", "ProfileName", "ProgramOffer", "admitted", "attachments"]

ProfileName: TypeAlias = Literal["careful", "edits", "readonly", "trusted"]
PlainOptions: TypeAlias = Annotated[
    dict[str, Any],
    Meta(description="Options of Claude Code by their names in Python. Some cannot be set through a hub."),
]
Rules: TypeAlias = Annotated[tuple[str, ...], Meta(max_length=1000)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]


class PolicyWish(Body, frozen=True):
    """A policy beside the files: rules are added to those of the hub's configuration."""

    profile: ProfileName | None = None
    allow: Rules = ()
    ask: Rules = ()
    deny: Rules = ()
    otherwise: Otherwise | None = None
    expire_after: Annotated[float, Meta(gt=0)] | None = None

    @property
    def asked(self) -> Asked:
        return Asked(**msgspec.structs.asdict(self))


class OfferedHook(Body, frozen=True):
    """A hook of a program. It is called by its name, over the program's socket."""

    name: Name
    events: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=100)]
    matcher: Annotated[str, Meta(max_length=10_000)] | None = None
    timeout: Annotated[float, Meta(gt=0, le=3600, description="In seconds.")] = 60.0


class ProgramOffer(Body, frozen=True):
    """What a program offers the session while it is connected at `/api/programs`."""

    id: Annotated[str, Meta(min_length=16, max_length=100, description="Of the program's own making: a UUID.")]
    hooks: Annotated[tuple[OfferedHook, ...], Meta(max_length=100)] = ()
    servers: Annotated[tuple[Name, ...], Meta(max_length=100, description="Names of its MCP servers.")] = ()
    answers_asks: bool = False

    @property
    def spec(self) -> ProgramSpec:
        hooks = tuple(HookSpec(**msgspec.structs.asdict(each)) for each in self.hooks)
        return ProgramSpec(id=self.id, hooks=hooks, servers=self.servers, answers_asks=self.answers_asks)


def admitted(hub: Hub, call: Call[Any, Any], offer: ProgramOffer | None) -> ProgramSpec | None:
    """What a session of a host is told of it: the host makes the stand-ins, and calls come back through the hub."""
    if offer is None:
        return None
    call.note("program")
    hub.programs.admit(offer.spec, call.caller)
    return offer.spec


def attachments(hub: Hub, call: Call[Any, Any], offer: ProgramOffer | None) -> Attachments:
    """What a session of the hub's own machine is given of it."""
    if offer is None:
        return Attachments()
    call.note("program")
    return hub.programs.admit(offer.spec, call.caller)
