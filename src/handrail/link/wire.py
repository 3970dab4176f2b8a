"""The messages between a host and its hub: one WebSocket, many sessions.

A WebSocket message is a parcel: a MessagePack array of the messages below. The journal of a session stays where its
CLI runs. The host sends it page by page, and the hub acknowledges each page once it is committed; what was not
acknowledged is sent again on the next connection. What the hub wants done is a `Command` with an id: the host does it
once, however often it arrives, and answers with a `Reply`.

    host  Hello ──────────────▶ hub     who it is, and what it has
    host ◀──────────── Welcome  hub     who it is to the hub, and how much may be under way
    host  Offer ──────────────▶ hub     where its journals stand, until `done`
    host ◀──────────────── Have hub     where the copies stand; then, for each session that is behind:
    host  Page ───────────────▶ hub
    host ◀───────────────── Ack hub     committed
    host ◀───────────── Command hub
    host  Reply ──────────────▶ hub
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from handrail.error_records import ErrorRecord
from handrail.errors import LocalProtocolError
from handrail.store.base import CopyHead, CopyPage

__all__ = [
    "LINK_PATH",
    "LONGEST_PARCEL",
    "VERSION",
    "Ack",
    "Callback",
    "CallbackReply",
    "Cancel",
    "CliFacts",
    "Command",
    "CopyRefused",
    "Deltas",
    "ErrorRecord",
    "Facts",
    "FromHost",
    "FromHub",
    "Gone",
    "Have",
    "Hello",
    "HostFacts",
    "Offer",
    "Page",
    "Reply",
    "Watch",
    "Welcome",
    "decode_from_host",
    "decode_from_hub",
    "encode",
    "pack",
    "parcel_of",
]

VERSION: Final = 1
LINK_PATH: Final = "/api/hosts/link"
LONGEST_PARCEL: Final = 160 * 1024 * 1024
"""In bytes: what a line of the CLI leads to takes a multiple of it, since an ask repeats it with its description. What
is longer still is not copied, which the host says."""


class CliFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A Claude Code of the host."""

    version: str
    path: str = ""
    logged_in: bool | None = None


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a host says of itself. It is told again when it changes."""

    handrail: str = ""
    system: str = ""
    """As people call it: Linux 6.1, x86_64."""
    clis: tuple[CliFacts, ...] = ()
    roots: tuple[str, ...] = ()
    """The directories in which its owner lets sessions be started."""
    labels: tuple[str, ...] = ()
    capacity: int | None = None
    """How many sessions may be live at once; None: without limit."""
    live: int = 0
    load: float = 0.0
    """The load average of the last minute, divided by the number of processors."""
    free_bytes: int | None = None
    """On the disk of its journal."""
    draining: bool = False
    trouble: str = ""
    """What keeps it from working as it should, in words: a full disk, above all."""
    profiles: tuple[str, ...] = ()
    """The policy profiles that its owner lets a hub choose."""
    starts_once: bool = False
    """Whether it gives a session the id that the hub chose, and so starts it once, however often it is told to."""
    probe: dict[str, Any] = {}
    """What its last compatibility probe found."""
    clock: float = 0.0
    """Its time when it said so: whoever shows ages of what happened there takes the difference into account."""


# ------------------------------------------------------------ from the host


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """The first message. `boot` is another one for each start of the agent."""

    version: int
    name: str
    boot: str
    facts: HostFacts = HostFacts()


class Facts(msgspec.Struct, frozen=True, kw_only=True, tag="facts"):
    """What the host says of itself is other now."""

    facts: HostFacts


class Offer(msgspec.Struct, frozen=True, kw_only=True, tag="offer"):
    """Where journals stand. Once `done`, the hub knows all of them: copies of others have lost their session."""

    heads: Sequence[CopyHead] = ()
    done: bool = False


class Page(msgspec.Struct, frozen=True, kw_only=True, tag="page"):
    """Some of a session. Pages of a session are numbered from 1 on each connection."""

    number: int
    page: CopyPage
    size: int = 0
    """What it counts for in the session's window, in bytes."""


class Deltas(msgspec.Struct, frozen=True, kw_only=True, tag="deltas"):
    """What is being written in a session that somebody watches; each is a delta's JSON. Never sent again."""

    session: str
    items: Sequence[bytes]


