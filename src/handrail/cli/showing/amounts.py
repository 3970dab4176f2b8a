"""Numbers as people read them: durations, costs, tokens, counts."""

from __future__ import annotations

from handrail.wording import context, tokens

__all__ = ["context", "cost", "count", "duration", "short_duration", "tokens"]


def duration(milliseconds: float) -> str:
    """How long something took."""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def short_duration(seconds: float) -> str:
    """How long something has been going on: the last digit changes each second, and little else."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def cost(dollars: float) -> str:
    """What something cost."""
    return f"${dollars:.4f}" if dollars < 0.01 else f"${dollars:.2f}"


def count(number: int, noun: str, plural: str = "") -> str:
    """So many of something; the plural has an s if nothing else is said."""
    return f"1 {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
