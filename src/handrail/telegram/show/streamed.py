"""What Claude is writing at the moment: for a draft, or below the progress."""

from __future__ import annotations

from handrail.events.view import SessionView
from handrail.telegram.text.rich import EMPTY, RichText, plain
from handrail.telegram.text.splitting import LONGEST_MESSAGE, split
from handrail.telegram.text.streaming import from_unfinished, last_part

__all__ = ["streamed", "written_so_far"]

_BEFORE = "…\n"
_TRIES = 3


def written_so_far(view: SessionView) -> str:
    """The text that is being written; what subagents write is not for reading."""
    for block in reversed(view.live.values()):
        if block.kind == "text" and block.parent is None and block.length:
            return block.text
    return ""


def streamed(view: SessionView, limit: int = LONGEST_MESSAGE) -> RichText:
    """The text so far as one message; of a long one, the end."""
    source = written_so_far(view)
    if not source.strip():
        return EMPTY
    room = limit - len(_BEFORE)
    parts: list[RichText] = []
    for attempt in range(_TRIES):  # what is shown may be longer than its source
        part = last_part(source, room >> attempt)
        parts = split(from_unfinished(part), room)
        if len(parts) <= 1 or parts[-1].length > room // 2:
            break
    if not parts:
        return EMPTY
    return parts[-1] if part == source and len(parts) == 1 else plain(_BEFORE) + parts[-1]
