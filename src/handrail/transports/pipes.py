"""The two ends of a child's pipes that need state: what is still to be written, and the end of its stderr."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from itertools import islice
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PipeWriter", "StderrTail"]

_BUFFERS_PER_WRITE = 64
_LONGEST_LOGGED_LINE = 8192

_stderr_log = logging.getLogger("handrail.stderr")


class PipeWriter:
    """Writes to a pipe without blocking: at once where possible, otherwise in order as the reader makes room.

    Owns the pipe. Once the reader is gone, everything is dropped silently.
    """

    __slots__ = ("_ending", "_fd", "_flushed", "_loop", "_pipe", "_queue", "_size")

    def __init__(self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes]) -> None:
        self._loop = loop
        self._pipe = pipe
        self._fd = pipe.fileno()
        os.set_blocking(self._fd, False)
        self._queue: deque[bytes | memoryview] = deque()
        self._size = 0
        self._flushed = asyncio.Event()
        self._ending = False

    @property
    def size(self) -> int:
        """How many bytes are queued."""
        return self._size

    def write(self, data: bytes) -> None:
        if self._ending or not data:
            return
        if self._queue:
            self._enqueue(data)
            return
        sent = self._send((data,))
        if sent < len(data) and not self._ending:
            self._flushed.clear()
            self._enqueue(memoryview(data)[sent:])
            self._loop.add_writer(self._fd, self._on_writable)

    async def drain(self) -> None:
        """Wait until the queue is empty or the reader is gone."""
        while self._queue:
            await self._flushed.wait()

    def end(self) -> None:
        """Close the pipe once what is queued has left. Later writes are dropped."""
        self._ending = True
        if not self._queue:
            self.close()

    def close(self) -> None:
        """Close the pipe now, whatever is queued."""
        self._ending = True
        if self._queue:
            self._loop.remove_writer(self._fd)
            self._queue.clear()
            self._size = 0
        self._pipe.close()
        self._flushed.set()

    def _enqueue(self, data: bytes | memoryview) -> None:
        self._queue.append(data)
        self._size += len(data)

    def _send(self, buffers: Sequence[bytes | memoryview]) -> int:
        try:
            return os.writev(self._fd, buffers)
        except BlockingIOError:
            return 0
        except OSError:
            self.close()
            return 0

    def _on_writable(self) -> None:
        self._discard(self._send(list(islice(self._queue, _BUFFERS_PER_WRITE))))
        if not self._queue and not self._pipe.closed:
            self._on_flushed()

    def _discard(self, sent: int) -> None:
        """Take what was sent from the front of the queue."""
        self._size -= sent
        while sent:
            first = self._queue.popleft()
            if sent < len(first):
                self._queue.appendleft(memoryview(first)[sent:])
                return
            sent -= len(first)

    def _on_flushed(self) -> None:
        self._loop.remove_writer(self._fd)
        self._flushed.set()
        if self._ending:
            self.close()


class StderrTail:
    """Keeps the end of what a process wrote to standard error, and passes each line to the log."""

    __slots__ = ("_limit", "_line", "_pid", "_tail")

    def __init__(self, pid: int, limit: int) -> None:
        self._pid = pid
        self._limit = limit
        self._tail = b""
        self._line = b""

    @property
    def text(self) -> str:
        return self._tail.decode(errors="replace")

    def feed(self, data: bytes) -> None:
        self._tail = (self._tail + data[-self._limit :])[-self._limit :]
        if _stderr_log.isEnabledFor(logging.DEBUG):
            self._log(data)

    def end(self) -> None:
        """Nothing more will come: the last line may lack its newline."""
        if self._line:
            self._log(b"\n")

    def _log(self, data: bytes) -> None:
        *lines, rest = (self._line + data).split(b"\n")
        if len(rest) > _LONGEST_LOGGED_LINE:
            lines.append(rest)
            rest = b""
        self._line = rest
        for line in lines:
            _stderr_log.debug("[%d] %s", self._pid, line.rstrip(b"\r").decode(errors="replace"))
