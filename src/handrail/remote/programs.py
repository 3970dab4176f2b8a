"""What this program offers sessions of a hub: its hooks, tools and answers, which run here while it is connected.

The hub calls over a socket of its own. A call that was under way when the socket was lost goes on; the hub makes it
again on the next one, and gets the answer of the first.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import msgspec

from handrail.errors import HandrailError, InvalidOptions
from handrail.link.programs import (
    LONGEST_MESSAGE,
    PROGRAMS_PATH,
    Call,
    Cancel,
    FromProgram,
    Offer,
    Offered,
    Result,
    Withdraw,
    decode_from_hub,
    encode,
)
from handrail.policy.answers.encoding import encode_answer
from handrail.protocol.asks import Failed
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubUnreachable
from handrail.remote.sockets import LastingSocket, both
from handrail.sessions.ask_records import ask_of
from handrail.sessions.asking import OnAsk
from handrail.sessions.hooks import Hook, HookContext, run_hook
from handrail.sessions.mcp import ToolServer, ToolServers
from handrail.sessions.programs import HookSpec, ProgramSpec
from handrail.sessions.tools import Tool

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

__all__ = ["OfferedProgram", "Programs"]

logger = logging.getLogger("handrail.hub")

REMEMBERED_ANSWERS: Final = 500
OFFERING: Final = 30.0
"""How long the hub may take to take an offer."""
GOODBYE: Final = 2.0
"""How long it may take to tell the hub that nobody will answer any more; else it finds out by itself."""


class OfferedProgram:
    """What is offered to one session, and how a call for it is answered."""

    def __init__(
        self, *, on_ask: OnAsk | None, hooks: Sequence[Hook], tools: Sequence[Tool[..., Any] | ToolServer]
    ) -> None:
        self.id = uuid4().hex
        self._on_ask = on_ask
        self._hooks = _by_name(hooks)
        self._tools = ToolServers(tools)

    @property
    def spec(self) -> ProgramSpec:
        """What a hub is told of it."""
        hooks = tuple(
            HookSpec(name=name, events=each.events, matcher=each.matcher, timeout=each.timeout)
            for name, each in self._hooks.items()
        )
        return ProgramSpec(
            id=self.id, hooks=hooks, servers=tuple(self._tools.names()), answers_asks=self._on_ask is not None
        )

    async def answer(self, call: Call) -> Any:
        """What a call comes to, as plain values. Raises what keeps it from coming to anything."""
        payload = msgspec.json.decode(call.payload)
        match call.kind:
            case "hook" if call.name in self._hooks:
                context = HookContext(str(payload["event"]), payload["input"], payload.get("tool_use_id"))
                return await run_hook(self._hooks[call.name], context)
            case "mcp":
                return (await self._tools.handle({"server_name": call.name, "message": payload}))["mcp_response"]
            case "ask" if self._on_ask is not None:
                return await self._answer_ask(payload)
        raise LookupError(f"this program has no {call.kind} {call.name!r}")

    async def _answer_ask(self, record: dict[str, Any]) -> Any:
        assert self._on_ask is not None  # noqa: S101
        try:
            answer = await self._on_ask(ask_of(record))
        except Exception as error:  # a callback may raise anything; Claude Code must have its answer
            logger.warning("on_ask failed", exc_info=error)
            answer = Failed(f"{type(error).__name__}: {error}")
        return encode_answer(answer) if answer is not None else None

    async def close(self) -> None:
        await self._tools.aclose()


def _by_name(hooks: Sequence[Hook]) -> dict[str, Hook]:
    """Hooks under names that differ: two functions may have the same."""
    named: dict[str, Hook] = {}
    seen: Counter[str] = Counter()
    for each in hooks:
        if not isinstance(each, Hook):
            raise InvalidOptions(f"{each!r} is no hook: decorate the function with @hook(...)")
        seen[each.name] += 1
        named[each.name if seen[each.name] == 1 else f"{each.name}-{seen[each.name]}"] = each
    return named


class Programs:
    """The socket to a hub for everything that this process offers. It is opened with the first offer."""

    def __init__(self, connection: HubConnection, on_error: Callable[[Exception], None]) -> None:
        self._connection = connection
        self._on_error = on_error
        self._offered: dict[str, OfferedProgram] = {}
        self._taken: dict[str, asyncio.Future[None]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._answers: OrderedDict[str, Result] = OrderedDict()
        self._outgoing: asyncio.Queue[FromProgram] | None = None
        self._failure: HandrailError | None = None
        self._task: asyncio.Task[None] | None = None

    async def offer(self, program: OfferedProgram) -> None:
        """Have the hub call this program from now on. Raises `HubError` or `HubUnreachable`."""
        if self._failure is not None:
            raise self._failure
        taken = asyncio.get_running_loop().create_future()
        self._offered[program.id], self._taken[program.id] = program, taken
        self._say(Offer(programs=(program.id,)))
        if self._task is None:
            socket = LastingSocket(self._connection, PROGRAMS_PATH, self._serve, self)
            self._task = asyncio.get_running_loop().create_task(socket.run(), name="handrail programs of a hub")
        try:
            async with asyncio.timeout(OFFERING):
                await taken
        except TimeoutError:
            await self.withdraw(program)
            raise HubUnreachable(f"the hub at {self._connection.where} does not take hooks and tools now") from None
        except HandrailError:
            await self.withdraw(program)
            raise

    async def withdraw(self, program: OfferedProgram) -> None:
        """Answer for it no more: no session came of it, or it has ended."""
        self._taken.pop(program.id, None)
        if self._offered.pop(program.id, None) is not None:
            self._say(Withdraw(program=program.id))
            await program.close()

    async def close(self) -> None:
        """Say goodbye, and end what runs."""
        for program in list(self._offered.values()):
            await self.withdraw(program)
        if self._outgoing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._outgoing.join(), GOODBYE)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # ------------------------------------------------------------ the socket (a `Watcher` of its own)

    def connected(self) -> None: ...

    def disconnected(self, reason: str) -> None: ...

    def failed(self, error: HandrailError) -> None:
        self._failure = error
        for taken in self._taken.values():
            if not taken.done():
                taken.set_exception(error)
        self._on_error(error)

    async def _serve(self, socket: ClientConnection, came_up: Callable[[], None]) -> None:
        outgoing: asyncio.Queue[FromProgram] = asyncio.Queue()
        self._outgoing = outgoing
        if self._offered:
            self._say(Offer(programs=tuple(self._offered)))
        came_up()
        try:
            await both(self._receive(socket), self._send(socket, outgoing))
        finally:
            self._outgoing = None
            while not outgoing.empty():  # whoever waits for it to be sent waits in vain
                outgoing.get_nowait()
                outgoing.task_done()

    async def _send(self, socket: ClientConnection, outgoing: asyncio.Queue[FromProgram]) -> None:
        while True:
            message = await outgoing.get()
            try:
                await socket.send(encode(message))
            finally:
                outgoing.task_done()

    async def _receive(self, socket: ClientConnection) -> None:
        async for text in socket:
            message = decode_from_hub(text)
            match message:
                case Offered():
                    self._were_offered(message)
                case Call():
                    self._called(message)
                case Cancel(id=call_id):
                    if (task := self._running.get(call_id)) is not None:
                        task.cancel()

    def _were_offered(self, offered: Offered) -> None:
        for program_id in (*offered.programs, *offered.refused):
            taken = self._taken.get(program_id)
            if taken is None or taken.done():
                continue
            if program_id in offered.refused:
                taken.set_exception(InvalidOptions("the hub knows this program as somebody else's"))
            else:
                taken.set_result(None)

    # ------------------------------------------------------------ calls

    def _called(self, call: Call) -> None:
        """Do it, unless it was done or is being done: the hub asks again after a socket was lost."""
        if call.id in self._answers:
            self._say(self._answers[call.id])
        elif call.id not in self._running:
            self._running[call.id] = asyncio.get_running_loop().create_task(self._do(call))

    async def _do(self, call: Call) -> None:
        try:
            result = await self._result(call)
        finally:
            del self._running[call.id]
        self._answers[call.id] = result
        if len(self._answers) > REMEMBERED_ANSWERS:
            self._answers.popitem(last=False)
        self._say(result)

    async def _result(self, call: Call) -> Result:
        program = self._offered.get(call.program)
        if program is None:
            return Result(id=call.id, error="this program has ended")
        try:
            encoded = msgspec.json.encode(await program.answer(call))
        except Exception as error:  # whatever it is: the hub, and through it the session, must have its answer
            logger.warning("a call of the hub failed", exc_info=error)
            self._on_error(error)
            return Result(id=call.id, error=f"{type(error).__name__}: {error}")
        if len(encoded) > LONGEST_MESSAGE - 1024:
            return Result(id=call.id, error=f"the answer is larger than {LONGEST_MESSAGE} bytes")
        return Result(id=call.id, result=msgspec.Raw(encoded))

    def _say(self, message: FromProgram) -> None:
        """Send it if somebody is there; what is not sent is asked for again."""
        if self._outgoing is not None:
            self._outgoing.put_nowait(message)
