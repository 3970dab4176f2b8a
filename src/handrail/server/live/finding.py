"""Finds a text in a session: in what was said, asked and done, and in what tools were given and gave back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from handrail.events import model as e
from handrail.events.codec import decode_event
from handrail.events.view import content_text
from handrail.server.live.timeline import Timeline

__all__ = ["Finder"]

AROUND = 60
"""How many characters are shown on each side of what was found."""


class _Match(NamedTuple):
    event: e.Event
    text: str
    start: int
    end: int


class Finder:
    """Looks through events in order. Upper and lower case are the same."""

    def __init__(self, text: str, *, limit: int) -> None:
        self.hits: list[dict[str, Any]] = []
        self.total = 0
        """How many rows have it; more than `hits`, if there are many."""
        self._wanted = text.lower()
        # As it stands in JSON: an event without these bytes need not be decoded.
        self._bytes = msgspec.json.encode(text)[1:-1].lower()
        self._limit = limit
        self._keys: set[str] = set()

    def matches(self, bodies: Sequence[bytes]) -> list[_Match]:
        """The events among these that have it. Changes nothing: may be called in a thread."""
        ascii_only = self._bytes.isascii()
        found: list[_Match] = []
        for body in bodies:
            folded = body.lower() if ascii_only else body.decode().lower().encode()
            if self._bytes_of(ascii_only) in folded and (match := self._match(decode_event(body))) is not None:
                found.append(match)
        return found

    def see(self, matches: Sequence[_Match], timeline: Timeline) -> None:
        """Take these as found. One row is found once."""
        for match in matches:
            key = timeline.key_of(match.event)
            if key is None or key in self._keys:
                continue
            self._keys.add(key)
            self.total += 1
            if len(self.hits) < self._limit:
                self.hits.append(_hit(match, key, timeline.parent_of(key)))

    def _bytes_of(self, ascii_only: bool) -> bytes:
        return self._bytes if ascii_only else self._bytes.decode().lower().encode()

    def _match(self, event: e.Event) -> _Match | None:
        words = _WORDS.get(type(event))
        for text in words(event) if words is not None else ():
            start = text.lower().find(self._wanted)
            if start >= 0:
                return _Match(event, text, start, start + len(self._wanted))
        return None


def _hit(match: _Match, key: str, parent: str | None) -> dict[str, Any]:
    text = match.text
    return {
        "key": key,
        "parent": parent,
        "seq": match.event.seq,
        "at": match.event.at,
        "type": str(match.event.__struct_config__.tag),
        "before": ("…" if match.start > AROUND else "") + text[max(match.start - AROUND, 0) : match.start],
        "match": text[match.start : match.end],
        "after": text[match.end : match.end + AROUND] + ("…" if match.end + AROUND < len(text) else ""),
    }


def _action(event: e.Action) -> Iterator[str]:
    if event.kind == "telemetry":
        return
    yield event.title
    yield from _strings(event.detail.get("tool_input"))
    yield content_text(event.detail.get("content"))


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


_WORDS: dict[type[e.Event], Callable[[Any], Iterator[str]]] = {
    e.Text: lambda event: iter((event.text,)),
    e.Thinking: lambda event: iter((event.text,)),
    e.Prompt: lambda event: iter((content_text(event.content),)),
    e.Action: _action,
    e.AskOpened: lambda event: iter((event.title,)),
    e.AskClosed: lambda event: iter((event.message,)),
    e.Completed: lambda event: iter((event.error or "",)),
    e.ProcessExited: lambda event: iter((event.reason,)),
}
