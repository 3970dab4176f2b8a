"""What a hub can have done on this host: each command, within the limits that the host's owner set."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import msgspec

from handrail.errors import HostRefused, LocalProtocolError, SessionNotFound
from handrail.host.capacity import Capacity
from handrail.host.limits import HostLimits
from handrail.host.programs import HubPrograms
from handrail.link.wire import Command
from handrail.policy.answers.encoding import decode_answer
from handrail.policy.storage.loading import Asked
from handrail.sessions.abroad import WantedSession
from handrail.sessions.asks import Actor
from handrail.sessions.beginning import Beginning, begun, checked_id
from handrail.sessions.launching import SessionSettings, decode_settings
from handrail.sessions.manager import Manager
from handrail.sessions.programs import ProgramSpec, attachments_of
from handrail.sessions.project_files import suggest_files
from handrail.sessions.roots import RootRefused
from handrail.sessions.seats import FRONT_ENDS
from handrail.sessions.session import Session
from handrail.sessions.sitting import Attachments
from handrail.store.base import FrameRow

__all__ = ["METHODS", "Acts", "Further", "Method", "Situation"]

KindT = TypeVar("KindT")
Further = Callable[[dict[str, Any]], Awaitable[Any]]

MOST_FRAMES: Final = 1_000
MOST_FRAME_BYTES: Final = 8 * 1024 * 1024
MOST_FILES: Final = 200
MOST_LISTED: Final = 500
RESERVED: Final = frozenset({"subtype", "timeout"})


class Situation(Protocol):
    """What the host is up to."""

    @property
    def name(self) -> str: ...

    @property
    def draining(self) -> bool:
        """Whether no session is to be started any more."""

    def set_draining(self, on: bool) -> None:
        """The hub wants the host to be drained, or to go on."""


@dataclass(frozen=True)
class Method:
    """A command. `ordered` ones of a session are done one after the other; one that `reads` may be done again.

    So may a `repeatable` one of which it is not known whether it was done.
    """

    do: Callable[[Acts, Command, dict[str, Any]], Awaitable[Any]]
    ordered: bool = False
    reads: bool = False
    repeatable: bool = False


class Acts:
    """Does what a hub wants. Each command raises a `HandrailError` if that cannot be, or may not be."""

    def __init__(
        self,
        manager: Manager,
        limits: HostLimits,
        situation: Situation,
        *,
        programs: HubPrograms,
        further: Mapping[str, Further],
    ) -> None:
        self.manager = manager
        self.limits = limits
        self.situation = situation
        self.programs = programs
        self._further = dict(further)
        self._capacity = Capacity(manager, limits.capacity, name=lambda: situation.name)
        manager.hold_to(limits.policy)
        manager.adopted_as = SessionSettings(options=limits.defaults, policy=limits.asked(None), budget=limits.budget)

    def method(self, name: str) -> Method:
        """The command of this name. Raises `LocalProtocolError`."""
        further = self._further.get(name)
        if further is not None:
            return Method(lambda acts, command, params: further(params), reads=True)
        method = METHODS.get(name)
        if method is None:
            raise LocalProtocolError(f"this host knows no command {name!r}: is its Handrail older than the hub's?")
        return method

    async def do(self, command: Command) -> Any:
        """Do it; returns what it came to, as plain values."""
        return await self.method(command.method).do(self, command, _params(command))

    def session(self, command: Command) -> Session:
        """The session that a command is about."""
        if not command.session:
            raise LocalProtocolError(f"the command {command.method} is about a session: say which")
        return self.manager.session(command.session)

    # ------------------------------------------------------------ beginning

    async def start(self, command: Command, params: dict[str, Any]) -> dict[str, str]:
        wanted = _converted(params, WantedSession)
        session = self.manager.session(checked_id(wanted.id or None))
        if await begun(self.manager.store, session.id, wanted.request) is None:
            await self._begin(session.id, wanted)
        else:
            await self._resume(session, wanted.program, {})
        return {"id": session.id}

    async def _begin(self, session_id: str, wanted: WantedSession) -> None:
        settings = SessionSettings(
            options=await asyncio.to_thread(self.limits.options, wanted.options),
            policy=self.limits.asked(wanted.policy),
            budget=wanted.budget or self.limits.budget,
        )
        beginning = Beginning(
            id=session_id, request=wanted.request, settings=settings, title=wanted.title, worktree=wanted.worktree
        )
        attached = self._attached(wanted.program, session_id)
        self._check_is_not_drained()
        async with self._capacity.seat(session_id):
            await self.manager.begin(beginning, attached)

    async def resume(self, command: Command, params: dict[str, Any]) -> None:
        program = params.get("program")
        spec = _converted(program, ProgramSpec) if program is not None else None
        await self._resume(self.session(command), spec, params.get("changes"))

    async def _resume(self, session: Session, program: ProgramSpec | None, wanted: Any) -> None:
        """Make a session live again, unless it is, as its owner allows it now."""
        if await session.is_live():
            return
        attached = self._attached(program, session.id)
        changes = await self._changes(wanted)
        async with self._again(session):
            await self.manager.resume(
                session.id, on_ask=attached.on_ask, hooks=attached.hooks, tools=attached.tools, **changes
            )

    async def fork(self, command: Command, params: dict[str, Any]) -> dict[str, str]:
        parent = self.session(command)
        changes = await self._changes(params.get("changes"))
        await self._check_again(parent)
        async with self._capacity.seat_of_another():
            forked = await self.manager.fork(parent.id, title=str(params.get("title") or ""), **changes)
        return {"id": forked.id}

    async def adoptable(self, command: Command, params: dict[str, Any]) -> list[dict[str, Any]]:
        cwd = params.get("cwd")
        kept = await self.manager.adoptable(str(cwd) if cwd else None, unknown_only=True)
        latest = sorted(kept, key=lambda each: -each.updated_at)
        roots = self.limits.directories
        inside = await asyncio.to_thread(lambda: [each for each in latest if roots.contain(each.cwd)])
        return [
            {
                "session_id": each.session_id,
                "title": each.title,
                "cwd": each.cwd,
                "updated_at": each.updated_at,
                "messages": each.messages,
                "model": each.model,
            }
            for each in inside[:MOST_LISTED]
        ]

    async def adopt(self, command: Command, params: dict[str, Any]) -> dict[str, str]:
        wanted = str(params.get("cli_session_id") or "")
        if not wanted:
            raise SessionNotFound("say which session of Claude Code's is to be adopted")
        for each in await self.manager.adoptable():
            if each.session_id.startswith(wanted):
                await asyncio.to_thread(self.limits.directory, each.cwd)
        return {"id": (await self.manager.adopt(wanted)).id}

    def _attached(self, program: ProgramSpec | None, session_id: str) -> Attachments:
        if program is None:
            return Attachments()
        return attachments_of(program, self.programs.callbacks(program, session_id))

    async def _changes(self, wanted: Any) -> dict[str, Any]:
        """What is to be other about a session: options, its policy, its budget."""
        asked: dict[str, Any] = dict(wanted or {})
        kept = {name: asked.pop(name) for name in ("policy", "budget") if name in asked}
        changes = await asyncio.to_thread(self.limits.changes, asked)
        if kept.get("policy") is not None:
            changes["policy"] = self.limits.asked(_converted(kept["policy"], Asked))
        if "budget" in kept:
            changes["budget"] = kept["budget"]
        return changes

    def _check_is_not_drained(self) -> None:
        if self.situation.draining:
            raise HostRefused("this host is drained for maintenance: it starts no session now")

    async def _check_again(self, session: Session) -> None:
        """Raise if a session that was there before may not be live now."""
        settings = decode_settings((await session.row()).settings)
        await asyncio.to_thread(self.limits.check_stored, settings)
        self._check_is_not_drained()

    @asynccontextmanager
    async def _again(self, session: Session) -> AsyncGenerator[None, None]:
        """A session that was there before becomes live inside the block, if it may, and if there is room for it."""
        await self._check_again(session)
        async with self._capacity.seat(session.id):
            yield

    @asynccontextmanager
    async def _live(self, session: Session) -> AsyncGenerator[None, None]:
        """The session may be resumed inside the block, unless it is live."""
        if await session.is_live():
            yield
        else:
            async with self._again(session):
                yield

    # ------------------------------------------------------------ what people do with a session

    async def send(self, command: Command, params: dict[str, Any]) -> str:
        session, uuid = self.session(command), params.get("uuid")
        async with self._live(session):
            return await session.send(params.get("content"), actor=_actor(command), uuid=uuid)

    async def decide(self, command: Command, params: dict[str, Any]) -> None:
        answer = decode_answer(params.get("answer"))
        await asyncio.to_thread(self.limits.check_answer, answer)
        await self.session(command).decide(
            str(params.get("ask_id")), answer, actor=_actor(command), digest=params.get("digest")
        )

    async def answer_lost(self, command: Command, params: dict[str, Any]) -> None:
        answer, session = decode_answer(params.get("answer")), self.session(command)
        await asyncio.to_thread(self.limits.check_answer, answer)
        async with self._live(session):
            await session.decide(
                str(params.get("ask_id")), answer, actor=_actor(command), digest=params.get("digest"), resume=True
            )

    async def interrupt(self, command: Command, params: dict[str, Any]) -> None:
        await self.session(command).interrupt()

    async def stop(self, command: Command, params: dict[str, Any]) -> None:
        await self.session(command).stop()

    async def control(self, command: Command, params: dict[str, Any]) -> dict[str, Any]:
        subtype, fields = str(params.get("subtype")), dict(params.get("fields") or {})
        if RESERVED & fields.keys():
            raise LocalProtocolError(f"a control request has no field {min(RESERVED & fields.keys())!r}")
        self.limits.check_request(subtype, fields)
        return await self.session(command).control(subtype, **fields)

    async def set_permission_mode(self, command: Command, params: dict[str, Any]) -> None:
        mode = str(params.get("mode"))
        self.limits.check_mode(mode)
        await self.session(command).set_permission_mode(mode)

    async def set_model(self, command: Command, params: dict[str, Any]) -> None:
        await self.session(command).set_model(params.get("model"))

    async def rename(self, command: Command, params: dict[str, Any]) -> None:
        await self.session(command).rename(str(params.get("title") or ""), actor=_actor(command))

    async def change(self, command: Command, params: dict[str, Any]) -> None:
        session = self.session(command)
        await session.row()
        if (title := params.get("title")) is not None:
            await session.rename(str(title), actor=_actor(command))
        if (archived := params.get("archived")) is not None:
            await session.archive(bool(archived))

    async def delete(self, command: Command, params: dict[str, Any]) -> None:
        await self.session(command).delete()

    # ------------------------------------------------------------ looking

    async def frames(self, command: Command, params: dict[str, Any]) -> list[FrameRow]:
        limit = min(MOST_FRAMES, max(1, int(params.get("limit") or MOST_FRAMES)))
        session = self.session(command)
        found = await self.manager.store.frames(session.id, after=int(params.get("after") or 0), limit=limit)
        return _no_longer_than(found, MOST_FRAME_BYTES)

    async def files(self, command: Command, params: dict[str, Any]) -> dict[str, Any]:
        row = await self.session(command).row()
        limit = min(MOST_FILES, max(1, int(params.get("limit") or 50)))
        found = await suggest_files(row.cwd, str(params.get("q") or ""), limit=limit)
        return {"items": msgspec.to_builtins(found)}

    async def directories(self, command: Command, params: dict[str, Any]) -> dict[str, Any]:
        roots = self.limits.directories
        asked, hidden = str(params.get("path") or roots.paths[0]), bool(params.get("hidden"))
        with _as_refusal():
            listing = await asyncio.to_thread(roots.listing, asked, hidden=hidden)
        is_root = listing.path in roots.paths
        return {
            "path": listing.path,
            "parent": None if is_root else listing.path.rpartition("/")[0] or "/",
            "root": is_root,
            "items": msgspec.to_builtins(listing.directories),
            "left_out": listing.left_out,
            "roots": list(roots.paths),
        }

    async def list_files(self, command: Command, params: dict[str, Any]) -> dict[str, Any]:
        optional = bool(params.get("optional"))
        files = await self._exchanging(params, lambda path: self.limits.files.listing(path, optional=optional))
        return {"items": msgspec.to_builtins(files)}

    async def fetch_file(self, command: Command, params: dict[str, Any]) -> dict[str, Any]:
        data = await self._exchanging(params, lambda path: self.limits.files.read(path))
        return {"data": base64.b64encode(data).decode()}

    async def put_file(self, command: Command, params: dict[str, Any]) -> dict[str, Any]:
        replace = bool(params.get("replace"))
        try:
            data = base64.b64decode(str(params.get("data")), validate=True)
        except (binascii.Error, ValueError):
            raise LocalProtocolError("the data of a file must be base64") from None
        put = await self._exchanging(
            params, lambda path: self.limits.files.write(path, data, replace=replace), reads=False
        )
        return {"path": put, "size": len(data)}

    async def _exchanging(self, params: dict[str, Any], act: Callable[[str], KindT], *, reads: bool = True) -> KindT:
        path = str(params.get("path") or "")
        with _as_refusal():
            return await asyncio.to_thread(lambda: act(self.limits.exchanged(path, reads=reads)))

    async def drain(self, command: Command, params: dict[str, Any]) -> None:
        self.situation.set_draining(bool(params.get("on", True)))


@contextmanager
def _as_refusal() -> Iterator[None]:
    """Turn a refused path inside the block into a `HostRefused`."""
    try:
        yield
    except RootRefused as error:
        raise HostRefused(str(error)) from None


METHODS: Final[Mapping[str, Method]] = {
    "start": Method(Acts.start, ordered=True, repeatable=True),
    "resume": Method(Acts.resume, ordered=True, repeatable=True),
    "fork": Method(Acts.fork),
    "adoptable": Method(Acts.adoptable, reads=True),
    "adopt": Method(Acts.adopt),
    "send": Method(Acts.send, ordered=True),
    "decide": Method(Acts.decide),
    "answer_lost": Method(Acts.answer_lost, ordered=True),
    "interrupt": Method(Acts.interrupt),
    "stop": Method(Acts.stop),
    "control": Method(Acts.control),
    "set_permission_mode": Method(Acts.set_permission_mode, ordered=True),
    "set_model": Method(Acts.set_model, ordered=True),
    "rename": Method(Acts.rename, ordered=True),
    "change": Method(Acts.change, ordered=True),
    "delete": Method(Acts.delete, ordered=True),
    "frames": Method(Acts.frames, reads=True),
    "files": Method(Acts.files, reads=True),
    "directories": Method(Acts.directories, reads=True),
    "list_files": Method(Acts.list_files, reads=True),
    "fetch_file": Method(Acts.fetch_file, reads=True),
    "put_file": Method(Acts.put_file),
    "drain": Method(Acts.drain, reads=True),
}
"""Every command. Those that end something do not wait for what was begun before."""


def _params(command: Command) -> dict[str, Any]:
    try:
        return msgspec.json.decode(command.params, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LocalProtocolError(f"the command {command.method} cannot be read: {error}") from None


def _converted(value: Any, kind: type[KindT]) -> KindT:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise LocalProtocolError(f"this is no {kind.__name__}: {error}") from None


def _actor(command: Command) -> Actor:
    """Who does it, as the hub says. No process of this machine does."""
    surface = command.surface if command.surface in FRONT_ENDS else "api"
    return Actor(command.actor or "hub", surface)


def _no_longer_than(frames: list[FrameRow], size: int) -> list[FrameRow]:
    """The first frames, at least one, that are together no longer."""
    for number, frame in enumerate(frames):
        size -= len(frame.line)
        if size < 0:
            return frames[: max(1, number)]
    return frames
