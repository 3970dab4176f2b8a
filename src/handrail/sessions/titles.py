"""A title for a session that nobody named: what its first message begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["title_from"]

LONGEST = 80


def title_from(content: Any) -> str:
    """The first line of a message that says something, cut to a readable length; empty if there is none."""
    for line in _text(content).splitlines():
        words = " ".join("".join(sign if sign.isprintable() else " " for sign in line).split()).strip("# ")
        if words:
            return words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"
    return ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "\n".join(str(each.get("text") or "") for each in content if isinstance(each, Mapping))
    return ""
