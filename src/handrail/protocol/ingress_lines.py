"""Lines on a WebSocket: cut from messages in any framing, and read just far enough to see what they are.

The CLI writes one line in each text message, but promises nothing of the kind: lines may be split over messages, joined
in one, binary, or without a newline at the end of a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from handrail.protocol.json_nesting import Nesting

__all__ = ["Head", "LineCutter", "Reply", "head_of", "message_of"]


class _Asked(msgspec.Struct):
    """Of a control request: what it asks."""

    subtype: str = ""


class Reply(msgspec.Struct):
    """Of a control response: what it answers, and what the CLI still waits for."""

    subtype: str = ""
    request_id: str = ""
    pending_permission_requests: Sequence[dict[str, Any]] | None = None

    @property
    def waits_for(self) -> frozenset[str]:
        """The ids of the permissions that it waits for."""
        return frozenset(str(each.get("request_id")) for each in self.pending_permission_requests or ())


class Head(msgspec.Struct):
    """What can be seen of a line without reading all of it."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    request_id: str | None = None
    claude_code_version: str | None = None
    request: _Asked | None = None
    response: Reply | None = None

    @property
    def asks(self) -> str:
        """What a control request asks for; empty for anything else."""
        return self.request.subtype if self.request is not None else ""


_UNREADABLE = Head()
_read = msgspec.json.Decoder(Head).decode


def head_of(line: bytes) -> Head:
    """What `line` is. A line that cannot be read is nothing in particular: whoever gets it will say so."""
    try:
        return _read(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _UNREADABLE


def message_of(lines: bytes) -> str:
    """Whole lines as the text of one message. Each ends in a newline: the CLI waits for it."""
    return lines.decode("utf-8", "replace")


class LineCutter:
    """Cuts the messages of one socket into lines. A line longer than `max_line` is skipped and counted."""

    def __init__(self, max_line: int) -> None:
        self._max_line = max_line
        self._partial = bytearray()
        self._nesting: Nesting | None = None
        """Of a line that has come in several messages, none of which ended it."""
        self._hopeless = False
        """Whether only a newline can end the line."""
        self._skipping = False
        self.too_long = 0
        """How many lines were skipped."""

    def feed(self, message: str | bytes) -> Iterator[bytes]:
        """The lines that `message` completes, without their newlines."""
        data = message.encode("utf-8", "replace") if isinstance(message, str) else bytes(message)
        *complete, rest = data.split(b"\n")
        for piece in complete:
            line = self._ended(piece)
            if line:
                yield line
        if rest:
            yield from self._begun(rest)

    def _ended(self, piece: bytes) -> bytes:
        """The line that `piece` ends; empty if it was skipped, or blank."""
        self._keep(piece)
        line, self._partial = bytes(self._partial), bytearray()
        self._nesting, self._hopeless = None, False
        skipping, self._skipping = self._skipping, False
        return b"" if skipping else line.strip(b" \t\r\0")

    def _begun(self, rest: bytes) -> Iterator[bytes]:
        """What came without a newline is the beginning of a line, unless it is a whole object already."""
        self._keep(rest)
        if not self._skipping and self._completes(rest):
            yield self._ended(b"")

    def _completes(self, piece: bytes) -> bool:
        """Whether `piece` makes the line a whole object. No part is read again for each piece that follows."""
        if self._partial[:1] != b"{" or self._hopeless:
            return False
        if self._nesting is None:
            if _is_whole(self._partial):
                return True
            self._nesting = Nesting()
            self._nesting.add(bytes(self._partial))
            self._hopeless = self._nesting.is_closed
            return False
        self._nesting.add(piece)
        if not self._nesting.is_closed:
            return False
        self._hopeless = not _is_whole(self._partial)
        return not self._hopeless

    def _keep(self, piece: bytes) -> None:
        if self._skipping:
            return
        self._partial += piece
        if len(self._partial) > self._max_line:
            self._partial.clear()
            self._skipping = True
            self.too_long += 1


def _is_whole(line: bytearray) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
