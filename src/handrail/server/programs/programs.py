"""The programs of one hub: who answers for which id, what is asked of them, and what happens when one goes away."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import msgspec

from handrail.errors import HandrailError, SessionError
from handrail.link.programs import Call, Cancel, FromHub, Result
from handrail.link.wire import Callback, CallbackReply, ErrorRecord
from handrail.server.calls import Caller
from handrail.server.problems import Problem
from handrail.sessions.programs import PATIENCE, ProgramSpec, attachments_of
from handrail.sessions.sitting import Attachments

__all__ = ["GRACE", "Line", "Programs"]

logger = logging.getLogger("handrail.programs")

GRACE: Final = 30.0
MOST_REMEMBERED: Final = 10_000
"""Programs that are not connected, of which only is known whose they are."""

Line = Callable[[FromHub], None]
"""Sends a message to a program. Never waits, never raises."""


class ProgramAway(SessionError):
    """The program that should answer is not connected, or does not answer."""


@dataclass(eq=False)
class _Waiting:
    """A call that somebody waits for."""

    call: Call
    program: _Program
    answer: asyncio.Future[Any]


@dataclass(eq=False)
class _Program:
    """A program as the hub knows it."""

    id: str
    owner: str | None = None
    """Whose it is: the first who names it. Nobody else may answer for it."""
    line: Line | None = None
    gone: bool = False
    """Whether it has been away for so long that nobody waits for it any more."""
    patience: asyncio.TimerHandle | None = None
    waiting: dict[str, _Waiting] = field(default_factory=dict)


class Programs:
    """All programs of a hub, connected or not. State lives as long as the hub: sessions of its own do too."""

    def __init__(self, *, grace: float = GRACE) -> None:
        self.grace = grace
        """For how many seconds a program that was lost is waited for."""
        self._programs: OrderedDict[str, _Program] = OrderedDict()
        self._calls: dict[str, _Waiting] = {}

    # ------------------------------------------------------------ programs come and go

    def admit(self, spec: ProgramSpec, caller: Caller) -> Attachments:
        """What a session is given for a program that starts it. Raises `Problem` if the id is somebody else's."""
        if not self._claim(self._program(spec.id), caller):
            raise Problem("invalid", "the id of this program belongs to somebody else: make one with uuid4")
        return attachments_of(spec, _Callbacks(self, spec.id))

    def connect(self, ids: tuple[str, ...], caller: Caller, line: Line) -> tuple[str, ...]:
        """These programs can be reached over `line` now, in place of where they were before; returns which are."""
        taken = tuple(each for each in ids if self._claim(self._program(each), caller))
        for each in taken:
            self._come_back(self._programs[each], line)
        return taken

    def disconnect(self, line: Line) -> None:
        """The socket is gone: whoever answered over it is waited for, for a while."""
        for program in self._programs.values():
            if program.line is line:
                program.line = None
                self._wait_for(program)

    def withdraw(self, program_id: str, line: Line) -> None:
        """A program says that it will not answer any more."""
        program = self._programs.get(program_id)
        if program is not None and program.line is line:
            program.line = None
            self._give_up(program)

    def close(self) -> None:
        """The hub ends: nobody waits for anybody."""
        for program in self._programs.values():
            self._give_up(program)

    @property
    def connected(self) -> int:
        """How many programs can be reached."""
        return sum(program.line is not None for program in self._programs.values())

    def _program(self, program_id: str) -> _Program:
        """The program of this id. One that is not known may belong to a session that outlived a hub: it may come."""
        program = self._programs.get(program_id)
        if program is None:
            program = self._programs[program_id] = _Program(program_id)
            self._wait_for(program)
            self._forget_the_oldest()
        return program

    def _forget_the_oldest(self) -> None:
        surplus = len(self._programs) - MOST_REMEMBERED
        for program in [each for each in self._programs.values() if each.gone][: max(surplus, 0)]:
            del self._programs[program.id]

    def _claim(self, program: _Program, caller: Caller) -> bool:
        if program.owner is None:
            program.owner = caller.key
        return program.owner == caller.key

    def _wait_for(self, program: _Program) -> None:
        program.gone = False
        program.patience = asyncio.get_running_loop().call_later(self.grace, self._give_up, program)

    def _come_back(self, program: _Program, line: Line) -> None:
        if program.patience is not None:
            program.patience.cancel()
        program.line, program.gone, program.patience = line, False, None
        for waiting in program.waiting.values():
            line(waiting.call)

    def _give_up(self, program: _Program) -> None:
        if program.patience is not None:
            program.patience.cancel()
        program.gone, program.patience = True, None
        if program.waiting:
            logger.warning("a program is gone that was to answer %d calls", len(program.waiting))
        for waiting in program.waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(_away())

    # ------------------------------------------------------------ calls

    async def call(self, program_id: str, kind: str, name: str, payload: Any, *, timeout: float) -> Any:
        """What a program answers. Raises `HandrailError` if it is not there, or takes too long, or fails."""
        program = self._program(program_id)
        if program.gone:
            raise _away()
        content = msgspec.Raw(msgspec.json.encode(payload))
        call = Call(id=uuid4().hex, program=program_id, kind=kind, name=name, payload=content)
        waiting = _Waiting(call, program, asyncio.get_running_loop().create_future())
        self._calls[call.id] = program.waiting[call.id] = waiting
        try:
            if program.line is not None:
                program.line(call)
            async with asyncio.timeout(timeout):
                return await waiting.answer
        except TimeoutError:
            raise ProgramAway(f"the program that offers this took more than {timeout:g} s to answer") from None
        finally:
            del program.waiting[call.id], self._calls[call.id]
            if program.line is not None and not _is_answered(waiting.answer):
                program.line(Cancel(id=call.id))

    def answered(self, result: Result, line: Line) -> None:
        """A program answered. What nobody waits for any more is dropped."""
        waiting = self._calls.get(result.id)
        if waiting is not None and waiting.program.line is line and not waiting.answer.done():
            _settle(waiting.answer, result)

    async def answer_callback(self, host_id: str, callback: Callback) -> CallbackReply:
        """The same for a session that a host runs. Never raises."""
        try:
            payload = msgspec.json.decode(callback.payload)
            answer = await self.call(callback.program, callback.kind, callback.name, payload, timeout=PATIENCE)
            return CallbackReply(id=callback.id, result=msgspec.json.encode(answer))
        except (HandrailError, msgspec.MsgspecError) as error:
            logger.info("host %s: no answer to %s %s: %s", host_id, callback.kind, callback.name, error)
            return CallbackReply(id=callback.id, error=ErrorRecord(kind=SessionError.__name__, message=str(error)))


class _Callbacks:
    """The way from a session to one program."""

    def __init__(self, programs: Programs, program_id: str) -> None:
        self._programs = programs
        self._program_id = program_id

    async def call(self, kind: str, name: str, payload: Any, *, timeout: float) -> Any:
        return await self._programs.call(self._program_id, kind, name, payload, timeout=timeout)


def _settle(answer: asyncio.Future[Any], result: Result) -> None:
    if result.error is not None:
        answer.set_exception(ProgramAway(f"the program that offers this failed: {result.error}"))
        return
    try:
        answer.set_result(msgspec.json.decode(result.result))
    except msgspec.MsgspecError as error:
        answer.set_exception(ProgramAway(f"the program's answer cannot be read: {error}"))


def _is_answered(answer: asyncio.Future[Any]) -> bool:
    return answer.done() and not answer.cancelled()


def _away() -> ProgramAway:
    return ProgramAway("the program that offers this is not connected")
