"""A bridge between a Telegram on loopback and a hub that really serves simulated sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handrail.remote.hub import Hub
from handrail.server.hub import HubSettings
from handrail.store.base import SessionRow
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bridge import Bridge
from handrail.telegram.model import User
from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.rhythm import Rhythm
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState
from handrail.testing import TelegramPace, TelegramServer
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.testing.telegram import Chat, Message, Topic
from handrail.testing.telegram import User as Person
from tests.server.support import ServedHub, served_hub

from .quick import FAST, QUICK

PATIENCE = 60.0
ECHO = (sim.loop_turns("You said $text."),)


async def eventually(condition: Callable[[], Any | Awaitable[Any]]) -> Any:
    """What a condition gives once it is true."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = condition()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.01)


def said(chat: Chat | Topic, text: str) -> Callable[..., Message | None]:
    """Whether the bot wrote a message with this text in a chat."""

    def look(*_: object) -> Message | None:
        return next((message for message in chat.bot_messages if text in message.text), None)

    return look


@dataclass
class World:
    """Telegram, a hub, and bridges between them that can be ended and begun anew."""

    telegram: TelegramServer
    served: ServedHub
    directory: Path
    ann: Person
    chat: Chat
    settings: TelegramSettings
    rhythm: Rhythm = QUICK
    pace: Pace = FAST
    hub_url: str = ""
    hub_patience: float = 10.0
    bridge: Bridge | None = None
    state: BridgeState | None = None

    @property
    def database(self) -> Path:
        return self.directory / "bridge" / "telegram.db"

    @asynccontextmanager
    async def opened(self, **changes: Any) -> AsyncIterator[tuple[Bridge, BridgeState]]:
        """A bridge that does not run yet, and its memory."""
        self.database.parent.mkdir(parents=True, exist_ok=True)
        settings = replace(self.settings, **changes)
        async with (
            Hub(self.hub_url or self.served.url, self.served.tokens["owner"], patience=self.hub_patience) as hub,
            TelegramBot(settings.token, api_url=settings.api_url) as bot,
            BridgeState(str(self.database)) as state,
        ):
            yield Bridge(hub, bot, state, settings, rhythm=self.rhythm, pace=self.pace), state

    @asynccontextmanager
    async def bridged(self, **changes: Any) -> AsyncIterator[Bridge]:
        """A bridge that runs."""
        async with self.opened(**changes) as (bridge, state):
            self.bridge, self.state = bridge, state
            task = asyncio.create_task(bridge.run())
            try:
                yield bridge
                assert not task.done(), "the bridge ended"
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def say(self, text: str, **how: Any) -> Message:
        return await self.chat.send(text, **how)

    async def hears(self, text: str) -> Message:
        """What the bot writes with this text in Ann's chat, once it does."""
        found: Message = await self.chat.wait(said(self.chat, text), timeout=PATIENCE)
        return found

    async def asked(self) -> Message:
        """What the bot asks in Ann's chat, once it does."""
        found: Message = await self.chat.wait(
            lambda _: next((message for message in self.chat.bot_messages if message.buttons), None), timeout=PATIENCE
        )
        return found

    def count(self, text: str) -> int:
        """How many messages of the bot in Ann's chat have this text."""
        return sum(text in message.text for message in self.chat.bot_messages)

    async def rows(self) -> list[SessionRow]:
        """The sessions of the hub."""
        return await self.served.manager.list()

    async def prompts(self) -> list[str]:
        """What Claude was told, in all sessions."""
        views = [await self.served.manager.session(row.id).view() for row in await self.rows()]
        return [prompt.text for view in views for prompt in view.prompts.values()]


@asynccontextmanager
async def world(
    directory: Path,
    *steps: sim.Step,
    cli: SimulatedCLI | None = None,
    settings_of_hub: HubSettings | None = None,
    telegram_pace: TelegramPace | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """Everything but a bridge. Sessions follow a script."""
    clis = directory / "cli"
    clis.mkdir(parents=True, exist_ok=True)
    cli = cli or SimulatedCLI(steps or ECHO, directory=clis)
    async with (
        served_hub(directory / "hub", cli=cli, settings=settings_of_hub) as served,
        TelegramServer(pace=telegram_pace) as telegram,
    ):
        ann = telegram.user(id=1001, first_name="Ann")
        made = TelegramSettings(
            **{
                "token": telegram.token,
                "api_url": telegram.url,
                "users": (User(1001, "Ann", "owner"),),
                "cwd": str(served.directory),
                **settings,
            }
        )
        yield World(telegram, served, directory, ann, ann.private_chat(), made)
