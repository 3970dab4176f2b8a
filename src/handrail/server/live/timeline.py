"""A session as rows and a state, kept up to date event by event, with what changed after any event at hand.

It is made of light events (`handrail.server.live.light`), so that a long session takes little memory; what is heavy is
read from the journal when somebody wants to see it. Rows are named by the number of the event that began them: the
same journal makes the same rows, in whichever process, so a viewer that comes back to another hub misses nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.events import model as e
from handrail.events.endings import run_error, was_interrupted
from handrail.events.reduce import reduce
from handrail.events.view import (
    ActionItem,
    AskItem,
    NoticeItem,
    PromptItem,
    SessionView,
    TextItem,
    ThinkingItem,
)
from handrail.server.live import rows as r
from handrail.server.live.call_summaries import group_of
from handrail.server.live.light import light_event

__all__ = ["Timeline", "Window"]

LONGEST_WINDOW = 1_000
"""Rows that are sent at once, nested ones included: then the top level has fewer than were asked for."""


@dataclass(slots=True)
class _End:
    """The end of a run."""

    seq: int
    at: float
    run: int | None
    ok: bool
    error: str
    interrupted: bool
    cost_usd: float
    duration_ms: float
    turns: int


_Shown = PromptItem | TextItem | ThinkingItem | ActionItem | AskItem | NoticeItem | _End


@dataclass(slots=True)
class _Entry:
    """What a row is made of. `sources` are the events that whoever opens the row wants to see."""

    item: _Shown
    parent: int | None
    sources: tuple[int, ...]
    children: list[int] | None = None


@dataclass(slots=True, frozen=True)
class Window:
    """Some rows that follow each other, and what is before and behind them at the top level."""

    sketches: list[r.Sketch]
    before: str | None
    after: str | None
    total: int


class Timeline:
    """The rows of one session. Whoever feeds it must be the only one to, and in the order of the journal."""

    def __init__(self) -> None:
        self.view = SessionView()
        self._entries: dict[int, _Entry] = {}
        self._top = array("q")
        """The rows of the top level, in order."""
        self._details: dict[tuple[str, str], dict[str, Any]] = {}
        self._change_seqs = array("q")
        self._change_keys = array("q")
        """Which row each event changed, in order: what changed after an event is the tail of this."""

    @property
    def seq(self) -> int:
        """The number of the last event in it."""
        return self.view.seq

    @property
    def total(self) -> int:
        """How many rows there are at the top level."""
        return len(self._top)

    def __len__(self) -> int:
        return len(self._entries)

    # ------------------------------------------------------------ events

    def take(self, body: bytes) -> None:
        """Take in one more event, as JSON. One that is in it already changes nothing."""
        event = light_event(body)
        if event.seq > self.view.seq:
            looked = self._look_of(event)
            reduce(self.view, event)
            item = self._touched(event)
            if item is not None:
                self._note(item, event, looked)

    def take_all(self, bodies: Iterable[bytes]) -> None:
        for body in bodies:
            self.take(body)

    def _look_of(self, event: e.Event) -> tuple[Any, ...] | None:
        """How the row of an action looks before an update that may change nothing of it, as most of them."""
        if not isinstance(event, e.Action) or event.phase != "updated":
            return None
        item = self.view.actions.get(event.id)
        return None if item is None else _look(item)

    def _note(self, item: _Shown, event: e.Event, looked: tuple[Any, ...] | None) -> None:
        if isinstance(item, ActionItem):
            self._lighten(item)
        entry = self._entries.get(item.seq)
        if entry is None:
            self._add(item, event)
        elif isinstance(item, ActionItem) and looked == _look(item):
            return  # it goes on, and looks as before
        else:
            entry.sources = (*entry.sources, event.seq)
        self._changed(event.seq, item.seq)

    def _lighten(self, item: ActionItem) -> None:
        """Keep what rows show of an action's detail: most actions have the same as many others."""
        kept = (item.detail.get("tool_name", ""), item.detail.get("summary", ""))
        detail = self._details.get(kept)
        if detail is None:
            detail = self._details[kept] = {"tool_name": kept[0], "summary": kept[1]}
        item.detail = detail  # `reduce` never changes one, it makes another

    def _touched(self, event: e.Event) -> _Shown | None:
        """What an event that was just taken in began or changed."""
        view = self.view
        match event:
            case e.Prompt():
                return view.prompts[event.uuid]
            case e.Action():
                return view.actions.get(event.id) if event.kind != "telemetry" else None
            case e.AskOpened():
                return view.asks[event.ask_id]
            case e.AskClosed():
                return view.closed_asks.get(event.ask_id)
            case e.Completed():
                return _end(event)
            case e.Text() | e.Thinking():
                outer = view.actions.get(event.parent) if event.parent is not None else None
                return (outer.children if outer is not None else view.items)[-1]
        last = view.notices[-1] if view.notices else None
        return last if last is not None and last.seq == event.seq else None

    def _add(self, item: _Shown, event: e.Event) -> None:
        outer = self._outer(item, event)
        self._entries[item.seq] = _Entry(item, outer, (event.seq,))
        if outer is None:
            self._top.append(item.seq)
            return
        around = self._entries[outer]
        if around.children is None:
            around.children = []
        around.children.append(item.seq)
        self._changed(event.seq, outer)

    def _outer(self, item: _Shown, event: e.Event) -> int | None:
        """The row inside which it happened, as `reduce` sees it."""
        parent = getattr(event, "parent", None)
        outer = self.view.actions.get(parent) if parent is not None else None
        return outer.seq if outer is not None and outer is not item and outer.seq in self._entries else None

    def _changed(self, seq: int, key: int) -> None:
        self._change_seqs.append(seq)
        self._change_keys.append(key)

    # ------------------------------------------------------------ rows

    def changed_after(self, seq: int, *, limit: int) -> list[r.Sketch] | None:
        """The rows that changed after event number `seq`, in order; None if those are more than `limit`."""
        keys: set[int] = set()
        for place in range(bisect_right(self._change_seqs, seq), len(self._change_seqs)):
            keys.add(self._change_keys[place])
            if len(keys) > limit:
                return None
        return [self._sketch(key) for key in sorted(keys)]

    def tail(self, limit: int) -> Window:
        """The last rows."""
        return self._window(len(self._top) - limit, len(self._top), newest_first=True)

    def before(self, key: str, limit: int) -> Window:
        """The rows of the top level before the one with this key. Raises `KeyError`."""
        end = bisect_left(self._top, self._top_of(key))
        return self._window(end - limit, end, newest_first=True)

    def after(self, key: str, limit: int) -> Window:
        """The rows of the top level behind the one with this key. Raises `KeyError`."""
        start = bisect_right(self._top, self._top_of(key))
        return self._window(start, start + limit)

    def around(self, key: str, limit: int) -> Window:
        """The rows on both sides of the one with this key, or of that inside which it is. Raises `KeyError`."""
        middle = bisect_left(self._top, self._top_of(key))
        return self._window(middle - limit // 2, middle + (limit + 1) // 2)

    def sources(self, key: str) -> tuple[int, ...]:
        """The numbers of the events that a row is made of. Raises `KeyError`."""
        return self._entry(key).sources

    def parent_of(self, key: str) -> str | None:
        """The row inside which this one is. Raises `KeyError`."""
        return _key(self._entry(key).parent)

    def key_of(self, event: e.Event) -> str | None:
        """The row that an event of the journal belongs to."""
        if event.seq in self._entries:
            return str(event.seq)
        item: _Shown | None = None
        if isinstance(event, e.Action):
            item = self.view.actions.get(event.id)
        elif isinstance(event, e.Prompt):
            item = self.view.prompts.get(event.uuid)
        elif isinstance(event, e.AskOpened | e.AskClosed):
            item = self.view.asks.get(event.ask_id) or self.view.closed_asks.get(event.ask_id)
        return str(item.seq) if item is not None and item.seq in self._entries else None

    def row_of_action(self, action_id: str | None) -> str | None:
        """The row of an action, by the action's id."""
        item = self.view.actions.get(action_id) if action_id is not None else None
        return str(item.seq) if item is not None else None

    def _entry(self, key: str) -> _Entry:
        return self._entries[int(key)] if key.isascii() and key.isdigit() and len(key) < 19 else self._entries[-1]

    def _top_of(self, key: str) -> int:
        """The row of the top level that a row is inside of, or is."""
        entry = self._entry(key)
        while entry.parent is not None:
            entry = self._entries[entry.parent]
        return entry.item.seq

    def _window(self, start: int, end: int, *, newest_first: bool = False) -> Window:
        start, end = max(start, 0), min(max(end, 0), len(self._top))
        taken: list[int] = []
        places = range(start, end)
        first, last = end, start - 1
        for place in reversed(places) if newest_first else places:
            family = list(self._family(self._top[place]))
            if taken and len(taken) + len(family) > LONGEST_WINDOW:
                break
            taken += family
            first, last = min(first, place), max(last, place)
        return Window(
            [self._sketch(key) for key in sorted(taken)],
            before=str(self._top[first]) if taken and first > 0 else None,
            after=str(self._top[last]) if taken and last + 1 < len(self._top) else None,
            total=len(self._top),
        )

    def _family(self, key: int) -> Iterator[int]:
        waiting = [key]
        while waiting:
            key = waiting.pop()
            yield key
            waiting += self._entries[key].children or ()

    def _sketch(self, key: int) -> r.Sketch:
        entry = self._entries[key]
        return _sketch(entry, {"key": str(key), "parent": _key(entry.parent)})


def _key(number: int | None) -> str | None:
    return None if number is None else str(number)


def _look(item: ActionItem) -> tuple[Any, ...]:
    """What a row shows of an action."""
    return item.kind, item.title, item.phase, item.ok, item.detail.get("summary", ""), item.detail.get("tool_name", "")


def _end(event: e.Completed) -> _End:
    return _End(
        seq=event.seq,
        at=event.at,
        run=event.run,
        ok=event.ok,
        error=run_error(event),
        interrupted=was_interrupted(event),
        cost_usd=event.cost_usd,
        duration_ms=event.duration_ms,
        turns=event.num_turns,
    )


def _sketch(entry: _Entry, place: dict[str, Any]) -> r.Sketch:
    item = entry.item
    place |= {"seq": item.seq, "at": item.at, "run": item.run}
    match item:
        case TextItem():
            return r.Sketch(r.TextRow(**place, block=item.block, partial=item.partial), item.text)
        case ThinkingItem():
            thought = r.ThinkingRow(**place, block=item.block, partial=item.partial, redacted=item.redacted)
            return r.Sketch(thought, item.text)
        case PromptItem():
            return _prompt(item, entry, place)
        case ActionItem():
            return r.Sketch(_action(item, entry, place))
        case AskItem():
            asked = r.AskRow(**place, ask_id=item.ask_id, outcome=item.outcome)
            return r.Sketch(asked, item=msgspec.structs.replace(item), sources=entry.sources)
        case NoticeItem():
            return r.Sketch(r.NoticeRow(**place, kind=item.kind, text=item.text, ok=item.ok))
    end = r.EndRow(
        **place,
        ok=item.ok,
        error=item.error,
        interrupted=item.interrupted,
        cost_usd=item.cost_usd,
        duration_ms=item.duration_ms,
        turns=item.turns,
    )
    return r.Sketch(end)


def _prompt(item: PromptItem, entry: _Entry, place: dict[str, Any]) -> r.Sketch:
    row = r.PromptRow(**place, uuid=item.uuid, state=item.state, by=item.by, surface=item.surface, reason=item.reason)
    blocks = not isinstance(item.content, str | None)  # they may have images, which only the journal has
    return r.Sketch(row, item.text, msgspec.structs.replace(item), entry.sources[:1] if blocks else ())


def _action(item: ActionItem, entry: _Entry, place: dict[str, Any]) -> r.ActionRow | r.NoticeRow:
    tool = item.detail.get("tool_name", "")
    if not tool and item.kind in ("note", "warning"):  # a remark, and no call
        return r.NoticeRow(**place, kind=item.kind, text=item.title, ok=item.ok)
    return r.ActionRow(
        **place,
        id=item.id,
        kind=item.kind,
        tool=tool,
        title=item.title,
        phase=item.phase,
        ok=item.ok,
        ended_at=item.ended_at,
        summary=item.detail.get("summary", ""),
        group=group_of(tool),
        children=len(entry.children or ()),
    )
