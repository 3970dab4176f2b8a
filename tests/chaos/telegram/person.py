"""Somebody who sits at the phone: writes, and presses a button under whatever asks, until nothing does."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from handrail.telegram.model import Press
from handrail.testing.telegram import Button, Chat, Message
from handrail.testing.telegram import User as Person

CHOICES = (
    ("Resume and allow exactly this once",),
    ("☐ End",),
    ("Next",),
    ("Large",),
    ("Send",),
    ("Allow", "Deny"),
    ("Red", "Blue"),
    ("Yes, manually approve edits", "No, reject the plan"),
    ("Yes", "No"),
)
"""What is pressed: of the first of these groups that is there, one, the same one for the same ask."""
PRESSES_AGAIN_AFTER = 4.0
LOOKS_EVERY = 0.03


@dataclass
class Presser:
    """Presses buttons of one chat, as one person, and remembers what it meant."""

    chat: Chat
    by: Person
    database: Path
    meant: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    """For each ask (session and id) the answers behind the buttons that were pressed."""
    toasts: list[str] = field(default_factory=list)
    unanswered: int = 0
    """Presses of which the bot said nothing in time: it was not there."""
    _pressed: dict[tuple[int, str], float] = field(default_factory=dict)
    _waiting: set[asyncio.Task[None]] = field(default_factory=set)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[Presser]:
        """Press whatever there is to press meanwhile."""
        looking = asyncio.create_task(self._look())
        try:
            yield self
        finally:
            tasks = [looking, *self._waiting]
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            broken = [each for each in results if isinstance(each, Exception)]
            assert not broken, broken

    async def _look(self) -> None:
        while True:
            for message in self.chat.bot_messages:
                if (button := chosen(message)) is not None and self._is_due(message, button):
                    self._press(message, button)
            await asyncio.sleep(LOOKS_EVERY)

    def _is_due(self, message: Message, button: Button) -> bool:
        now, name = time.monotonic(), (message.id, button.data)
        if now < self._pressed.get(name, -PRESSES_AGAIN_AFTER) + PRESSES_AGAIN_AFTER:
            return False
        self._pressed[name] = now
        return True

    def _press(self, message: Message, button: Button) -> None:
        self._note(button)
        task = asyncio.create_task(self._wait_for_toast(message, button))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def _note(self, button: Button) -> None:
        press = press_of(self.database, button.data)
        if press is not None and press.action == "ask:decide":
            answers = self.meant.setdefault((press.session_id, press.ask_id), [])
            if press.data["answer"] not in answers:
                answers.append(press.data["answer"])

    async def _wait_for_toast(self, message: Message, button: Button) -> None:
        with suppress(TimeoutError):
            toast = await message.press(button, by=self.by)
            self.toasts.append(toast.text)
            return
        self.unanswered += 1


def chosen(message: Message) -> Button | None:
    """The button to press under a message, if there is one."""
    there = {button.text: button for button in buttons_of(message)}
    for group in CHOICES:
        found = [there[text] for text in group if text in there]
        if found:
            return found[zlib.crc32(found[0].data.encode()) % len(found)]
    return None


def buttons_of(message: Message) -> Iterator[Button]:
    return (button for row in message.buttons for button in row if button.data)


def press_of(database: Path, token: str) -> Press | None:
    """What the bridge remembers of a button."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT press FROM buttons WHERE token = ?", (token,)).fetchone()
    return msgspec.json.decode(found[0], type=Press) if found else None
