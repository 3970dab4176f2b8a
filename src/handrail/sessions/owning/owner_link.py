"""Reaches sessions that another process of this user owns: the other end of `OwnerServer`."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import msgspec

from handrail.error_records import error_of, record_of
from handrail.errors import HandrailError, SessionBusy, SessionError, SessionNotLive
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
    decode_from_owner,
    encode,
)

__all__ = ["OwnerLink"]

_PATIENCE = 10.0
_WINDOW = 64
"""How many items of a stream may be under way, or wait here to be read."""


class OwnerLink:
    """A connection to the owner of sessions; made by `open`, ended by `close` or by `async with`.

    Any number of calls and streams can be under way at once. If the owner goes away, each of them ends with
    `SessionNotLive`.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, owner: Hello) -> None:
        self.owner_pid = owner.pid
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)
        self._waiting: dict[int, _Inbox] = {}
        self._ended: HandrailError | None = None
        self._receiving = asyncio.get_running_loop().create_task(self._receive())

    @classmethod
    async def open(cls, address: str, *, patience: float = _PATIENCE) -> OwnerLink:
        """Connect to the owner at this address.

        Raises `SessionNotLive` if there is nobody any more, and `SessionBusy` if there is, but we are not understood.
        """
        reader, writer = await _connected(address)
        try:
            async with asyncio.timeout(patience):
                hello = await _greeted(reader, writer)
        except TimeoutError:
            writer.close()
            raise SessionBusy(
                f"the process that owns the session does not answer at {address}: it may be stopped; continue or end it"
            ) from None
        except BaseException:
            writer.close()
            raise
        return cls(reader, writer, hello)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def is_open(self) -> bool:
        return self._ended is None

    async def call(
        self, session_id: str, method: str, params: Mapping[str, Any] | None = None, *, into: Any = Any
    ) -> Any:
        """What the owner answers, read as the type `into`. Raises what the owner's handler raised."""
        id, inbox = self._new_inbox()
        try:
            await self._send(Call(id=id, session=session_id, method=method, params=dict(params or {})))
            return _decoded(await inbox.next(), into)
        finally:
            self._forget(id, inbox)

    async def stream(
        self, session_id: str, method: str, params: Mapping[str, Any] | None = None, *, into: Any = Any
    ) -> AsyncGenerator[Any, None]:
        """The items of a stream, each read as `into`. The owner fetches them as they are read here."""
        id, inbox = self._new_inbox()
        try:
            await self._send(Open(id=id, session=session_id, method=method, params=dict(params or {}), credit=_WINDOW))
            read = 0
            while not await inbox.is_exhausted():
                yield _decoded(await inbox.next(), into)
                read += 1
                if read == _WINDOW // 2:
                    self._write(More(id=id, credit=read))
                    read = 0
        finally:
            self._forget(id, inbox)

    async def close(self) -> None:
        """End the connection, and with it every call and stream. Idempotent."""
        self._end(SessionError("the link to the owner of the session was closed"))
        self._receiving.cancel()
        await asyncio.wait((self._receiving,))
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    # ------------------------------------------------------------ sending

    def _new_inbox(self) -> tuple[int, _Inbox]:
        if self._ended is not None:
            raise _again(self._ended)
        id, inbox = next(self._ids), _Inbox()
        self._waiting[id] = inbox
        return id, inbox

    def _forget(self, id: int, inbox: _Inbox) -> None:
        del self._waiting[id]
        if not inbox.is_complete:
            self._write(Cancel(id=id))

    async def _send(self, message: ToOwner) -> None:
        self._write(message)
        with suppress(OSError):  # the owner is gone, which the inbox will say
            await self._writer.drain()

    def _write(self, message: ToOwner) -> None:
        line = encode(message)
        if len(line) > MAX_LINE:
            raise SessionError(f"this is longer than {MAX_LINE} bytes: send less at once")
        if self._ended is None:
            self._writer.write(line)

    # ------------------------------------------------------------ receiving

    async def _receive(self) -> None:
        try:
            while (line := await _next_line(self._reader)) is not None:
                self._deliver(decode_from_owner(line))
        except HandrailError as error:
            self._end(error)
        finally:
            self._end(
                SessionNotLive(
                    f"process {self.owner_pid}, which owned the session, has ended; the session's events say what it "
                    "still did. Resume the session to go on"
                )
            )
            self._writer.close()

    def _deliver(self, message: FromOwner) -> None:
        if isinstance(message, Refused):
            raise error_of(message.error)
        if isinstance(message, Hello) or message.id not in self._waiting:
            return  # nobody waits for it any more
        inbox = self._waiting[message.id]
        match message:
            case Item(item=value):
                inbox.put(value)
            case Answer(result=value):
                inbox.put(value)
                inbox.complete()
            case End():
                inbox.complete()
            case Failed(error=error):
                inbox.complete(error_of(error))

    def _end(self, error: HandrailError) -> None:
        if self._ended is None:
            self._ended = error
        for inbox in self._waiting.values():
            inbox.complete(_again(self._ended))


