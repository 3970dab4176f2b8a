"""Handrail's Telegram bridge, whole: its own process, its own database, and a hub that it reaches over the network."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bench.telegram_staging import Staged
from handrail.remote.hub import Hub
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bridge import Bridge
from handrail.telegram.model import Place, User
from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState, Chat, Tables
from handrail.telegram.text.markdown import from_markdown

CATCHING_UP = 60.0


@asynccontextmanager
async def serving(stage: Staged, look: str) -> AsyncIterator[BridgeAtWork]:
    """A bridge that follows every session of the stage; `unpaced`: as fast as it can, else as Telegram allows."""
    facts = stage.facts
    settings = TelegramSettings(
        token=facts["bot_token"],
        api_url=facts["api"],
        users=tuple(User(person, f"P{person}", "owner") for person in facts["people"]),
        groups=tuple({each["chat"] for each in facts["followed"] if each["chat"] < 0}),
    )
    pace = Pace().faster(1_000) if look == "unpaced" else Pace()
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as directory:
        async with (
            Hub(facts["hub"], facts["hub_token"]) as hub,
            TelegramBot(settings.token, api_url=settings.api_url) as bot,
            BridgeState(str(Path(directory) / "telegram.db")) as state,
        ):
            await state.write(lambda tables: _follow(tables, stage))
            from_markdown("**imported** before it is measured")
            work = asyncio.ensure_future(Bridge(hub, bot, state, settings, pace=pace).run())
            try:
                await stage.do("polled")
                yield BridgeAtWork(state, work)
                assert not work.done(), "the bridge ended"
            finally:
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work


def _follow(tables: Tables, stage: Staged) -> None:
    for each in stage.facts["followed"]:
        place = Place(each["chat"], each["thread"])
        tables.set_chat(Chat(place=place, session_id=each["session"]))
        tables.follow(place, each["session"], "all", 0)


class BridgeAtWork:
    def __init__(self, state: BridgeState, work: asyncio.Future[None]) -> None:
        self._state = state
        self._work = work

    async def caught_up(self, ends: dict[str, int]) -> None:
        async with asyncio.timeout(CATCHING_UP):
            while not await self._state.read(lambda tables: _is_told(tables, ends)):
                assert not self._work.done(), "the bridge ended"
                await asyncio.sleep(0.1)

    async def sent(self, count: int) -> list[float]:
        raise NotImplementedError("the bridge sends what happens in sessions")


def _is_told(tables: Tables, ends: dict[str, int]) -> bool:
    return all(follow.cursor >= ends.get(follow.session_id, 0) for follow in tables.follows())
