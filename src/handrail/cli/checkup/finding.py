"""What a check found."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ["Finding", "Status", "attention", "broken", "good"]

Status: TypeAlias = Literal["good", "attention", "broken"]


class Finding(msgspec.Struct, frozen=True):
    """One finding, in words; `fix` is the command that mends it, or what to do."""

    area: str
    status: Status
    text: str
    fix: str = ""


def good(area: str, text: str) -> Finding:
    """It is as it should be."""
    return Finding(area, "good", text)


def attention(area: str, text: str, fix: str = "") -> Finding:
    """It works, but somebody should know."""
    return Finding(area, "attention", text, fix)


def broken(area: str, text: str, fix: str = "") -> Finding:
    """It does not work."""
    return Finding(area, "broken", text, fix)
