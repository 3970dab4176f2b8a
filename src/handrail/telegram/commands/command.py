"""A command: what it is called, what it is for, who may use it, and what carries it out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from handrail.telegram.commands.context import CommandContext
from handrail.telegram.model import Role

__all__ = ["Command", "Pressed", "Replied", "Run"]

Run: TypeAlias = Callable[[CommandContext, str], Awaitable[None]]
"""Is given what was written behind the command."""
Pressed: TypeAlias = Callable[[CommandContext, Mapping[str, Any]], Awaitable[None]]
"""Is given what the button carries."""
Replied: TypeAlias = Callable[[CommandContext, str, str], Awaitable[None]]
"""Is given the purpose of the message that was replied to, and the reply."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One line of the table. `forms` are ways to write it, each with what it does."""

    name: str
    words: str
    """What it is for, in a few words: the menu of Telegram shows them."""
    role: Role
    run: Run
    forms: tuple[tuple[str, str], ...]
    pressed: Pressed | None = None
    replied: Replied | None = None
    more: str = ""
    """What else somebody should know."""
