"""What is a command in a message, and what is written behind it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

__all__ = ["CommandLine", "command_line", "first_word"]

_COMMAND: Final = re.compile(r"\s*/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@(?P<bot>\w{1,32}))?(?=\s|\Z)")
"""As Telegram itself marks a command; `/usr/bin` and `//` are none."""


class CommandLine(msgspec.Struct, frozen=True):
    """A command as somebody wrote it: its name in small letters, and the text behind it as it is."""

    name: str
    rest: str = ""
    is_for_us: bool = True
    """False if it names another bot of the group."""


def command_line(text: str, bot_username: str = "") -> CommandLine | None:
    """The command that a message is, or None if it is a message to Claude."""
    found = _COMMAND.match(text)
    if found is None:
        return None
    named = (found["bot"] or bot_username).lower()
    return CommandLine(found["name"].lower(), text[found.end() :].strip(), named == bot_username.lower())


def first_word(text: str) -> tuple[str, str]:
    """The first word of a text, and what follows it."""
    word, *rest = text.split(None, 1) or [""]
    return word, rest[0].strip() if rest else ""
