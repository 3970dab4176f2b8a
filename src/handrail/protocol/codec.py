"""Bytes in any chunking → lines → frames.

Complete lines are decoded together, straight from the bytes that were read; only when that fails is each line looked at
on its own, and only a line that does not fit its struct is read leniently. Whatever arrives has a defined outcome:

* not JSON, or JSON that is not an object: a `Malformed` frame, and the stream goes on
* longer than the limit: a `Malformed` frame of kind `too_long` with the line's beginning, the rest is skipped
* an unknown type or subtype: an `UnknownFrame`; a wrong field: the frame with `problems`
* invalid UTF-8 in a field that is read: the bad bytes read as U+FFFD, and the frame says so in `problems`
* blank lines, CR before LF, a byte order mark, NUL bytes around a line: ignored
* several objects on one line: each is a frame
* a last line without newline: decoded when the stream ends
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, overload

import msgspec

from handrail.protocol import lenient
from handrail.protocol.frames import Frame, Malformed, System, UnknownFrame
from handrail.protocol.frames.wire import SystemEnvelope, SystemFrame, WireFrame

__all__ = ["DEFAULT_MAX_LINE", "Codec", "decode_line"]

DEFAULT_MAX_LINE = 64 * 1024 * 1024
KEPT_OF_A_LONG_LINE = 1024
PADDING = b" \t\r\n\0"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
EDGES = frozenset(PADDING + BYTE_ORDER_MARK)

_FRAME_TYPES: dict[str, type[Frame]] = {str(cls.__struct_config__.tag): cls for cls in WireFrame.__args__}
_SYSTEM_TYPES: dict[str, type[System]] = {str(cls.__struct_config__.tag): cls for cls in SystemFrame.__args__}


@cache
def _frame_decoder() -> msgspec.json.Decoder[Any]:
    """Made when it is first needed: building it takes longer than importing this module."""
    return msgspec.json.Decoder(WireFrame)


@cache
def _system_decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(SystemFrame)


class Lines(Sequence[bytes]):
    """The lines between two places of some bytes, cut only when one is asked for."""

    __slots__ = ("_count", "_data", "_end", "_lines", "_start")

    def __init__(self, data: bytes | bytearray, start: int, end: int, count: int) -> None:
        self._data = data
        self._start = start
        self._end = end
        self._count = count
        self._lines: list[bytes] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if self._lines is None:
            self._lines = self._cut(bytes(memoryview(self._data)[self._start : self._end]))
            self._data = b""
        return self._lines[index]

    def _cut(self, block: bytes) -> list[bytes]:
        lines = block.removesuffix(b"\n").split(b"\n")
        # As many objects as lines, each line from brace to brace: then no object spans two lines or shares one.
        if len(lines) == self._count and all(line[:1] == b"{" and line[-1:] == b"}" for line in lines):
            return lines
        return list(_objects(block))


def _objects(block: bytes) -> Iterable[bytes]:
    """The objects of a block that do not stand one on each line."""
    text = block.decode("utf-8", "surrogateescape")
    import json  # for blocks that no CLI should write

    decoder = json.JSONDecoder()
    position = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if position == len(text):
            return
        _, end = decoder.raw_decode(text, position)
        yield text[position:end].encode("utf-8", "surrogateescape")
        position = end


class Codec:
    """Decodes one stream of bytes. Never raises for what the stream holds."""

    def __init__(self, max_line: int = DEFAULT_MAX_LINE) -> None:
        self.max_line = max_line
        self._decode_lines = _frame_decoder().decode_lines
        _system_decoder()  # made now rather than in the middle of a stream
        self._partial = bytearray()
        """The beginning of a line whose end has not come yet."""
        self._skipped = 0
        """How much has come of a line that is too long; 0 outside of one."""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return []
        start = 0
        frames: list[Frame] = []
        if self._partial or self._skipped:
            # Only the line that began in an earlier chunk is put together; the others are decoded where they are.
            start = data.find(b"\n") + 1
            frames = self._end_line(data[: start - 1])
        if start < end:
            frames += self._decode_block(data, start, end)
        if end < len(data):
            self._keep(data[end:])
        return frames

    def finish(self) -> list[Frame]:
        """The stream has ended: what is left is a line without its newline."""
        return self._end_line(b"")

    def _keep(self, piece: bytes) -> None:
        """Part of a line that is not complete yet."""
        if self._skipped:
            self._skipped += len(piece)
            return
        self._partial += piece
        if len(self._partial) > self.max_line:
            self._skipped = len(self._partial)
            del self._partial[KEPT_OF_A_LONG_LINE:]

    def _end_line(self, rest: bytes) -> list[Frame]:
        self._keep(rest)
        line, self._partial = self._partial, bytearray()
        skipped, self._skipped = self._skipped, 0
        return [self._too_long(line, skipped)] if skipped else self._decode_one(line)

    def _too_long(self, beginning: bytes | bytearray, size: int) -> Malformed:
        return _malformed(
            beginning[:KEPT_OF_A_LONG_LINE],
            "too_long",
            f"a line of {size} bytes is longer than the limit of {self.max_line}; it was skipped. "
            "Raise the limit (max_line) to read such lines.",
            size,
        )

    def _decode_block(self, data: bytes, start: int, end: int) -> list[Frame]:
        """The frames of the complete lines from `start` to `end`."""
        if end - start <= self.max_line:
            try:
                frames: list[Frame] = self._decode_lines(memoryview(data)[start:end])
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return self._decode_each(data[start:end])
            _attach(frames, Lines(data, start, end, len(frames)))
            return frames
        return self._decode_each(data[start:end])

    def _decode_each(self, block: bytes) -> list[Frame]:
        return [frame for line in block.split(b"\n") for frame in self._decode_one(line)]

    def _decode_one(self, line: bytes | bytearray) -> list[Frame]:
        if len(line) > self.max_line:
            return [self._too_long(line, len(line))]
        line = _without_padding(line)
        return [decode_line(line)] if line else []


def _attach(frames: list[Frame], lines: Lines) -> None:
    """Tell each frame where its line is, and read the `system` ones with the struct of their subtype."""
    for index, frame in enumerate(frames):
        if frame.__class__ is SystemEnvelope:
            frames[index] = decode_line(lines[index])
        else:
            frame.line_source = lines
            frame.line_index = index


def _without_padding(line: bytes | bytearray) -> bytes | bytearray:
    """What counts of a line; not a copy if it has nothing around it, for it may be large."""
    if line and (line[0] in EDGES or line[-1] in EDGES):
        line = line.strip(PADDING).removeprefix(BYTE_ORDER_MARK)
    return line


def decode_line(line: bytes | bytearray) -> Frame:
    """One line as a frame, whatever it holds."""
    line = _without_padding(line)
    try:
        frame: Frame = _frame_decoder().decode(line)
        if frame.__class__ is SystemEnvelope:
            frame = _system_decoder().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(line)
    return _with_source(frame, line)


def _decode_leniently(line: bytes | bytearray) -> Frame:
    problems: tuple[str, ...] = ()
    try:
        line.decode()
    except UnicodeDecodeError as error:
        problems = (f"invalid UTF-8 at byte {error.start}: read as U+FFFD",)
    try:
        value = lenient.plain_value(line)
    except RecursionError:
        return _malformed(line, "too_deep", "the line's JSON is nested too deeply to read", len(line))
    except ValueError as error:
        return _malformed(line, "not_json", f"the line is not JSON: {error}", len(line))
    if not isinstance(value, dict):
        return _malformed(line, "not_an_object", "the line is JSON, but not an object", len(line))
    if not isinstance(value.get("type"), str):
        return _malformed(line, "no_type", "the object has no `type`", len(line))
    frame, misfits = _read_object(value)
    frame.problems = problems + misfits
    return _with_source(frame, line)


def _read_object(value: dict[str, Any]) -> tuple[Frame, tuple[str, ...]]:
    subtype = value.get("subtype")
    known = _SYSTEM_TYPES.get(str(subtype)) if value["type"] == "system" else _FRAME_TYPES.get(value["type"])
    if known is None:
        return UnknownFrame(
            unknown_type=value["type"],
            subtype=subtype if isinstance(subtype, str) else None,
            uuid=_string_or_none(value.get("uuid")),
            session_id=_string_or_none(value.get("session_id")),
        ), ()
    return lenient.convert(value, known)


def _string_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _with_source(frame: Frame, line: bytes | bytearray) -> Frame:
    # A line that was put together is a bytearray: it becomes bytes, which copies it, only if somebody asks.
    frame.line_source = (line,) if isinstance(line, bytes) else Lines(line, 0, len(line), 1)
    frame.line_index = 0
    return frame


def _malformed(line: bytes | bytearray, kind: Any, reason: str, size: int) -> Malformed:
    return Malformed(kind=kind, reason=reason, size=size, line_source=(bytes(line),))
