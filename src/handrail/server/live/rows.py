"""The rows of a conversation as the page shows them, and what is to be filled in before they can be sent.

A row is sketched from the timeline, which is quick; texts become HTML, and asks become cards, when it is finished,
which is not, and may be done in a thread.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec

from handrail.events.model import AskClosed, AskOpened, Event, Prompt
from handrail.events.view import AskItem, PromptItem
from handrail.store.base import SessionRow

__all__ = [
    "ActionRow",
    "AskRow",
    "EndRow",
    "NoticeRow",
    "PromptRow",
    "Row",
    "Shows",
    "Sketch",
    "TextRow",
    "ThinkingRow",
    "finish",
]

logger = logging.getLogger("handrail.live")


class Shows(Protocol):
    """What makes HTML and cards: `handrail.server.showing.Showing`. Safe to be called from a thread."""

    def text(self, text: str) -> str: ...

    def prompt(self, item: PromptItem, *, session_id: str) -> dict[str, Any]: ...

    def card_of_item(self, item: AskItem, *, session: SessionRow) -> dict[str, Any]: ...

    def card(self, row: Any, *, session: SessionRow) -> dict[str, Any]: ...


class _Row(msgspec.Struct, kw_only=True, tag_field="type"):
    """One row. `key` is its name, `seq` the number of the event that began it, by which rows are in order."""

    key: str
    seq: int
    at: float
    run: int | None
    parent: str | None
    """The key of the action inside which it happened."""


class PromptRow(_Row, tag="prompt"):
    """A message to Claude."""

    uuid: str
    state: str
    by: str
    surface: str
    reason: str
    text: str = ""
    html: str = ""
    images: Sequence[dict[str, Any]] = ()


class TextRow(_Row, tag="text"):
    """What Claude said."""

    block: str
    partial: bool
    html: str = ""


class ThinkingRow(_Row, tag="thinking"):
    """What Claude thought."""

    block: str
    partial: bool
    redacted: bool
    html: str = ""


class ActionRow(_Row, tag="action"):
    """A tool call. What it was given and what it gave back is fetched by the row's key."""

    id: str
    kind: str
    tool: str
    title: str
    phase: str
    ok: bool | None
    ended_at: float | None
    summary: str
    group: str
    children: int


class AskRow(_Row, tag="ask"):
    """Something that waits for a person, or waited."""

    ask_id: str
    outcome: str | None
    card: dict[str, Any] | None = None


class NoticeRow(_Row, tag="notice"):
    """Something that happened to the session, or a remark."""

    kind: str
    text: str
    ok: bool | None


class EndRow(_Row, tag="end"):
    """A run is over."""

    ok: bool
    error: str
    interrupted: bool
    cost_usd: float
    duration_ms: float
    turns: int


Row: TypeAlias = PromptRow | TextRow | ThinkingRow | ActionRow | AskRow | NoticeRow | EndRow


@dataclass(slots=True, frozen=True)
class Sketch:
    """A row, and what it is finished from: its text, or a whole event of the journal."""

    row: Row
    text: str = ""
    item: PromptItem | AskItem | None = None
    """What the row was made of, if a whole event is needed to show it. A copy: it does not change any more."""
    sources: tuple[int, ...] = ()
    """The numbers of the events that are needed."""

    @property
    def weight(self) -> int:
        """About how much work it is to finish it, in characters."""
        return len(self.text) + 4_000 * len(self.sources)


def finish(sketches: Sequence[Sketch], events: Mapping[int, Event], shows: Shows, session: SessionRow) -> list[Row]:
    """The rows, whole. `events` are those that they need; one that is not there any more leaves a gap."""
    return [_finished(sketch, events, shows, session) for sketch in sketches]


def _finished(sketch: Sketch, events: Mapping[int, Event], shows: Shows, session: SessionRow) -> Row:
    try:
        return _shown(sketch, events, shows, session)
    except Exception:  # one row that cannot be rendered must not keep people from all the others
        logger.exception("row %s of session %s cannot be shown", sketch.row.key, session.id)
        return sketch.row


def _shown(sketch: Sketch, events: Mapping[int, Event], shows: Shows, session: SessionRow) -> Row:
    row, item = sketch.row, sketch.item
    found = [events[seq] for seq in sketch.sources if seq in events]
    if isinstance(row, TextRow | ThinkingRow):
        row.html = shows.text(sketch.text) if sketch.text else ""
    elif isinstance(row, PromptRow) and isinstance(item, PromptItem):
        shown = shows.prompt(_whole_prompt(item, found), session_id=session.id)
        row.text, row.html, row.images = shown["text"], shown["html"], shown["images"]
    elif isinstance(row, AskRow) and isinstance(item, AskItem):
        row.card = shows.card_of_item(_whole_ask(item, found), session=session)
    return row


def _whole_prompt(item: PromptItem, events: Sequence[Event]) -> PromptItem:
    contents = [event.content for event in events if isinstance(event, Prompt) and event.content is not None]
    return msgspec.structs.replace(item, content=contents[-1]) if contents else item


def _whole_ask(item: AskItem, events: Sequence[Event]) -> AskItem:
    for event in events:
        if isinstance(event, AskOpened):
            item = msgspec.structs.replace(item, ask=event.ask)
        elif isinstance(event, AskClosed):
            item = msgspec.structs.replace(item, answer=event.answer, message=event.message)
    return item
