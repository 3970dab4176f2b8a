"""A bot that keeps its messages in memory, and an outbox that works on it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from handrail.telegram.bot_errors import BotError, MessageGone, NotModified
from handrail.telegram.model import Content, Place, Priority, WantedMessage
from handrail.telegram.outbox import Outbox, Pace
from handrail.telegram.outbox.port import MessageBot
from handrail.telegram.state import BridgeState, Tables
from handrail.telegram.text.rich import RichText, plain

ANN = Place(1001)
BOB = Place(1002)
GROUP = Place(-1001)
TOPIC = Place(-1001, 7)

QUICK = Pace(
    chat_seconds=0,
    chat_burst=1000,
    group_messages=100_000,
    group_seconds=0,
    overall_messages=100_000,
    overall_seconds=0,
    light_seconds=0,
    edit_seconds=0,
    group_edit_seconds=0,
    retry_seconds=0.01,
    longest_retry_seconds=0.05,
)
"""As fast as it goes, for tests that are about something else."""


class MemoryBot:
    """Does what a bot does. `refuse` may give an error instead of the deed, `lose_answer` one after it."""

    def __init__(self) -> None:
        self.messages: dict[tuple[int, int], Content] = {}
        self.calls: list[tuple[str, Place, str]] = []
        self.drafts: list[tuple[Place, int, str]] = []
        self.actions: list[Place] = []
        self.refuse: Callable[[str, Place, Content], BotError | None] = lambda *_: None
        self.lose_answer: Callable[[str, Place, Content], BotError | None] = lambda *_: None
        self.gate: asyncio.Event | None = None
        self._numbers = itertools.count(1)

    async def send(self, place: Place, content: Content) -> int:
        await self._call("send", place, content)
        number = next(self._numbers)
        self.messages[place.chat, number] = content
        self._lose("send", place, content)
        return number

    async def edit(self, place: Place, message_id: int, content: Content) -> None:
        await self._call("edit", place, content)
        before = self.messages.get((place.chat, message_id))
        if before is None:
            raise MessageGone("Bad Request: message to edit not found")
        if (before.text, before.buttons) == (content.text, content.buttons):
            raise NotModified("Bad Request: message is not modified")
        self.messages[place.chat, message_id] = content
        self._lose("edit", place, content)

    async def delete(self, place: Place, message_id: int) -> None:
        await self._call("delete", place, Content())
        if self.messages.pop((place.chat, message_id), None) is None:
            raise MessageGone("Bad Request: message to delete not found")

    async def draft(self, place: Place, draft_id: int, text: RichText) -> None:
        await self._call("draft", place, Content(text=text))
        self.drafts.append((place, draft_id, text.text))

    async def action(self, place: Place, action: str = "typing") -> None:
        await self._call("action", place, Content())
        self.actions.append(place)

    def texts(self, place: Place = ANN) -> list[str]:
        """What is shown in a chat, from top to bottom."""
        found = sorted((number, content) for (chat, number), content in self.messages.items() if chat == place.chat)
        return [content.text.text for _, content in found]

    def methods(self) -> list[str]:
        return [method for method, _, _ in self.calls]

    async def _call(self, method: str, place: Place, content: Content) -> None:
        self.calls.append((method, place, content.text.text))
        if self.gate:
            await self.gate.wait()
        await asyncio.sleep(0)
        if error := self.refuse(method, place, content):
            raise error

    def _lose(self, method: str, place: Place, content: Content) -> None:
        if error := self.lose_answer(method, place, content):
            raise error


class Times:
    """Gives an error so many times, for calls that fit."""

    def __init__(self, error: BotError, times: int, *, methods: Iterable[str] = (), chat: int | None = None) -> None:
        self.error = error
        self.left = times
        self._methods = set(methods)
        self._chat = chat

    def __call__(self, method: str, place: Place, content: Content) -> BotError | None:
        fits = (not self._methods or method in self._methods) and self._chat in (None, place.chat)
        if not fits or self.left == 0:
            return None
        self.left -= 1
        return self.error


@asynccontextmanager
async def running(
    state: BridgeState,
    bot: MessageBot,
    *,
    pace: Pace = QUICK,
    clock: Callable[[], float] = time.monotonic,
    may_write: Callable[[str, Place], bool] = lambda key, place: True,
) -> AsyncIterator[Outbox]:
    """An outbox at work."""
    outbox = Outbox(state, bot, pace=pace, clock=clock, may_write=may_write)
    task = asyncio.create_task(outbox.run())
    try:
        yield outbox
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def text(words: str, **more: object) -> Content:
    return Content(text=plain(words), **more)  # type: ignore[arg-type]


def message(key: str, content: Content | str, place: Place = ANN, **more: object) -> WantedMessage:
    shown = text(content) if isinstance(content, str) else content
    return WantedMessage(key=key, place=place, content=shown, **more)  # type: ignore[arg-type]


def want(key: str, content: Content | str, place: Place = ANN, **more: object) -> Callable[[Tables], None]:
    return lambda tables: tables.want(message(key, content, place, **more))


async def want_all(state: BridgeState, messages: Iterable[WantedMessage]) -> None:
    """Want all of them at once."""

    def want_each(tables: Tables) -> None:
        for one in messages:
            tables.want(one)

    await state.write(want_each)


def progress(key: str, content: Content | str, place: Place = ANN) -> Callable[[Tables], None]:
    return want(key, content, place, priority=Priority.PROGRESS)


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something to come true."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def database(directory: Path) -> str:
    return str(directory / "telegram.db")
