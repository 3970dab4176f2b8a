"""The messages of the live stream, both ways: JSON text messages, each with a `type`.

docs/reference/live.md describes them for those who write a client; a test compares the two.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from handrail.server.live.rows import Row
from handrail.server.roles import Role
from handrail.server.summaries import SessionSummary

__all__ = [
    "CLOSE_CODES",
    "Ack",
    "CaughtUp",
    "Counts",
    "DeltaMessage",
    "DeltaPiece",
    "EventMessage",
    "Follow",
    "Form",
    "FromClient",
    "FromHub",
    "Gone",
    "Hello",
    "HomeMessage",
    "HomeRequest",
    "Me",
    "Ping",
    "Pong",
    "ProblemMessage",
    "Unfollow",
    "ViewMessage",
    "Visible",
    "decode_request",
    "encode",
]

Seq: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""The number of an event, or 0 for none; JavaScript has no larger numbers."""

Form: TypeAlias = Literal["events", "view"]
"""How a session is followed: event by event, or as the rows and the state that a screen shows."""

CLOSE_CODES: dict[int, str] = {
    1000: "you closed the socket",
    1011: "the hub made a mistake: connect again",
    1012: "the hub is stopping: connect again in a moment, with the last number of each session",
    4400: "too many messages that cannot be understood",
    4401: "the token is not valid any more: log in again",
}
"""Why the hub closes a socket. Others come from the network or from a proxy: connect again."""


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    pass


# ---------------------------------------------------------------- from the client


class Follow(_Message, frozen=True, tag="follow"):
    """Follow a session from behind event number `after` on. Following it again takes the place of what was before."""

    session: str
    after: Seq | None = None
    """The number of the last event you have; without one: all events, or as a view its latest rows."""
    form: Form = msgspec.field(default="events", name="as")
    deltas: bool = True


class Unfollow(_Message, frozen=True, tag="unfollow"):
    """Hear nothing more of a session."""

    session: str


class HomeRequest(_Message, frozen=True, tag="home"):
    """Follow the list of sessions and what waits for a person, or do not any more."""

    on: bool = True


class Ack(_Message, frozen=True, tag="ack"):
    """Everything of a session up to event number `seq` was taken in."""

    session: str
    seq: Seq


class Visible(_Message, frozen=True, tag="visible"):
    """Whether anybody can see the page: one that is hidden gets no deltas."""

    on: bool


class Ping(_Message, frozen=True, tag="ping"):
    """Is anybody there?"""

    n: int | float | str | None = None


FromClient: TypeAlias = Follow | Unfollow | HomeRequest | Ack | Visible | Ping


# ---------------------------------------------------------------- from the hub


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the hub takes you for."""

    name: str
    role: Role


class Hello(_Message, frozen=True, tag="hello"):
    """The first message."""

    version: str
    server_time: float
    me: Me


class Pong(_Message, frozen=True, tag="pong"):
    """The answer to a ping, with its `n`."""

    n: int | float | str | None = None


class ProblemMessage(_Message, frozen=True, omit_defaults=True, tag="problem"):
    """Something cannot be done; the codes are those of the HTTP API. What is followed stays followed."""

    code: str
    detail: str
    session: str | None = None


class Gone(_Message, frozen=True, tag="gone"):
    """A session was deleted: nothing more will come of it."""

    session: str


class EventMessage(_Message, frozen=True, tag="event"):
    """One event of the journal."""

    session: str
    event: msgspec.Raw


class DeltaPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a block that is being written; `offset` counts characters."""

    block: str
    kind: Literal["text", "thinking", "input"]
    offset: int
    text: str
    after: int
    parent: str | None = None
    """In a view, the key of the row inside which it is being written; else the action's id."""


class DeltaMessage(_Message, frozen=True, tag="delta"):
    """What was written since the last delta of the block."""

    session: str
    delta: DeltaPiece


class CaughtUp(_Message, frozen=True, tag="caught_up"):
    """You have every event up to `seq`: what follows happens now."""

    session: str
    seq: int


class ViewMessage(_Message, frozen=True, tag="view"):
    """A session as a screen shows it, or what changed of it since the last such message.

    With `reset`, it takes the place of everything before. Without, `rows` are to be put in by their keys, and the
    members of `state` take the place of those that were there.
    """

    session: str
    seq: int
    reset: bool
    state: dict[str, Any]
    rows: list[Row]
    before: str | None
    """The oldest row of the top level that was sent, if there are older ones; only of use with `reset`."""
    total: int
    """How many rows the session has at the top level."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions there are of each status, and how many asks wait."""

    needs_you: int = 0
    running: int = 0
    idle: int = 0
    failed: int = 0
    stopped: int = 0
    asks: int = 0


class HomeMessage(_Message, frozen=True, tag="home"):
    """The list of sessions and what waits for a person, or what changed of them."""

    reset: bool
    sessions: list[SessionSummary]
    asks: list[dict[str, Any]]
    removed_sessions: list[str]
    closed_asks: list[dict[str, Any]]
    """Of each `session`, `ask` and what became of it: `outcome`, `by`, `surface`, `at`, `words`."""
    counts: Counts
    more: bool
    """Whether there are older sessions than those in the list."""


FromHub: TypeAlias = (
    Hello | Pong | ProblemMessage | Gone | EventMessage | DeltaMessage | CaughtUp | ViewMessage | HomeMessage
)

_decoder = msgspec.json.Decoder(FromClient)
_encoder = msgspec.json.Encoder()


def decode_request(text: str | bytes) -> FromClient:
    """What a client wants. Raises `msgspec.DecodeError` or `ValueError`."""
    request: FromClient = _decoder.decode(text)
    return request


def encode(message: FromHub) -> str:
    """A message as the text that is sent."""
    return _encoder.encode(message).decode()
