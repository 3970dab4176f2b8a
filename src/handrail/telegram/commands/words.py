"""Short words for lists and tables in a chat: statuses, ages, names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from handrail.policy.describing.visible import one_line
from handrail.store.base import SessionRow

__all__ = ["SIGNS", "age", "ago", "directory", "machine", "short_id", "shortened", "status_words", "table", "title"]

SIGNS: Final = {
    "needs_you": ("⏸", "needs you"),
    "running": ("▸", "running"),
    "queued": ("▸", "queued"),
    "waiting": ("·", "waits for its Claude Code"),
    "idle": ("·", "idle"),
    "failed": ("✗", "failed"),
    "stopped": ("·", "stopped"),
}
"""Each status' sign and words."""

_UNITS: Final = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_DEEPEST: Final = 2


def status_words(status: str) -> str:
    sign, words = SIGNS.get(status, ("·", one_line(status)))
    return f"{sign} {words}"


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"


def ago(seconds: float) -> str:
    """How long ago, as it is said."""
    return f"{age(seconds)} ago" if seconds >= 1 else "now"


def short_id(session_id: str) -> str:
    return session_id[:8]


def shortened(text: str, length: int) -> str:
    """A text of at most so many characters on one line."""
    whole = one_line(text)
    return whole if len(whole) <= length else whole[: length - 1].rstrip() + "…"


def title(row: SessionRow, length: int = 60) -> str:
    """What a session is called."""
    return shortened(row.title, length) or f"session {short_id(row.id)}"


def directory(path: str) -> str:
    """The end of a path, which is what tells projects apart."""
    parts = [part for part in path.split("/") if part]
    return one_line(path if len(parts) <= _DEEPEST else "…/" + "/".join(parts[-_DEEPEST:]))


def machine(row: SessionRow, names: Mapping[str, str]) -> str:
    """The host of a session, by the names of hosts; nothing for the hub's own machine."""
    return shortened(names.get(row.host, "a removed host"), 30) if row.host else ""


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of a fixed width, for a `pre`: the first one to the left, numbers to the right."""
    lines = [heading, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
