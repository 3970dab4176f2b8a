"""The answers on offer: the key for each, and what it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.keyboard.keys import Key
from handrail.cli.showing.layout import Flow, Hanging
from handrail.cli.showing.style import NEEDS_YOU, QUIET, exact

__all__ = ["HELP_KEY", "Choice", "Menu"]

HELP_KEY = "?"
_KEY_STYLE = f"bold {NEEDS_YOU}"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: its key, a few words, and what it does. A long one has a line of its own.

    `also` are further keys for it, which only the explanation names.
    """

    key: str
    label: str
    effect: str = ""
    long: bool = False
    also: tuple[str, ...] = ()


class Menu:
    """Choices, in the order in which they are shown."""

    def __init__(self, choices: Iterable[Choice]) -> None:
        self._choices = tuple(choices)

    def chosen(self, key: Key) -> str | None:
        """The key of the choice that was meant, or None."""
        return next((each.key for each in self._choices if key.name == each.key or key.name in each.also), None)

    def short(self) -> RenderableType:
        """All choices, as a row and the long ones below it."""
        row = [_in_short(choice) for choice in self._choices if not choice.long]
        lines = [_on_a_line(choice) for choice in self._choices if choice.long]
        return Group(*lines, Flow([*row, _in_short(Choice(HELP_KEY, "help"))]))

    def explained(self) -> RenderableType:
        """All choices, each with what it does."""
        return Group(*(_explanation(choice) for choice in self._choices))

    def reminder(self) -> str:
        """Which keys there are."""
        keys = ", ".join(choice.key for choice in self._choices)
        return f"Please press one of {keys}, or {HELP_KEY} for what they do."


def _in_short(choice: Choice) -> Text:
    return Text.assemble((choice.key, _KEY_STYLE), " ", exact(choice.label))


def _on_a_line(choice: Choice) -> RenderableType:
    return Hanging(Text(f"{choice.key} ", style=_KEY_STYLE), exact(choice.label))


def _explanation(choice: Choice) -> RenderableType:
    effect = f": {choice.effect}" if choice.effect else ""
    also = f" ({', '.join(choice.also)} too)" if choice.also else ""
    said = exact(choice.label) + exact(effect, QUIET) + exact(also, QUIET)
    return Hanging(Text(f"{choice.key:>3} ", style=_KEY_STYLE), said)
