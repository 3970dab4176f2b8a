"""What the rules say about one tool call."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ["Behavior", "Verdict"]

Behavior: TypeAlias = Literal["allow", "ask", "deny"]


class Verdict(msgspec.Struct, frozen=True):
    """Allow, ask or deny; why, in words; and the rule that decided, if one did."""

    behavior: Behavior
    reason: str
    rule: str | None = None
