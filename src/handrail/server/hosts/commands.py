"""What a host was told to do and has not answered yet: sent again on each new link, until its deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import msgspec

from handrail.error_records import error_of
from handrail.errors import HandrailError, HostAway, HostError, HostRefused, InvalidOptions, OutcomeUnknown
from handrail.link import wire
from handrail.sessions.asks import Actor

__all__ = ["NOBODY", "Commands", "Done"]

PATIENCE: Final = 60.0
"""How long a host that is connected may take for something, in seconds."""
PATIENCE_WITH_STARTS: Final = 120.0
STARTS: Final = frozenset({"start", "resume", "fork", "adopt", "doctor", "probe"})
COMING_BACK: Final = 8.0
"""How long a host that has just gone away is waited for: links are cut for a moment, and made again."""
NOBODY: Final = Actor("hub", "api")
NOT_KNOWN: Final = "whether this was done is not known: look what became of it"


@dataclass(frozen=True, slots=True)
class Done:
    """What a command came to; `last_seq` is the session's last event by then, 0 if that was not said."""

    result: Any
    last_seq: int = 0


@dataclass(slots=True)
class _Pending:
    command: wire.Command
    answered: asyncio.Future[wire.Reply]


class Commands:
    """The commands to one host. `describe` says in words why it cannot be reached."""

    def __init__(self, name: Callable[[], str], describe: Callable[[], str]) -> None:
        self._name = name
        self._describe = describe
        self._pending: dict[str, _Pending] = {}
        self._send: Callable[[wire.FromHub], None] | None = None
        self._here = asyncio.Event()
        self._refused: HostAway | HostRefused | None = None
        # A hub that has just started waits for its hosts as for hosts that have just gone away.
        self._left_at = time.monotonic()
        self._giving_up: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many are not answered yet."""
        return len(self._pending)

    # ------------------------------------------------------------ the link

    def connect(self, send: Callable[[wire.FromHub], None]) -> None:
        """There is a link: tell the host again what it has not answered."""
        self._send = send
        self._stop_giving_up()
        for pending in self._pending.values():
            send(pending.command)
        self._here.set()

    def disconnect(self) -> None:
        """The link is gone. Who waits goes on waiting for a while."""
        self._send = None
        self._here.clear()
        self._left_at = time.monotonic()
        self._stop_giving_up()
        if self._refused is None:
            self._giving_up = asyncio.get_running_loop().call_later(COMING_BACK, self._give_up)

    def close(self, error: HostAway | HostRefused) -> None:
        """Nothing is done there any more: everybody who waits is told `error`, and so is who comes later."""
        self._refused = error
        self._stop_giving_up()
        unsure = HostRefused if isinstance(error, HostRefused) else OutcomeUnknown
        self._fail_all(unsure(f"{error}; {NOT_KNOWN}"))
        self._here.set()  # whoever waits for the host to come back is to see that

    def take(self, reply: wire.Reply) -> None:
        """The host has answered. An answer that nobody waits for any more does no harm."""
        pending = self._pending.get(reply.id)
        if pending is not None and not pending.answered.done():
            pending.answered.set_result(reply)

    def _give_up(self) -> None:
        self._giving_up = None
        self._fail_all(OutcomeUnknown(f"{self._describe()}; {NOT_KNOWN}"))

    def _fail_all(self, error: HostError) -> None:
        for pending in self._pending.values():
            if not pending.answered.done():
                pending.answered.set_exception(error.with_traceback(None))

    def _stop_giving_up(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    # ------------------------------------------------------------ calling

    async def call(self, method: str, session: str = "", *, actor: Actor = NOBODY, **params: Any) -> Done:
        """Have something done. Raises what the host raised, `HostAway` if it is not there, or `OutcomeUnknown` if it
        does not answer."""
        await self._wait_for_the_host()
        command = wire.Command(
            id=uuid4().hex,
            method=method,
            session=session,
            params=msgspec.json.encode(params),
            actor=actor.name,
            surface=actor.surface,
        )
        pending = _Pending(command, asyncio.get_running_loop().create_future())
        self._pending[command.id] = pending
        try:
            self._tell(command)
            reply = await self._answer(pending, PATIENCE_WITH_STARTS if method in STARTS else PATIENCE)
        finally:
            del self._pending[command.id]
            if pending.answered.done() and not pending.answered.cancelled():
                pending.answered.exception()  # it may come when nobody waits any more
        if reply.error is not None:
            raise self._with_name(error_of(reply.error))
        return Done(self._decoded(reply.result), reply.last_seq)

    def _with_name(self, error: HandrailError) -> HandrailError:
        """What a host refused does not say which host that was."""
        if isinstance(error, HostRefused | InvalidOptions):
            return type(error)(f"on {self._name()}: {error}")
        return error

    async def _wait_for_the_host(self) -> None:
        left = COMING_BACK - (time.monotonic() - self._left_at)
        if not self._here.is_set() and self._refused is None and left > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._here.wait(), left)
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        if self._send is None:
            raise HostAway(self._describe())

    async def _answer(self, pending: _Pending, patience: float) -> wire.Reply:
        try:
            async with asyncio.timeout(patience):
                return await pending.answered
        except TimeoutError:
            self._tell(wire.Cancel(id=pending.command.id))
            raise OutcomeUnknown(f"{self._name()} did not answer within {patience:.0f} s; {NOT_KNOWN}") from None
        except asyncio.CancelledError:
            self._tell(wire.Cancel(id=pending.command.id))
            raise

    def _tell(self, message: wire.FromHub) -> None:
        if self._send is not None:
            self._send(message)

    def _decoded(self, result: bytes) -> Any:
        try:
            return msgspec.json.decode(result)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HostError(f"{self._name()} answered with something that is no JSON: {error}") from None