class Gone(msgspec.Struct, frozen=True, kw_only=True, tag="gone"):
    """A session was deleted on the host."""

    session: str


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag="reply"):
    """What became of a command: its result as JSON, or an error."""

    id: str
    result: bytes = b"null"
    error: ErrorRecord | None = None
    last_seq: int = 0
    """The last event of the session when it was done: a copy that has it shows what was done. 0: not known."""


class Callback(msgspec.Struct, frozen=True, kw_only=True, tag="callback"):
    """A session calls what the program that started it offers: a hook, a tool, its answer to an ask."""

    id: str
    session: str
    program: str
    """Which program: the id that it came with when it started the session."""
    kind: str
    name: str
    payload: bytes = b"null"


# ------------------------------------------------------------ from the hub


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="welcome"):
    """The hub takes the host in. `window` is how many bytes of pages of one session may be unacknowledged."""

    version: int
    hub: str
    host_id: str
    name: str
    window: int = 1024 * 1024
    draining: bool = False


class Have(msgspec.Struct, frozen=True, kw_only=True, tag="have"):
    """Where the copies of the offered sessions stand: with 0 for one that is not copied yet, and without those that are
    not the host's own, as on a machine with another's disk: nothing of them is wanted."""

    heads: Sequence[CopyHead]


class Ack(msgspec.Struct, frozen=True, kw_only=True, tag="ack"):
    """The pages of a session up to this number are committed; its last event in the copy."""

    session: str
    number: int
    last_seq: int


class CopyRefused(msgspec.Struct, frozen=True, kw_only=True, tag="copy_refused"):
    """A page could not be stored: the host is to begin again behind `last_seq`, after a pause."""

    session: str
    last_seq: int
    reason: str


class Command(msgspec.Struct, frozen=True, kw_only=True, tag="command"):
    """Do something, once, and reply. `params` is JSON; `session` is empty for what is about the host as a whole."""

    id: str
    method: str
    session: str = ""
    params: bytes = b"{}"
    actor: str = ""
    surface: str = ""


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Nobody waits for this command any more. What it did stays done."""

    id: str


class Watch(msgspec.Struct, frozen=True, kw_only=True, tag="watch"):
    """Whether somebody watches a session: only then are deltas worth sending."""

    session: str
    on: bool


class CallbackReply(msgspec.Struct, frozen=True, kw_only=True, tag="callback_reply"):
    """What the program answered."""

    id: str
    result: bytes = b"null"
    error: ErrorRecord | None = None


FromHost: TypeAlias = Hello | Facts | Offer | Page | Deltas | Gone | Reply | Callback
FromHub: TypeAlias = Welcome | Have | Ack | CopyRefused | Command | Cancel | Watch | CallbackReply
MessageT = TypeVar("MessageT")

_encoder = msgspec.msgpack.Encoder()
_from_host: msgspec.msgpack.Decoder[list[FromHost]] = msgspec.msgpack.Decoder(list[FromHost])
_from_hub: msgspec.msgpack.Decoder[list[FromHub]] = msgspec.msgpack.Decoder(list[FromHub])


def pack(messages: Sequence[FromHost] | Sequence[FromHub]) -> bytes:
    """A parcel."""
    return _encoder.encode(messages)


def encode(message: FromHost | FromHub) -> bytes:
    """One message, for a parcel."""
    return _encoder.encode(message)


def parcel_of(encoded: Sequence[bytes]) -> bytes:
    """A parcel of messages that are encoded already."""
    return _encoder.encode([msgspec.Raw(each) for each in encoded])


def decode_from_host(parcel: bytes) -> list[FromHost]:
    """Raises `LocalProtocolError` if it is none of this protocol's."""
    return _decoded(_from_host, parcel)


def decode_from_hub(parcel: bytes) -> list[FromHub]:
    """Raises `LocalProtocolError` if it is none of this protocol's."""
    return _decoded(_from_hub, parcel)


def _decoded(decoder: msgspec.msgpack.Decoder[list[MessageT]], parcel: bytes) -> list[MessageT]:
    try:
        return decoder.decode(parcel)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LocalProtocolError(f"a parcel that is not of this protocol: {error}") from error
