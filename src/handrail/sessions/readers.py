"""One reader's unread frames: never blocks the pump, never loses a frame, never grows without bound.

Frames come in as batches, one for each chunk that was read, and are shared between readers. Beyond the byte budget,
runs of text deltas are joined into one, and if that is not enough, what follows goes to a temporary file and is read
back, in order, when the reader gets there.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import IO

import msgspec

from handrail.protocol.codec import Codec, decode_line
from handrail.protocol.frames import Frame, Malformed, StreamEvent
from handrail.protocol.stream import ContentBlockDelta, TextDelta, ThinkingDelta

__all__ = ["DEFAULT_BUDGET", "FrameReader"]

DEFAULT_BUDGET = 32 * 1024 * 1024
READ_BACK = 256 * 1024
PLACEHOLDER = b'{"type":"(malformed)"}'


class FrameReader:
    """Unread frames of one reader. Push from the event loop; read with `async for`, from one task at a time."""

    def __init__(self, budget: int = DEFAULT_BUDGET) -> None:
        self._budget = budget
        self._batches: deque[tuple[Sequence[Frame], int]] = deque()
        self._unread = 0
        self._spill: _Spill | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        self._error: Exception | None = None
        self._current: Iterator[Frame] = iter(())
        self._current_size = 0

    @property
    def unread_bytes(self) -> int:
        """About how many bytes of unread lines are held in memory."""
        return self._unread

    @property
    def spilled_bytes(self) -> int:
        """How many bytes wait in the temporary file."""
        return self._spill.size if self._spill else 0

    def push(self, frames: Sequence[Frame], size: int) -> None:
        """Add a batch of frames whose lines are about `size` bytes long."""
        if self._closed:
            return
        if self._unread + size <= self._budget and self._spill is None:
            self._batches.append((frames, size))
            self._unread += size
        else:
            try:
                self._push_beyond_budget(frames)
            except OSError as error:
                # The disk is full, say: this reader learns of it behind what it has; nobody else is concerned.
                self.close(error)
        self._wake()

    def close(self, error: Exception | None = None) -> None:
        """Nothing more will come. What is unread is still read; then reading ends, or raises `error`."""
        if not self._closed:
            self._closed = True
            self._error = error
            self._wake()

    def discard(self) -> None:
        """Nobody will read this any more."""
        self._closed = True
        self._batches.clear()
        self._current = iter(())
        self._unread = self._current_size = 0
        if self._spill is not None:
            self._spill.close()
            self._spill = None
        self._wake()

    def __aiter__(self) -> AsyncGenerator[Frame, None]:
        return self.read()

    async def read(self) -> AsyncGenerator[Frame, None]:
        """The unread frames, and what follows. A loop that was left can be taken up again with a new call."""
        while True:
            # Kept on the reader, not in this generator, which may be left in the middle of a batch.
            for frame in self._current:
                yield frame
            self._unread -= self._current_size
            self._current_size = 0
            if self._batches:
                frames, self._current_size = self._batches.popleft()
                self._current = iter(frames)
            elif self._spill is not None:
                self._read_back(self._spill)
            elif not self._closed:
                await self._more()
            elif self._error is not None:
                raise self._error.with_traceback(None)
            else:
                return

    async def _more(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("another task is already waiting here: give each task a reader of its own")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _push_beyond_budget(self, frames: Sequence[Frame]) -> None:
        joined = join_deltas(frames)
        if self._spill is None:
            held = [frame for batch, _ in self._batches for frame in batch]
            held = join_deltas([*held, *joined])
            size = sum(len(frame.raw) for frame in held)
            if size <= self._budget // 2:
                # Half: otherwise every further batch would go through all of this again.
                self._batches = deque([(held, size)])
                self._unread = size + self._current_size
                return
            self._spill = _Spill()
        # Written on the loop: it goes to the page cache, and the alternative is to stop reading the CLI.
        self._spill.write(joined)

    def _read_back(self, spill: _Spill) -> None:
        frames, size = spill.read()
        if size:
            self._batches.append((frames, size))
            self._unread += size
        else:
            spill.close()
            self._spill = None


class _Spill:
    """Frames on disk, as lines, in order. The file has no name, so it is gone when it is closed."""

    def __init__(self) -> None:
        import tempfile  # most readers keep up, and need none

        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="handrail-unread-")  # noqa: SIM115  (closed by close)
        self._read_at = 0
        self._written = 0
        self._codec = Codec(max_line=sys.maxsize)
        self._malformed: deque[Malformed] = deque()
        """What has no line that would decode to it again; a placeholder keeps its place in the file."""

    @property
    def size(self) -> int:
        return self._written - self._read_at

    def write(self, frames: Sequence[Frame]) -> None:
        self._file.seek(self._written)
        for frame in frames:
            line = frame.raw
            if isinstance(frame, Malformed):
                self._malformed.append(frame)
                line = PLACEHOLDER
            self._written += self._file.write(line + b"\n")

    def read(self) -> tuple[list[Frame], int]:
        """The next frames and how many bytes they took; no bytes when all has been read."""
        self._file.seek(self._read_at)
        frames: list[Frame] = []
        size = 0
        while not frames and self._read_at < self._written:
            data = self._file.read(READ_BACK)
            self._read_at += len(data)
            size += len(data)
            frames = [self._restored(frame) for frame in self._codec.feed(data)]
        return frames, size

    def _restored(self, frame: Frame) -> Frame:
        return self._malformed.popleft() if frame.raw == PLACEHOLDER else frame

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()  # a reader may be dropped unread


def join_deltas(frames: Sequence[Frame]) -> list[Frame]:
    """`frames`, with neighbouring text or thinking deltas of one block joined into one."""
    joined: list[Frame] = []
    run: list[StreamEvent] = []
    for frame in frames:
        if run and not _continues(run[-1], frame):
            joined.append(_join(run))
            run = []
        if isinstance(frame, StreamEvent) and _delta_of(frame) is not None:
            run.append(frame)
        else:
            joined.append(frame)
    if run:
        joined.append(_join(run))
    return joined


def _delta_of(frame: StreamEvent) -> TextDelta | ThinkingDelta | None:
    event = frame.event
    if isinstance(event, ContentBlockDelta) and isinstance(event.delta, TextDelta | ThinkingDelta):
        return event.delta
    return None


def _continues(before: StreamEvent, frame: Frame) -> bool:
    if not isinstance(frame, StreamEvent):
        return False
    if (frame.parent_tool_use_id, frame.session_id) != (before.parent_tool_use_id, before.session_id):
        return False
    one, two = before.event, frame.event
    return (
        isinstance(one, ContentBlockDelta)
        and isinstance(two, ContentBlockDelta)
        and one.index == two.index
        and type(one.delta) is type(two.delta)
        and _delta_of(frame) is not None
    )


def _join(run: list[StreamEvent]) -> Frame:
    """One frame for all: the last one's line, with the text of every one."""
    if len(run) == 1:
        return run[0]
    line = run[-1].data
    name = "text" if isinstance(_delta_of(run[-1]), TextDelta) else "thinking"
    line["event"]["delta"][name] = "".join(getattr(_delta_of(frame), name) for frame in run)
    return decode_line(msgspec.json.encode(line))
