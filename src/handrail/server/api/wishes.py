"""How a session is to be started, resumed or copied: what callers wish, and what becomes of it here and on hosts."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options, PermissionMode
from handrail.server.api.offers import PlainOptions, PolicyWish, ProfileName, ProgramOffer, admitted, attachments
from handrail.server.calls import Body, Call, Nothing
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.server.wanted import checked_options, with_wanted
from handrail.sessions.abroad import WantedSession
from handrail.sessions.beginning import Beginning, request_of
from handrail.sessions.launching import SessionSettings, decode_settings
from handrail.sessions.session import Session
from handrail.store.base import SessionRow

__all__ = [
    "Fork",
    "NewSession",
    "Resumption",
    "changes_of",
    "content_of",
    "image_block",
    "named",
    "policy_of",
    "request_by",
    "started_here",
    "wanted_of_a_host",
]

Title = Annotated[
    str, Meta(max_length=200, description="What the session is called; empty: the first prompt names it.")
]

Budget = Annotated[float, Meta(gt=0, le=1e6, description="What it may cost before a person is asked.")]


class ImageData(Body, frozen=True):
    """A picture for Claude."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: Annotated[str, Meta(description="Base64.")]


class NewSession(Body, frozen=True):
    """A session to start. With the same `id` it is the same session, and is started once."""

    cwd: Annotated[str, Meta(min_length=1, max_length=4096, description="The directory, inside one of the roots.")]
    id: (
        Annotated[
            str,
            Meta(
                max_length=100,
                description="A UUID of your choosing: whoever does not hear the answer can start the same again.",
            ),
        ]
        | None
    ) = None
    host: Annotated[
        str,
        Meta(
            max_length=200,
            description="Where it runs: a host's name or id, `label:NAME`, or `any`; empty: the hub's own machine.",
        ),
    ] = ""
    prompt: Annotated[str, Meta(max_length=1_000_000, description="What Claude is to do first.")] = ""
    images: Annotated[tuple[ImageData, ...], Meta(max_length=20)] = ()
    title: Title = ""
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    mode: PermissionMode | None = None
    policy: ProfileName | PolicyWish | None = None
    budget: Budget | None = None
    worktree: (
        Annotated[
            str,
            Meta(
                pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$", description="The name of a git worktree to make for it."
            ),
        ]
        | None
    ) = None
    options: PlainOptions = msgspec.field(default_factory=dict)
    program: ProgramOffer | None = None


class Resumption(Body, frozen=True):
    """What is to be other about a session that is resumed, and what a program offers it."""

    options: PlainOptions = msgspec.field(default_factory=dict)
    policy: ProfileName | PolicyWish | None = None
    budget: Budget | None = None
    program: ProgramOffer | None = None


class Fork(Body, frozen=True):
    """A copy of a session, and what is to be other about it."""

    title: Title = ""
    options: PlainOptions = msgspec.field(default_factory=dict)
    policy: ProfileName | PolicyWish | None = None
    budget: Budget | None = None


def request_by(call: Call[NewSession, Nothing]) -> str:
    """What tells a start from others: who asks, and for what. A program that asks again may be another process."""
    asked: dict[str, Any] = msgspec.to_builtins(call.body)
    named = {name: asked[name] for name in asked.keys() - {"id", "program", "policy"}}
    return request_of(caller=call.caller.key, policy=policy_of(call.body.policy), **named)


def wanted_of_a_host(hub: Hub, call: Call[NewSession, Nothing], session_id: str) -> WantedSession:
    """What a host is told: only what was chosen, since it has defaults and limits of its own."""
    wanted = call.body
    named = {"model": wanted.model, "permission_mode": wanted.mode, "cwd": wanted.cwd}
    chosen = {name: value for name, value in named.items() if value is not None}
    return WantedSession(
        id=session_id,
        request=request_by(call),
        options={"enable_file_checkpointing": True, **wanted.options, **chosen},
        title=wanted.title,
        policy=policy_of(wanted.policy),
        budget=wanted.budget,
        worktree=wanted.worktree,
        program=admitted(hub, call, wanted.program),
    )


async def started_here(hub: Hub, call: Call[NewSession, Nothing], session_id: str, policy: Asked) -> Session:
    """Start a session on the hub's own machine."""
    wanted, request = call.body, request_by(call)
    await hub.hosts.check_free(session_id, request)
    settings = SessionSettings(
        options=await asyncio.to_thread(_options, hub, wanted),
        policy=policy,
        budget=wanted.budget or hub.settings.defaults.budget,
    )
    beginning = Beginning(
        id=session_id, request=request, settings=settings, title=wanted.title, worktree=wanted.worktree
    )
    return await hub.manager.begin(beginning, attachments(hub, call, wanted.program))


def _options(hub: Hub, wanted: NewSession) -> Options:
    """How the CLI is started: as the hub's configuration says, but for what is wanted otherwise."""
    named = {"model": wanted.model, "permission_mode": wanted.mode}
    chosen = {name: value for name, value in named.items() if value is not None}
    asked = {"enable_file_checkpointing": True, **wanted.options, **chosen, "cwd": wanted.cwd}
    return with_wanted(hub.settings.defaults.options, asked, hub.working_roots)


def policy_of(wanted: str | PolicyWish | None) -> Asked:
    """What is asked of a session's policy. What its machine asks of every session is added where it becomes live."""
    match wanted:
        case None:
            return Asked()
        case str():
            return Asked(profile=wanted)
    return wanted.asked


def changes_of(hub: Hub, wanted: Resumption | Fork, row: SessionRow) -> dict[str, Any]:
    """What is to be other about a session, as its manager takes it. A host looks at its options itself."""
    changes: dict[str, Any] = dict(wanted.options if row.host else checked_options(wanted.options, hub.working_roots))
    if wanted.budget is not None:
        changes["budget"] = wanted.budget
    if wanted.policy is not None:
        changes["policy"] = _changed_policy(wanted.policy, row)
    return changes


def _changed_policy(wanted: str | PolicyWish, row: SessionRow) -> Asked:
    """A wish takes the place of the one before; a profile's name takes nothing else back."""
    before = decode_settings(row.settings).policy if isinstance(wanted, str) else None
    return policy_of(wanted).beside(before or Asked())


def named(**chosen: str | None) -> list[str]:
    return [f"{name} {value}" for name, value in chosen.items() if value is not None]


def content_of(wanted: NewSession) -> str | list[dict[str, Any]]:
    if not wanted.images:
        return wanted.prompt
    text = [{"type": "text", "text": wanted.prompt}] if wanted.prompt else []
    return [*text, *(image_block(image.media_type, image.data) for image in wanted.images)]


def image_block(media_type: str, data: str) -> dict[str, Any]:
    """A picture as a part of a message. Raises `Problem` if it is none."""
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Problem("invalid", "the data of an image must be base64") from None
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
