"""Numbers as people read them: durations, costs, tokens, counts."""

from __future__ import annotations

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


def tokens(number: int) -> str:
    """So many tokens, roughly."""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def context(used: int, window: int | None) -> str:
    """How full the context is."""
    if not window:
        return f"context {tokens(used)} tokens"
    return f"context {used / window:.0%} of {tokens(window)}"


def count(number: int, noun: str, plural: str = "") -> str:
    """So many of something; the plural has an s if nothing else is said."""
    return f"1 {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
