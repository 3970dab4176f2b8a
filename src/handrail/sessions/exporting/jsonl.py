"""A session as JSON Lines: for programs, and to keep everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from handrail.events.codec import encode_event
from handrail.events.model import Event
from handrail.store.base import SessionRow

__all__ = ["export_jsonl"]

FORMAT = "handrail-session"
VERSION = 1
_KEPT = (
    "id",
    "title",
    "cwd",
    "created_at",
    "updated_at",
    "cli_session_id",
    "status",
    "archived",
    "forked_from",
    "model",
    "cost_usd",
    "last_seq",
)
"""What of a session goes into a file. How it is started stays here: that can hold what is nobody else's business."""


def export_jsonl(row: SessionRow, events: Iterable[Event]) -> Iterator[bytes]:
    """A line with the session, then one line for each event; every line ends with a newline."""
    header = {"type": "session", "format": FORMAT, "version": VERSION} | {name: getattr(row, name) for name in _KEPT}
    yield msgspec.json.encode(header) + b"\n"
    for event in events:
        yield encode_event(event) + b"\n"
