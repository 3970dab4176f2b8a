"""The messages between a hub and a program that offers hooks, tools or answers to sessions: one WebSocket, JSON.

The program says for which ids it answers (`Offer`), and the hub calls it. A call that was under way when the socket was
lost is made again under the same id once the program is back: it does it once, and answers it as often as it is asked.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from handrail.errors import LocalProtocolError

__all__ = [
    "LONGEST_MESSAGE",
    "PROGRAMS_PATH",
    "Call",
    "Cancel",
    "FromHub",
    "FromProgram",
    "Offer",
    "Offered",
    "Result",
    "Withdraw",
    "decode_from_hub",
    "decode_from_program",
    "encode",
]

PROGRAMS_PATH: Final = "/api/programs"
LONGEST_MESSAGE: Final = 32 * 1024 * 1024
"""In bytes: what a tool gives may be pictures."""

NOTHING: Final = msgspec.Raw(b"null")


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    pass


class Offer(_Message, frozen=True, tag="offer"):
    """The program answers what is asked of these ids from now on, over this socket."""

    programs: tuple[str, ...]


class Withdraw(_Message, frozen=True, tag="withdraw"):
    """It does not answer for this id any more, and will not come back for it."""

    program: str


class Result(_Message, frozen=True, tag="result", omit_defaults=True):
    """The answer to a call, or why there is none."""

    id: str
    result: msgspec.Raw = NOTHING
    error: str | None = None


class Offered(_Message, frozen=True, tag="offered"):
    """The hub has taken the offer: calls may come from now on. Those in `refused` belong to somebody else."""

    programs: tuple[str, ...]
    refused: tuple[str, ...] = ()


class Call(_Message, frozen=True, tag="call"):
    """A session needs an answer. `kind` is hook, mcp or ask; `name` that of the hook or server, or the ask's id."""

    id: str
    program: str
    kind: str
    name: str
    payload: msgspec.Raw


class Cancel(_Message, frozen=True, tag="cancel"):
    """Nobody waits for this call any more."""

    id: str


FromProgram: TypeAlias = Offer | Withdraw | Result
FromHub: TypeAlias = Offered | Call | Cancel

_encoder = msgspec.json.Encoder()
_from_program: msgspec.json.Decoder[FromProgram] = msgspec.json.Decoder(FromProgram)
_from_hub: msgspec.json.Decoder[FromHub] = msgspec.json.Decoder(FromHub)


def encode(message: FromProgram | FromHub) -> str:
    """A message as the text that is sent."""
    return _encoder.encode(message).decode()


def decode_from_program(text: str | bytes) -> FromProgram:
    """Raises `LocalProtocolError` for what is no message of a program's."""
    try:
        return _from_program.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LocalProtocolError(f"no message of a program: {error}") from None


def decode_from_hub(text: str | bytes) -> FromHub:
    """Raises `LocalProtocolError` for what is no message of a hub's."""
    try:
        return _from_hub.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LocalProtocolError(f"no message of a hub: {error}") from None
