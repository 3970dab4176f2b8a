"""A session as a file: Markdown and HTML for people, JSON Lines for programs.

Each takes the session's row and its events, in order, from any iterator.
"""

from __future__ import annotations

from collections.abc import Iterable

from handrail.errors import SessionError
from handrail.events.model import Event
from handrail.store.base import SessionRow

__all__ = ["FORMATS", "export"]

FORMATS = ("markdown", "html", "jsonl")


def export(format: str, row: SessionRow, events: Iterable[Event]) -> str:
    """A session as one document in one of the `FORMATS`."""
    match format:
        case "markdown":
            from handrail.sessions.exporting.markdown import export_markdown

            return export_markdown(row, events)
        case "html":
            from handrail.sessions.exporting.html import export_html

            return export_html(row, events)
        case "jsonl":
            from handrail.sessions.exporting.jsonl import export_jsonl

            return b"".join(export_jsonl(row, events)).decode()
    raise SessionError(f"there is no format {format!r}: use {', '.join(FORMATS)}")
