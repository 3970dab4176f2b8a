"""Everybody who gets the frames of a client: sinks at once, readers when they come to it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Protocol

from handrail.protocol.frames import Frame
from handrail.sessions.readers import FrameReader

__all__ = ["Audience", "FrameSink"]


class FrameSink(Protocol):
    """Takes frames on the spot. Neither method may block or raise."""

    def push(self, frames: Sequence[Frame], size: int) -> None:
        """Frames arrived; their lines are about `size` bytes long."""

    def close(self, error: Exception | None) -> None:
        """Nothing more will come: the CLI is gone, because of `error`, or because it was told to go."""


class Audience:
    """The sinks and the readers of one client's frames. It keeps the sinks, and only knows of the readers."""

    def __init__(self) -> None:
        self._sinks: list[FrameSink] = []
        self._readers: list[weakref.ref[FrameReader]] = []

    def add_sink(self, sink: FrameSink) -> None:
        """Hand `sink` every frame from now on, before anybody who reads."""
        self._sinks.append(sink)

    def add_reader(self, reader: FrameReader) -> None:
        """Let `reader` have every frame from now on, for as long as somebody holds it."""
        self._readers.append(weakref.ref(reader, self._readers.remove))

    def push(self, frames: Sequence[Frame], size: int) -> None:
        """These frames arrived."""
        for sink in self._sinks:
            sink.push(frames, size)
        for reader in self._living_readers():
            reader.push(frames, size)

    def close(self, error: Exception | None) -> None:
        """Nothing more will come."""
        for sink in self._sinks:
            sink.close(error)
        for reader in self._living_readers():
            reader.close(error)

    def _living_readers(self) -> list[FrameReader]:
        """The readers somebody still holds. A list of its own: the garbage collector may take one at any time."""
        return [reader for reference in tuple(self._readers) if (reader := reference()) is not None]
