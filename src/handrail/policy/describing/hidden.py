"""How much of what would run cannot be seen: the characters that every surface writes out."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.policy.describing.visible import hidden_characters
from handrail.protocol import descriptions as d

__all__ = ["hidden_in"]


def hidden_in(description: d.Description) -> int:
    """How many characters of what would run are written out because they cannot be seen."""
    return sum(map(hidden_characters, _exact_texts(description)))


def _exact_texts(description: d.Description) -> Iterator[str]:
    for field in description.fields:
        yield field.name
        yield field.value
    match description.what:
        case d.Command(text=text) | d.Fetch(url=text) | d.Form(url=text):
            yield text
        case d.Change(change=change):
            yield change.path
            yield from (line for hunk in change.hunks for line in hunk.lines)
            if not change.hunks:
                yield change.text or ""
                yield from (text for each in change.replacements for text in (each.old, each.new))