class _Inbox:
    """What has arrived for one call or stream and was not taken yet."""

    def __init__(self) -> None:
        self._values: deque[msgspec.Raw] = deque()
        self._error: HandrailError | None = None
        self._changed = asyncio.Event()
        self.is_complete = False

    def put(self, value: msgspec.Raw) -> None:
        self._values.append(value)
        self._changed.set()

    def complete(self, error: HandrailError | None = None) -> None:
        """Nothing more will come. What came before can still be taken, then there is the error."""
        if not self.is_complete:
            self.is_complete = True
            self._error = error
            self._changed.set()

    async def is_exhausted(self) -> bool:
        """Wait until there is something to take, or never will be. Raises the error that ended it."""
        while not self._values and not self.is_complete:
            self._changed.clear()
            await self._changed.wait()
        if self._values:
            return False
        if self._error is not None:
            raise self._error
        return True

    async def next(self) -> msgspec.Raw:
        if await self.is_exhausted():
            raise SessionError("the owner of the session ended a stream where an answer was expected")
        return self._values.popleft()


async def _connected(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        return await asyncio.open_unix_connection(address, limit=MAX_LINE)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise SessionNotLive("the process that owned the session is gone: resume the session to go on") from error
    except OSError as error:
        raise SessionBusy(f"the process that owns the session cannot be reached at {address}: {error}") from error


async def _greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello:
    writer.write(encode(Hello(version=VERSION, pid=os.getpid())))
    line = await _next_line(reader)
    if line is None:
        raise SessionNotLive("the process that owned the session has just ended: resume the session to go on")
    match decode_from_owner(line):
        case Hello(version=version) as hello if version == VERSION:
            return hello
        case Hello(version=version, pid=pid):
            raise SessionBusy(
                f"process {pid} owns the session and runs another version of Handrail (its protocol is {version}, ours "
                f"{VERSION}): use the same version, or end the session there"
            )
        case Refused(error=error):
            raise error_of(error)
        case other:
            raise SessionBusy(f"the owner of the session answered a hello with {type(other).__name__}")


async def _next_line(reader: asyncio.StreamReader) -> bytes | None:
    """None at the end."""
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, OSError):
        return None
    except asyncio.LimitOverrunError:
        raise SessionError(f"the owner of the session sent a line of more than {MAX_LINE} bytes") from None


def _decoded(value: msgspec.Raw, into: Any) -> Any:
    try:
        return msgspec.json.decode(value, type=into)
    except msgspec.MsgspecError as error:
        raise SessionError(f"the owner of the session answered with something unexpected: {error}") from error


def _again(error: HandrailError) -> HandrailError:
    """The same error for one more place: an exception that is raised twice collects both tracebacks."""
    return error_of(record_of(error))
