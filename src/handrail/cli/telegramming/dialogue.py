"""A conversation on the terminal, or with whatever is piped in: questions, and what is said in between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from getpass import getpass
from typing import Final, TypeVar

from rich.text import Text

from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, NEEDS_YOU, QUIET, OutputConsole, exact
from handrail.errors import ConfigError

__all__ = ["Dialogue"]

KeyT = TypeVar("KeyT", bound=str)

INDENT: Final = "  "


class Dialogue:
    """Asks on the terminal. Where there is none, what is asked is read line by line from standard input."""

    def __init__(self, console: OutputConsole) -> None:
        self._console = console

    @property
    def has_person(self) -> bool:
        """Whether somebody sits there: who is not asked gets what is usual."""
        return sys.stdin is not None and sys.stdin.isatty() and self._console.is_terminal

    @property
    def console(self) -> OutputConsole:
        return self._console

    # ------------------------------------------------------------ saying

    def say(self, text: str = "") -> None:
        self._console.print(Text(text))

    def done(self, text: str) -> None:
        self._console.print(notice(DONE, text))

    def remark(self, text: str) -> None:
        self._console.print(notice(QUIET, text))

    def warn(self, text: str) -> None:
        self._console.print(notice(NEEDS_YOU, text))

    def show(self, text: str) -> None:
        """Something to copy, on a line of its own."""
        self._console.print(Text(INDENT).append_text(exact(text, "bold")), soft_wrap=True)

    # ------------------------------------------------------------ asking

    def secret(self, question: str) -> str:
        """What is typed, without showing it. Raises `ConfigError` at the end of what was piped in."""
        if self.has_person:
            return self._typed(lambda: getpass(f"{question}: "))
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line:
            raise ConfigError(f"there is nobody to ask for it: run this on a terminal, or pipe it in ({question})")
        return line.strip()

    def choice(self, question: str, choices: Mapping[KeyT, str], default: KeyT) -> KeyT:
        """One of several; without a person, the default."""
        if not self.has_person:
            return default
        self.say(question)
        names = list(choices)
        for number, name in enumerate(names, 1):
            self._console.print(Text.assemble(f"{INDENT}{number}  ", (f"{name:10}", "bold"), (choices[name], QUIET)))
        while True:
            given = self._typed(lambda: input(f"Number or name [{default}]: ")).strip().lower()
            if not given:
                return default
            if given.isdecimal() and 1 <= int(given) <= len(names):
                return names[int(given) - 1]
            if given in choices:
                return next(name for name in names if name == given)
            self.warn(f"there is no {given!r}: type one of {', '.join(names)}")

    def text(self, question: str, default: str) -> str:
        """A line; without a person, or without a word, the default."""
        if not self.has_person:
            return default
        return self._typed(lambda: input(f"{question} [{default}]: ")).strip() or default

    def _typed(self, read: Callable[[], str]) -> str:
        try:
            return read()
        except EOFError:
            self.say()
            raise KeyboardInterrupt from None  # Ctrl-D on an empty line: enough of it
