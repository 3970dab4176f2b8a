"""Serves the sessions of this process to other processes of the same user, over a Unix socket.

`OwnerLink` is the other end. Nothing is queued for anybody: an item of a stream is fetched only once its reader has
asked for more and the socket has taken what came before. So a slow or vanished reader costs one item at most.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from handrail.error_records import record_of
from handrail.errors import HandrailError, LocalProtocolError, SessionBusy, SessionError
from handrail.sessions.owning.forking import abandon_in_forks
from handrail.sessions.owning.owner_peer import Peer, peer_of
from handrail.sessions.owning.owner_socket import OwnerSocket
from handrail.sessions.owning.owner_wire import (
    MAX_LINE,
    VERSION,
    Answer,
    Call,
    Cancel,
    End,
    Failed,
    FromOwner,
    Hello,
    Item,
    More,
    Open,
    Refused,
    ToOwner,
    decode_to_owner,
    encode,
    encode_value,
)

__all__ = ["Handler", "OwnerServer", "Peer"]

_HELLO_PATIENCE = 10.0
_AT_ONCE = 1_000
"""How many calls and streams one connection may have open."""
_CLOSE_GRACE = 1.0

_log = logging.getLogger("handrail.owner")


class Handler(Protocol):
    """What a server asks for everything it is asked. Errors of Handrail's own tree reach the caller as they are.

    A call or stream whose caller goes away, or no longer wants it, is cancelled.
    """

    async def call(self, session_id: str, method: str, params: dict[str, Any], peer: Peer) -> Any:
        """The answer: anything that msgspec can write as JSON, or `msgspec.Raw`."""

    def stream(self, session_id: str, method: str, params: dict[str, Any], peer: Peer) -> AsyncIterator[Any]:
        """Items, each as above. Not advanced while the reader is busy; closed with `aclose` if it has one."""


class OwnerServer:
    """Listens on a socket of its own in the directory `runtime`, from `start` to `close`."""

    def __init__(self, runtime: str, handler: Handler) -> None:
        self._runtime = runtime
        self._handler = handler
        self._socket: OwnerSocket | None = None
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], _Connection] = {}

    @property
    def address(self) -> str:
        """Where others connect, once it was started."""
        if self._socket is None:
            raise LocalProtocolError("this server was not started")
        return self._socket.address

    async def start(self) -> None:
        """Raises `ConfigError` if there is no place for the socket."""
        self._socket = OwnerSocket(self._runtime)
        abandon_in_forks(self)
        self._server = await asyncio.start_unix_server(self._accept, sock=self._socket.listening, limit=MAX_LINE)

    async def close(self) -> None:
        """Stop listening, give calls that are under way a moment to be answered, and end every connection."""
        if self._server is None or self._socket is None:
            return
        server, self._server = self._server, None
        server.close()
        self._socket.close()
        calls = [call for connection in self._connections.values() for call in connection.calls]
        if calls:
            await asyncio.wait(calls, timeout=_CLOSE_GRACE)
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()

    def abandon(self) -> None:
        """In a forked process: whoever is connected must see the connection end with the owner, not with the fork."""
        if self._server is None or self._socket is None:
            return
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        connected = [connection.descriptor for connection in self._connections.values() if not connection.is_closing]
        for descriptor in (self._socket.listening.fileno(), *connected):
            os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(reader, writer, self._handler)
        task = asyncio.get_running_loop().create_task(connection.run())
        self._connections[task] = connection
        task.add_done_callback(self._connections.pop)


class _Connection:
    """One process that is connected."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self.descriptor: int = writer.get_extra_info("socket").fileno()
        self._peer = Peer(0, -1)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._credits: dict[int, _Credit] = {}

    @property
    def calls(self) -> list[asyncio.Task[None]]:
        """The calls that are under way, without streams."""
        return [task for id, task in self._tasks.items() if id not in self._credits]

    @property
    def is_closing(self) -> bool:
        return self._writer.is_closing()

    async def run(self) -> None:
        """Until the other end is gone, or is refused."""
        try:
            self._check_peer()
            async with asyncio.timeout(_HELLO_PATIENCE):
                await self._greet()
            while (line := await self._next_line()) is not None:
                await self._receive(decode_to_owner(line))
        except HandrailError as error:
            await self._send(Refused(error=record_of(error)))
        except OSError as error:
            _log.debug("a connection ended: %s", error)
        finally:
            await self._end()

    # ------------------------------------------------------------ beginning and end

    def _check_peer(self) -> None:
        self._peer = peer_of(self.descriptor)
        if self._peer.uid != os.geteuid():
            raise SessionBusy("this session belongs to another user")

    async def _greet(self) -> None:
        line = await self._next_line()
        if line is None:
            return
        theirs = decode_to_owner(line)
        await self._send(Hello(version=VERSION, pid=os.getpid()))
        if not isinstance(theirs, Hello):
            raise SessionError("the first line must be a hello")
        if theirs.version != VERSION:
            raise SessionBusy(
                f"the owner of this session speaks version {VERSION} of its protocol, not {theirs.version}"
            )

    async def _end(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    # ------------------------------------------------------------ lines

    async def _next_line(self) -> bytes | None:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise SessionError(f"a line of more than {MAX_LINE} bytes") from None

    async def _send(self, message: FromOwner) -> None:
        """Send a line, and wait until the socket takes more. Nothing happens if the other end is gone."""
        with suppress(OSError):
            self._writer.write(encode(message))
            await self._writer.drain()

    async def _receive(self, message: ToOwner) -> None:
        match message:
            case Call():
                await self._begin(message.id, self._answer(message))
            case Open():
                credit = _Credit(message.credit)
                await self._begin(message.id, self._pump(message, credit), credit)
            case More() if message.id in self._credits:
                self._credits[message.id].add(message.credit)
            case Cancel() if message.id in self._tasks:
                self._tasks[message.id].cancel()

    # ------------------------------------------------------------ calls and streams

    async def _begin(self, id: int, work: Coroutine[Any, Any, None], credit: _Credit | None = None) -> None:
        if id in self._tasks or len(self._tasks) >= _AT_ONCE:
            work.close()
            problem = LocalProtocolError(f"the id {id} is in use, or {_AT_ONCE} requests are open: wait for answers")
            await self._send(Failed(id=id, error=record_of(problem)))
            return
        self._tasks[id] = task = asyncio.get_running_loop().create_task(work)
        if credit is not None:
            self._credits[id] = credit
        task.add_done_callback(lambda _: self._forget(id))

    def _forget(self, id: int) -> None:
        self._tasks.pop(id, None)
        self._credits.pop(id, None)

    async def _answer(self, call: Call) -> None:
        async with self._failures_of(call.id):
            result = await self._handler.call(call.session, call.method, call.params, self._peer)
            await self._send(Answer(id=call.id, result=_checked(encode_value(result))))

    async def _pump(self, request: Open, credit: _Credit) -> None:
        async with self._failures_of(request.id):
            items = self._handler.stream(request.session, request.method, request.params, self._peer)
            try:
                await credit.spend()
                async for item in items:
                    await self._send(Item(id=request.id, item=_checked(encode_value(item))))
                    await credit.spend()
            finally:
                if (aclose := getattr(items, "aclose", None)) is not None:
                    await aclose()
            await self._send(End(id=request.id))

    @asynccontextmanager
    async def _failures_of(self, id: int) -> AsyncIterator[None]:
        try:
            yield
        except HandrailError as error:
            await self._send(Failed(id=id, error=record_of(error)))
        except Exception as error:  # noqa: BLE001 - the other process must hear of it; this one goes on
            _log.exception("a request of process %d failed", self._peer.pid)
            told = record_of(error, where="the owner of the session", otherwise=SessionError)
            await self._send(Failed(id=id, error=told))


class _Credit:
    """How many items of a stream may still be sent."""

    def __init__(self, amount: int) -> None:
        self._amount = amount
        self._added = asyncio.Event()

    def add(self, amount: int) -> None:
        self._amount += amount
        self._added.set()

    async def spend(self) -> None:
        """Take one, waiting until there is one."""
        while self._amount <= 0:
            self._added.clear()
            await self._added.wait()
        self._amount -= 1


def _checked(value: msgspec.Raw) -> msgspec.Raw:
    if memoryview(value).nbytes > MAX_LINE - 1024:
        raise SessionError(f"the answer is longer than {MAX_LINE} bytes: ask for less at once")
    return value
