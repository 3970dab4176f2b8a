"""Raw frames, kept in compressed blocks: one for each batch."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence

import msgspec

from handrail.store.base import FrameRow
from handrail.store.faults import Damaged

__all__ = ["pack_frames", "read_frames", "store_frames"]

_LEVEL = 2
"""zlib's level: blocks are hardly larger than with the next one, in two thirds of the time."""
_SMALL = 4 * 1024
_BLOCKS_AT_ONCE = 50

_decode = msgspec.msgpack.Decoder(list[tuple[str, float, bytes, int]]).decode


def pack_frames(frames: Sequence[FrameRow]) -> bytes:
    """A block of frames."""
    rows = [(frame.direction, frame.at, frame.line, frame.after) for frame in frames]
    return _compressed(msgspec.msgpack.encode(rows))


def _compressed(data: bytes) -> bytes:
    """Most blocks are small, and clearing zlib's usual tables would take longer than compressing them."""
    window, memory = (12, 5) if len(data) <= _SMALL else (zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL)
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, window, memory)
    return compressor.compress(data) + compressor.flush()


def store_frames(connection: sqlite3.Connection, session_id: str, frames: Sequence[FrameRow], block: bytes) -> None:
    """Store a block whose frames the session's counter has already taken account of."""
    connection.execute(
        "INSERT INTO frames (session_id, first, count, at, data) "
        "SELECT id, last_frame - ? + 1, ?, ?, ? FROM sessions WHERE id = ?",
        (len(frames), len(frames), frames[-1].at, block, session_id),
    )


def read_frames(connection: sqlite3.Connection, session_id: str, after: int, limit: int) -> list[FrameRow]:
    """Up to `limit` frames with a number above `after`, in order."""
    frames: list[FrameRow] = []
    while len(frames) < limit:
        blocks = connection.execute(
            "SELECT first, data FROM frames WHERE session_id = ? AND first + count > ? AND first >= coalesce("
            "(SELECT max(first) FROM frames WHERE session_id = ? AND first <= ?), 0) ORDER BY first LIMIT ?",
            (session_id, after + 1, session_id, after + 1, _BLOCKS_AT_ONCE),
        ).fetchall()
        if not blocks:
            break
        for first, data in blocks:
            frames += (frame for frame in _unpacked(first, data) if frame.number > after)
        after = frames[-1].number
    return frames[:limit]


def _unpacked(first: int, data: bytes) -> list[FrameRow]:
    try:
        rows = _decode(zlib.decompress(data))
    except (zlib.error, msgspec.DecodeError) as error:
        raise Damaged(f"the raw frames from number {first} on cannot be unpacked") from error
    return [
        FrameRow(direction="in" if direction == "in" else "out", at=at, line=line, after=after, number=number)
        for number, (direction, at, line, after) in enumerate(rows, first)
    ]
