"""A follower that dies at any moment, any number of times: in the end the chats show what they would have anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events import model as events
from handrail.remote.hub import Hub
from handrail.telegram.asks.desk import AskDesk
from handrail.telegram.follower import Follower
from handrail.telegram.model import GONE, Content, Place, User
from handrail.telegram.outbox.worker import Outbox
from handrail.telegram.people import People
from handrail.telegram.rhythm import Rhythm
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState, Tables

from .journals import SESSION, FakeHub, Killed, journals

pytestmark = pytest.mark.slow

T = TypeVar("T")
HOME, TEAM = Place(1001), Place(-7, 3)
EAGER = Rhythm(progress=0.0, first_progress=0.0, heartbeat=0.0, settling=0.0, rest=0.0)
LIVES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6), st.booleans()), max_size=6)
"""How much of the journal each sees, at which write it dies, and whether that was stored."""


class MortalState(BridgeState):
    """A memory whose owner dies at its n-th write, just before it or just after."""

    def __init__(self, path: str) -> None:
        super().__init__(path, clock=lambda: 5000.0)
        self.dies_at: int | None = None
        self.stores_it = False

    async def write(self, function: Callable[[Tables], T]) -> T:
        if self.dies_at is not None:
            self.dies_at -= 1
            if self.dies_at <= 0:
                if self.stores_it:
                    await super().write(function)
                raise Killed
        return await super().write(function)


class SilentOutbox:
    """Shows nothing."""

    has_drafts = True

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def follower(hub: FakeHub, state: BridgeState) -> Follower:
    told = TelegramSettings(token="t", users=(User(1001, "Ann"),), groups=(-7,))
    return Follower(
        session_id=SESSION,
        hub=cast("Hub", hub),
        state=state,
        outbox=cast("Outbox", SilentOutbox()),
        desk=AskDesk(state, cast("Hub", hub)),
        people=People(cast("Hub", hub), lambda: told),
        on_over=lambda session_id, is_done: None,
        rhythm=EAGER,
        clock=lambda: 2000.0,
    )


async def shown_after(journal: list[events.Event], lives: list[tuple[int, int, bool]]) -> dict[str, Content]:
    """What the chats are to show in the end, button tokens left out."""
    with TemporaryDirectory() as directory:
        async with MortalState(str(Path(directory) / "t.db")) as state:
            await state.write(_begin)
            hub = FakeHub(journal)
            for more, dies_at, stores_it in lives:
                hub.shown = min(len(journal), hub.shown + more)
                state.dies_at, state.stores_it = dies_at, stores_it
                with suppress(Killed):
                    await follower(hub, state).run()
            state.dies_at, hub.shown = None, len(journal)
            await follower(hub, state).run()
            follows = await state.read(lambda tables: tables.follows())
            assert {follow.cursor for follow in follows} == {len(journal)}
            messages = await state.read(lambda tables: tables.of_session(SESSION))
    return {message.key: message.content for message in messages}


def _begin(tables: Tables) -> None:
    tables.follow(HOME, SESSION, "all", 0)
    tables.follow(TEAM, SESSION, "asks", 0)


@settings(max_examples=40, deadline=None)
@given(journal=journals(), lives=LIVES)
def test_however_often_it_dies_the_chats_show_the_same_in_the_end(
    journal: list[events.Event], lives: list[tuple[int, int, bool]]
) -> None:
    straight = asyncio.run(shown_after(journal, []))
    crooked = asyncio.run(shown_after(journal, lives))
    assert _answers(crooked) == _answers(straight)
    assert all(content == GONE for key, content in crooked.items() if key.startswith("progress:"))
    assert not any(content.buttons for content in crooked.values())
    assert {key.split(":")[0] for key in crooked if key.endswith(f":{TEAM}")} <= {"ask"}


def _answers(shown: dict[str, Content]) -> dict[str, str]:
    """What stays: asks are there only if they were open when somebody looked."""
    return {key: content.text.text for key, content in shown.items() if key.startswith(("answer:", "said:"))}
