"""Finds out which of Telegram's people sits here: they send the bot a code that only this terminal has shown.

Sans-I/O: whoever asks Telegram puts the bot's news in.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass
from typing import Final

from handrail.telegram.incoming import Message, Sender, Update

__all__ = ["Pairing", "Person", "Tried"]

CODE_DIGITS: Final = 8
MOST_TRIES: Final = 5
"""Of one person. Who guesses more often than that is not listened to any more."""
LONGEST_NAME: Final = 100


@dataclass(frozen=True)
class Person:
    """Somebody at Telegram, as they call themselves."""

    id: int
    name: str
    username: str = ""

    @classmethod
    def of(cls, sender: Sender) -> Person:
        """Somebody with a name that can be shown anywhere: people call themselves whatever they like."""
        name = " ".join("".join(each if each.isprintable() else " " for each in sender.name).split())
        return cls(sender.id, name[:LONGEST_NAME].strip() or f"user {sender.id}", sender.username)

    def __str__(self) -> str:
        handle = f"@{self.username}, " if self.username else ""
        return f"{self.name} ({handle}id {self.id})"


@dataclass(frozen=True)
class Tried:
    """Somebody wrote to the bot; `right` says whether it was the code."""

    person: Person
    right: bool


class Pairing:
    """One code, and those who tried it."""

    def __init__(self, code: str | None = None) -> None:
        self.code = code or "".join(secrets.choice("0123456789") for _ in range(CODE_DIGITS))
        self._tries: Counter[int] = Counter()

    @property
    def shown(self) -> str:
        """The code as it is easy to read."""
        return f"{self.code[:4]} {self.code[4:]}"

    def link(self, username: str) -> str:
        """Opens the chat with the bot, and sends the code with one tap."""
        return f"https://t.me/{username}?start={self.code}"

    def look_at(self, update: Update) -> Tried | None:
        """What an update means here; None for what is no try, or comes from somebody who guesses."""
        message = update.message
        if message is None or not _is_to_the_bot_alone(message) or message.sender is None:
            return None
        person = Person.of(message.sender)
        if self._tries[person.id] >= MOST_TRIES:
            return None
        self._tries[person.id] += 1
        return Tried(person, right=secrets.compare_digest(_said(message.text), self.code.encode()))


def _is_to_the_bot_alone(message: Message) -> bool:
    """In a group, others would read the code."""
    return message.chat.type == "private" and message.sender is not None and not message.sender.is_bot


def _said(text: str) -> bytes:
    """The code in a message: also behind the `/start` of a link, and written with spaces or dashes."""
    return "".join(text.removeprefix("/start").replace("-", " ").split()).encode(errors="replace")
