"""The answers on offer at a prompt: what to type for each, and what it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.layout import Flow, Hanging
from handrail.cli.style import NEEDS_YOU, QUIET, exact

__all__ = ["Choice", "Menu"]

HELP_KEY = "?"
_KEY_STYLE = f"bold {NEEDS_YOU}"
_WORDS = {"yes": "y", "no": "n"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: its key, a few words, and what it does. A long one has a line of its own."""

    key: str
    label: str
    effect: str = ""
    long: bool = False


class Menu:
    """Choices, in the order in which they are shown."""

    def __init__(self, choices: Iterable[Choice]) -> None:
        self._choices = tuple(choices)

    def key_for(self, typed: str) -> str | None:
        """The key that was meant, or None."""
        typed = typed.strip().lower()
        typed = _WORDS.get(typed, typed)
        return next((choice.key for choice in self._choices if choice.key == typed), None)

    def short(self) -> RenderableType:
        """All choices, as a row and the long ones below it."""
        row = [_in_short(choice) for choice in self._choices if not choice.long]
        lines = [_on_a_line(choice) for choice in self._choices if choice.long]
        return Group(Flow([*row, _in_short(Choice(HELP_KEY, "help"))]), *lines)

    def explained(self) -> RenderableType:
        """All choices, each with what it does."""
        return Group(*(_explanation(choice) for choice in self._choices))

    def reminder(self) -> RenderableType:
        """What could have been typed."""
        keys = ", ".join(choice.key for choice in self._choices)
        return Text(f"Please type one of {keys}, or {HELP_KEY} for what they do.", style=QUIET)


def _in_short(choice: Choice) -> Text:
    return Text.assemble((choice.key, _KEY_STYLE), " ", exact(choice.label))


def _on_a_line(choice: Choice) -> RenderableType:
    return Hanging(Text(f"{choice.key} ", style=_KEY_STYLE), exact(choice.label))


def _explanation(choice: Choice) -> RenderableType:
    effect = f": {choice.effect}" if choice.effect else ""
    return Hanging(Text(f"{choice.key:>3} ", style=_KEY_STYLE), exact(choice.label) + exact(effect, QUIET))
