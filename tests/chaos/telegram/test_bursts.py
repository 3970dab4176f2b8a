"""A hundred things at once, from several people in several chats and topics: each is answered, in order, in bounds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.telegram.model import User
from handrail.testing.telegram import CallbackAnswer, Chat, Message, Topic
from handrail.testing.telegram import User as Person
from tests.server.support import ASKS
from tests.telegram.bridge.support import World, eventually, world

pytestmark = pytest.mark.slow

GROUP = -100_500
BOT = "@handrail_test_bot"
PEOPLE = (User(1001, "Ann", "owner"), User(1002, "Bob", "owner"), User(1003, "Cy", "viewer"))
MESSAGES = 15
COMMANDS = {
    "/status": "begin\n",
    "/queue": "Messages that are sent while Claude works",
    "/model": "The model of this chat",
    "/help": "/help NAME",
}
"""And what each is answered with."""
PRESSES = 4
MOST_TASKS = 200
"""Of bridge, hub, Telegram and test together."""


class Corner:
    """A chat or a topic, and somebody who writes there."""

    def __init__(self, name: str, where: Chat | Topic, by: Person) -> None:
        self.name = name
        self.where = where
        self.by = by
        self.pressing: list[asyncio.Task[CallbackAnswer]] = []

    @property
    def words(self) -> list[str]:
        return [f"{self.name} {number}" for number in range(MESSAGES)]

    @property
    def answered(self) -> list[str]:
        """What was answered, in the order of the answers."""
        found = (re.match(r"You said (\w+ \d+)\.", message.text) for message in self.where.bot_messages)
        return [match[1] for match in found if match]

    @property
    def has_every_reply(self) -> bool:
        texts = [message.text for message in self.where.bot_messages]
        return all(any(words in text for text in texts) for words in COMMANDS.values())

    def is_quiet(self) -> bool:
        return len(self.answered) >= MESSAGES and self.has_every_reply and self.ask() is None

    def ask(self) -> Message | None:
        return next((message for message in self.where.bot_messages if message.button("Allow")), None)

    async def begin(self) -> None:
        """Have a session that asks."""
        await self.say("begin")
        await eventually(self.ask)

    async def say(self, text: str) -> Message:
        """So that the bot knows that it is meant."""
        if isinstance(self.where, Topic):
            text = f"{text}{BOT}" if text.startswith("/") else f"{BOT} {text}"
        return await self.where.send(text, by=self.by)

    async def burst(self) -> None:
        """All at once: some of it while the ask is open, the same button several times."""
        ask = self.ask()
        assert ask is not None
        allow = ask.button("Allow")
        assert allow is not None
        for number, word in enumerate(self.words):
            await self.say(word)
            if number < len(COMMANDS):
                await self.say(list(COMMANDS)[number])
            if number < PRESSES:
                self.pressing.append(asyncio.create_task(ask.press(allow, by=self.by, timeout=30)))


@asynccontextmanager
async def counted() -> AsyncIterator[list[int]]:
    """How many tasks there are, looked at again and again."""
    seen = [0]

    async def count() -> None:
        while True:
            seen.append(len(asyncio.all_tasks()))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(count())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_burst_from_several_people_in_several_places(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS, users=PEOPLE, groups=(GROUP,)) as here, here.bridged():
        bob, cy, eve = (here.telegram.user(id=1002 + number, first_name=name) for number, name in enumerate(OTHERS))
        group = here.telegram.group(GROUP, "Team", members=[here.ann, bob], is_forum=True, bot_is_admin=True)
        corners = [
            Corner("ann", here.chat, here.ann),
            Corner("bob", bob.private_chat(), bob),
            Corner("one", group.topic("one"), here.ann),
            Corner("two", group.topic("two"), bob),
        ]
        for corner in corners:
            if isinstance(corner.where, Chat):
                await corner.say("/inbox off")
        await eventually(lambda: sum("Only what the sessions" in each.text for each in _said(corners)) == 2)
        for corner in corners:
            await corner.begin()
        async with counted() as tasks:
            await asyncio.gather(*(corner.burst() for corner in corners))
            refused = [await person.private_chat().send(f"let me in {n}") for person in (cy, eve) for n in range(4)]
            assert here.telegram.pending_updates >= 100
            await _is_quiet_again(here, corners)
        for corner in corners:
            assert corner.answered == corner.words
            toasts = [(await press).text for press in corner.pressing]
            assert toasts[0] == "Approved"
            assert all(toasts)
            assert not any("not taken" in message.text for message in corner.where.bot_messages)
        assert [message.reply_to for message in cy.private_chat().bot_messages] == refused[:4]
        assert eve.private_chat().bot_messages == []
        assert max(tasks) < MOST_TASKS
        assert [ask.decided_by for row in await here.rows() for ask in await here.served.manager.store.asks(row.id)]


OTHERS = ("Bob", "Cy", "Eve")


def _said(corners: list[Corner]) -> list[Message]:
    return [message for corner in corners for message in corner.where.bot_messages]


async def _is_quiet_again(here: World, corners: list[Corner]) -> None:
    await eventually(lambda: here.telegram.pending_updates == 0)
    for corner in corners:
        await eventually(corner.is_quiet)
