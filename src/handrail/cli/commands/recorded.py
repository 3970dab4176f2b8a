"""Recordings: stored frames as lines of one, and the lines of one as what passed on the wire."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import msgspec

from handrail.errors import HandrailError
from handrail.events.recording import RecordedLine
from handrail.store.base import FrameRow

__all__ = ["read_recording", "recorded_line"]


STANDARD_INPUT = Path("-")


class _Line(msgspec.Struct):
    """One line of a recording, as `handrail.transports.recorder` writes it."""

    dir: Literal["in", "out", "meta"]
    raw: msgspec.Raw
    t: float = 0.0
    base64: str | None = None


def read_recording(path: Path) -> Iterator[RecordedLine]:
    """What passed on the wire, in order; `-` is standard input. Raises `HandrailError` for what is no recording."""
    with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _recorded(line, number, path)


def _recorded(line: bytes, number: int, path: Path) -> RecordedLine:
    try:
        entry = msgspec.json.decode(line, type=_Line)
        return entry.dir, _wire_line(entry), entry.t
    except (msgspec.DecodeError, ValueError) as error:
        raise HandrailError(
            f"{path}, line {number}: this is no recording ({error}); handrail run --record FILE writes one"
        ) from None


def _wire_line(entry: _Line) -> bytes:
    if entry.base64 is not None:
        return base64.b64decode(entry.base64, validate=True)
    raw = bytes(entry.raw)
    return msgspec.json.decode(raw, type=str).encode() if raw.startswith(b'"') else raw


def recorded_line(frame: FrameRow, *, since: float) -> str:
    """One frame as a line of a recording that began at `since`."""
    entry = {"t": round(frame.at - since, 6), "dir": frame.direction, **_raw(frame.line)}
    return msgspec.json.encode(entry).decode()


def _raw(line: bytes) -> dict[str, object]:
    if _is_object(line):
        return {"raw": msgspec.Raw(line)}
    text = line.decode("utf-8", "backslashreplace")
    return {"raw": text} if text.encode() == line else {"raw": text, "base64": base64.b64encode(line).decode()}


def _is_object(line: bytes) -> bool:
    """Whether the line can go in as it is, without white space around it that the entry would not keep."""
    try:
        return line[:1] == b"{" and line[-1:] == b"}" and isinstance(msgspec.json.decode(line), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
