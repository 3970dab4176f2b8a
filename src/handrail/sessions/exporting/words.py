"""Times, durations and sums, as an export writes them. Times are in UTC: a file is read anywhere."""

from __future__ import annotations

from datetime import UTC, datetime

from handrail.events.endings import was_interrupted
from handrail.events.model import Completed
from handrail.rendering.amounts import count
from handrail.store.base import SessionRow

__all__ = ["clock", "cost", "duration", "iso", "moment", "run_summary", "shortened", "title_of"]

LONGEST = 50_000
"""How many characters of one output are shown."""


def moment(at: float) -> str:
    """A date and a time."""
    return _utc(at).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(at: float) -> str:
    """A time of the day."""
    return _utc(at).strftime("%H:%M:%S")


def iso(at: float) -> str:
    """A time for programs."""
    return _utc(at).strftime("%Y-%m-%dT%H:%M:%SZ")


def _utc(at: float) -> datetime:
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):  # beyond what a calendar has
        return datetime.fromtimestamp(0, UTC)


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def cost(dollars: float) -> str:
    return f"${dollars:.4f}" if dollars < 0.01 else f"${dollars:.2f}"


def shortened(text: str) -> str:
    """`text`, up to a length that a reader may want to see at once; it says what is left out."""
    if len(text) <= LONGEST:
        return text
    left_out = text.count("\n", LONGEST) + 1
    return f"{text[:LONGEST]}\n… {count(left_out, 'more line')}: the JSON Lines export has everything"


def title_of(row: SessionRow) -> str:
    return row.title.strip() or f"Session {row.id[:8]}"


def run_summary(event: Completed) -> str:
    """How a run went, and what it took."""
    parts = ["done" if event.ok else "interrupted" if was_interrupted(event) else "failed"]
    if event.duration_ms:
        parts.append(duration(event.duration_ms / 1000))
    if event.num_turns:
        parts.append(count(event.num_turns, "turn"))
    if event.cost_usd:
        parts.append(cost(event.cost_usd))
    return " · ".join(parts)
