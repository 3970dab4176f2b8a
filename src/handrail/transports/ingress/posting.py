"""What a CLI posts instead of writing it to its socket: where, and in what form."""

from __future__ import annotations

import msgspec

__all__ = ["events_of", "posts_path"]

MOST_EVENTS = 10_000


class _Posted(msgspec.Struct):
    events: list[msgspec.Raw]


_read = msgspec.json.Decoder(_Posted).decode


def posts_path(socket_path: str) -> str:
    """Where a CLI posts whose socket is at this path: it makes one from the other."""
    return socket_path.replace("/ws/", "/session/", 1).rstrip("/") + "/events"


def events_of(body: bytes) -> list[bytes] | None:
    """The events of a POST, each as one line without its newline; None if the body is nothing of the kind."""
    try:
        posted = _read(body).events
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if len(posted) > MOST_EVENTS:
        return None
    return [_on_one_line(bytes(event)) for event in posted]


def _on_one_line(event: bytes) -> bytes:
    # Between values JSON may have newlines, within strings it has none.
    return event.replace(b"\r", b" ").replace(b"\n", b" ")
