"""Counts and sizes, as people write them."""

from __future__ import annotations

__all__ = ["count", "size"]


def count(number: int, noun: str) -> str:
    """`1 line`, `1,204 lines`."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: int) -> str:
    """A number of bytes."""
    return f"{number} bytes" if number < 1024 else f"{number / 1024:,.0f} KB"
