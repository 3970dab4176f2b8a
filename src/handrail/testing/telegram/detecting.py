"""Finds what Telegram marks by itself in a text: commands, mentions, hashtags, links and addresses."""

from __future__ import annotations

import re
from typing import NamedTuple

from handrail.testing.telegram.entities import Entity, units

__all__ = ["WrittenCommand", "command_in", "detected"]

_COMMAND_TO = re.compile(r"/(\w+)(?:@(\w+))?")

_PATTERNS = (
    ("url", re.compile(r"\b(?:https?|ftp|tg|ton)://[^\s<>\"]*[^\s<>\".,;:!?)\]']", re.IGNORECASE)),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w\b")),
    ("bot_command", re.compile(r"(?<![\w/<>@#$])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])")),
    ("mention", re.compile(r"(?<![\w@])@[A-Za-z0-9_]{3,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<![\w#])#\w*[^\W\d]\w*(?!\w)")),
    ("cashtag", re.compile(r"(?<![\w$])\$[A-Z]{1,8}(?!\w)")),
    (
        "url",
        re.compile(
            r"(?<![\w@./-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|me|ru|de|uk|info)\b(?:/[^\s<>\"]*)?", re.I
        ),
    ),
)
"""In this order: what an earlier one took, a later one leaves."""


class WrittenCommand(NamedTuple):
    """A command, and the name of the bot that it is for, in small letters; empty if it names none."""

    name: str
    bot: str


def command_in(text: str) -> WrittenCommand | None:
    """The command that a text begins with."""
    found = _COMMAND_TO.match(text)
    return WrittenCommand(found[1], (found[2] or "").lower()) if found is not None else None


def detected(text: str) -> list[Entity]:
    """The entities of a text in which nothing was marked by hand."""
    found: list[tuple[int, int, str]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if all(end <= taken_start or start >= taken_end for taken_start, taken_end, _ in found):
                found.append((start, end, kind))
    return [Entity(kind, units(text[:start]), units(text[start:end])) for start, end, kind in sorted(found)]
