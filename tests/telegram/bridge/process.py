"""A bridge in a process of its own, to be killed. Its settings come as JSON on standard input."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from handrail.remote.hub import Hub
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bridge import Bridge
from handrail.telegram.model import User
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState

from .quick import FAST, QUICK


class Told(msgspec.Struct):
    """What the process is to do."""

    hub_url: str
    hub_token: str
    database: str
    token: str
    api_url: str
    cwd: str
    users: list[User]


async def serve(told: Told) -> None:
    settings = TelegramSettings(token=told.token, api_url=told.api_url, cwd=told.cwd, users=tuple(told.users))
    async with (
        Hub(told.hub_url, told.hub_token) as hub,
        TelegramBot(settings.token, api_url=settings.api_url) as bot,
        BridgeState(told.database) as state,
    ):
        await Bridge(hub, bot, state, settings, rhythm=QUICK, pace=FAST).run()


if __name__ == "__main__":
    asyncio.run(serve(msgspec.json.decode(sys.stdin.buffer.read(), type=Told)))
