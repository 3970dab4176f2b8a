"""What two Handrail processes say to each other about a session: one JSON object on each line, both ways.

The one that wants something begins with `Hello` and gets a `Hello` back. Then it makes calls and opens streams, each
under an id of its own; they are answered in any order. A stream sends no more items than were asked for with `More`, so
one that nobody reads holds up nothing else on the connection.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec

from handrail.error_records import ErrorRecord
from handrail.errors import SessionError

__all__ = [
    "MAX_LINE",
    "VERSION",
    "Answer",
    "Call",
    "Cancel",
    "End",
    "Failed",
    "FromOwner",
    "Hello",
    "Item",
    "More",
    "Open",
    "Refused",
    "ToOwner",
    "decode_from_owner",
    "decode_to_owner",
    "encode",
    "encode_value",
]

VERSION = 1
MAX_LINE = 32 * 1024 * 1024
"""The longest line that is read, in bytes: messages carry images, and exports whole sessions."""


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """The first line each way: who speaks, and which version of this protocol."""

    version: int
    handrail: str = ""
    pid: int = 0


class Call(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """Do something, and answer once."""

    id: int
    session: str
    method: str
    params: dict[str, Any] = {}


class Open(msgspec.Struct, frozen=True, kw_only=True, tag="open"):
    """Begin a stream; `credit` is how many items may be sent before the first `More`."""

    id: int
    session: str
    method: str
    params: dict[str, Any] = {}
    credit: int = 1


class More(msgspec.Struct, frozen=True, kw_only=True, tag="more"):
    """So many more items of a stream may be sent."""

    id: int
    credit: int


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Nobody waits for this call or stream any more; it gets no answer."""

    id: int


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """The result of a call."""

    id: int
    result: msgspec.Raw


class Item(msgspec.Struct, frozen=True, kw_only=True, tag="item"):
    """One item of a stream."""

    id: int
    item: msgspec.Raw


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """There is no more in this stream."""

    id: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """A call or a stream ended with an error."""

    id: int
    error: ErrorRecord


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """Nothing more will be read on this connection."""

    error: ErrorRecord


ToOwner: TypeAlias = Hello | Call | Open | More | Cancel
FromOwner: TypeAlias = Hello | Answer | Item | End | Failed | Refused
MessageT = TypeVar("MessageT")

_encoder = msgspec.json.Encoder()
_to_owner: msgspec.json.Decoder[ToOwner] = msgspec.json.Decoder(ToOwner)
_from_owner: msgspec.json.Decoder[FromOwner] = msgspec.json.Decoder(FromOwner)


def encode(message: ToOwner | FromOwner) -> bytes:
    """One whole line. JSON has no line breaks of its own, but what was passed through raw may have some."""
    line = _encoder.encode(message)
    return (line.replace(b"\n", b" ") if b"\n" in line else line) + b"\n"


def encode_value(value: Any) -> msgspec.Raw:
    """A result or an item. Raises `TypeError` if JSON cannot express it."""
    return value if isinstance(value, msgspec.Raw) else msgspec.Raw(_encoder.encode(value))


def decode_to_owner(line: bytes) -> ToOwner:
    """Raises `SessionError` if the line is none of the protocol's."""
    return _decoded(_to_owner, line)


def decode_from_owner(line: bytes) -> FromOwner:
    """Raises `SessionError` if the line is none of the protocol's."""
    return _decoded(_from_owner, line)


def _decoded(decoder: msgspec.json.Decoder[MessageT], line: bytes) -> MessageT:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError(f"a line that is not of this protocol: {error}") from error
