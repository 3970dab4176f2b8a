"""Calls of this host's sessions to programs that are connected to the hub: their hooks, tools and answers to asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

import msgspec

from handrail.error_records import error_of
from handrail.errors import HandrailError, HostAway, LocalProtocolError
from handrail.link.wire import Callback, CallbackReply, FromHost
from handrail.sessions.programs import ProgramSpec

__all__ = ["HubPrograms", "ProgramCallbacks"]

AWAY_SECONDS: Final = 60.0
"""How long a call waits for a hub that is away: Claude must not hang on it."""

Send = Callable[[FromHost], None]


class HubPrograms:
    """The calls under way. They outlive a connection: what was not answered is sent again, under the same id."""

    def __init__(self, *, away_seconds: float = AWAY_SECONDS) -> None:
        self._away_seconds = away_seconds
        self._send: Send | None = None
        self._calls: dict[str, tuple[Callback, asyncio.Future[CallbackReply]]] = {}
        self._giving_up: asyncio.TimerHandle | None = None
        self._closed = False

    def callbacks(self, spec: ProgramSpec, session_id: str) -> ProgramCallbacks:
        """The way to one program, for one session."""
        return ProgramCallbacks(self, spec.id, session_id)

    def connect(self, send: Send) -> None:
        """There is a connection."""
        self._send = send
        self._stop_giving_up()
        for callback, _ in self._calls.values():
            send(callback)

    def disconnect(self) -> None:
        """It is gone. Calls wait for the next one, for a while."""
        self._send = None
        self._stop_giving_up()
        if not self._closed:
            self._giving_up = asyncio.get_running_loop().call_later(self._away_seconds, self._give_up)

    def close(self) -> None:
        """Nobody will answer any more."""
        self._closed = True
        self._stop_giving_up()
        self._give_up()

    def answered(self, reply: CallbackReply) -> None:
        """A program has answered. An answer that nobody waits for does no harm."""
        _, future = self._calls.get(reply.id, (None, None))
        if future is not None and not future.done():
            future.set_result(reply)

    async def call(self, callback: Callback, *, timeout: float) -> Any:
        """Call a program. Raises `HandrailError` if it does not answer in time, or what it raised."""
        if self._send is None and self._giving_up is None:
            raise HostAway("the hub, through which the program is reached, is away")
        future: asyncio.Future[CallbackReply] = asyncio.get_running_loop().create_future()
        self._calls[callback.id] = (callback, future)
        try:
            if self._send is not None:
                self._send(callback)
            async with asyncio.timeout(timeout):
                reply = await future
        except TimeoutError:
            raise HostAway(f"the program did not answer within {timeout:g} s") from None
        finally:
            del self._calls[callback.id]
        return _result(reply)

    def _give_up(self) -> None:
        self._giving_up = None
        for _, future in self._calls.values():
            if not future.done():
                future.set_exception(HostAway("the hub, through which the program is reached, is away"))

    def _stop_giving_up(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None


class ProgramCallbacks:
    """The `Callbacks` of one program for one session."""

    def __init__(self, programs: HubPrograms, program: str, session_id: str) -> None:
        self._programs = programs
        self._program = program
        self._session_id = session_id

    async def call(self, kind: str, name: str, payload: Any, *, timeout: float) -> Any:
        """Call what the program offers, and wait for its answer."""
        callback = Callback(
            id=uuid4().hex,
            session=self._session_id,
            program=self._program,
            kind=kind,
            name=name,
            payload=msgspec.json.encode(payload),
        )
        return await self._programs.call(callback, timeout=timeout)


def _result(reply: CallbackReply) -> Any:
    if reply.error is not None:
        error: HandrailError = error_of(reply.error)
        raise error
    try:
        return msgspec.json.decode(reply.result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LocalProtocolError(f"the program answered with what is no JSON: {error}") from None
