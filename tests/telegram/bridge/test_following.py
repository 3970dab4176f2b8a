"""What cannot be looked at is looked at again, once at a time, and is no trouble any more when it could be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from handrail.remote.changes import HubChange, OnHubChange
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.store.base import SessionRow
from handrail.telegram.following import Following
from handrail.telegram.inbox import Inbox
from handrail.telegram.model import Place, User
from handrail.telegram.people import People
from handrail.telegram.reporting import Report
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState

from .support import eventually

PLACE = Place(1001)
SETTINGS = TelegramSettings(token="1:x", users=(User(1001, "Ann"),))


class AwayHub:
    """A hub with one session that does nothing, and that cannot be reached for a while."""

    def __init__(self) -> None:
        self.store = self
        self.is_away = True
        self.status = "idle"
        self.looks = 0
        self.listener: OnHubChange = lambda change: None

    def was_looked_at(self, times: int) -> bool:
        return self.looks >= times

    def watch(self, listener: OnHubChange) -> Callable[[], None]:
        self.listener = listener
        return lambda: None

    async def get_session(self, session_id: str) -> SessionRow:
        self.looks += 1
        if self.is_away:
            raise HubUnreachable("the hub is away")
        return SessionRow(id=session_id, cwd="/", created_at=0.0, updated_at=0.0, status=self.status, last_seq=5)


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[BridgeState]:
    async with BridgeState(str(tmp_path / "t.db")) as state:
        await state.write(lambda tables: tables.follow(PLACE, "s1", "all", 5))
        yield state


@asynccontextmanager
async def followed(
    state: BridgeState, hub: AwayHub, follower: Callable[[str], Any] | None = None
) -> AsyncIterator[tuple[Following, Report]]:
    async def afterwards(session_id: str, is_done: bool) -> None:
        if hub.is_away:
            raise HubUnreachable("the hub is away")

    real, report = cast(Hub, hub), Report()
    following = Following(
        hub=real,
        state=state,
        inbox=Inbox(state, People(real, lambda: SETTINGS)),
        follower=cast(Any, follower),
        afterwards=afterwards,
        report=report,
    )
    task = asyncio.create_task(following.run())
    try:
        yield following, report
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.slow
async def test_a_session_that_could_be_looked_at_again_is_no_trouble_any_more(state: BridgeState) -> None:
    hub = AwayHub()
    async with followed(state, hub) as (_, report):
        await eventually(lambda: report.troubles)
        hub.is_away = False
        await eventually(lambda: not report.troubles)


@pytest.mark.slow
async def test_what_is_done_after_a_run_is_no_trouble_any_more_once_it_could_be_done(state: BridgeState) -> None:
    hub = AwayHub()
    await state.write(lambda tables: tables.unfollow(PLACE, "s1"))
    async with followed(state, hub) as (following, report):
        following.over("s1", True)
        await eventually(lambda: report.troubles)
        hub.is_away = False
        await eventually(lambda: not report.troubles)


@pytest.mark.slow
async def test_however_often_it_fails_it_is_tried_again_once_at_a_time(state: BridgeState) -> None:
    hub = AwayHub()
    async with followed(state, hub) as (following, _):
        for number in range(1, 30):
            await eventually(partial(hub.was_looked_at, number))
            hub.listener(HubChange(session_id="s1", status="running", last_seq=5 + number))
        await eventually(lambda: hub.looks >= 30)
        assert len(following._later) <= 1


class Listener:
    """Follows a session, and only hears how its host is."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.heard: list[str] = []

    def host_is(self, state: str) -> None:
        self.heard.append(state)

    async def run(self) -> None:
        await asyncio.Event().wait()


async def test_how_a_host_is_is_heard_only_of_sessions_that_the_hub_has_listed(state: BridgeState) -> None:
    hub, listener = AwayHub(), Listener("s1")
    hub.is_away, hub.status = False, "running"
    async with followed(state, hub, lambda _: listener) as (following, _):
        await eventually(lambda: hub.looks)
        for change in (
            HubChange(session_id="s1", status="running", host="box", host_state="away"),
            HubChange(session_id="s1"),  # beyond the end of the hub's list: nothing is known of it
            HubChange(session_id="s1", status="running", host="box", host_state="connected"),
        ):
            hub.listener(change)
            await eventually(lambda: not following._dirty)
        await eventually(lambda: "connected" in listener.heard)
    assert listener.heard == ["away", "connected"]
