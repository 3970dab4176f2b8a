"""A start that a host is told of again: after a cut, by another command, or once the agent was started anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import HostRefused, InvalidOptions, SessionExists, SessionLimit
from handrail.host.commands import CALLER, _hash
from handrail.link.wire import Command
from handrail.store.base import KeptReply
from handrail.store.sqlite import SqliteStore

from .fake_hub import FakeHub, Sink, fake_hub
from .support import RunningHost, eventually, running_host

ID = "5e0f7f0a4a594d1e8a6ebd64b5a8c0aa"


@asynccontextmanager
async def both(tmp_path: Path, **limits: Any) -> AsyncIterator[tuple[FakeHub, RunningHost]]:
    store = SqliteStore(str(tmp_path / "hub.db"))
    await store.open()
    try:
        async with fake_hub(Sink(store)) as hub, running_host(tmp_path, hub.url, **limits) as host:
            await hub.connected()
            await host.told("connected")
            yield hub, host
    finally:
        await store.close()


def start(hub: FakeHub, host: RunningHost, id: str = ID, request: str = "r1", **wanted: Any) -> Command:
    return hub.command("start", id, id=id, request=request, options={"cwd": str(host.projects)}, **wanted)


async def call(hub: FakeHub, host: RunningHost, **wanted: Any) -> Any:
    return await hub.call("start", ID, id=ID, options={"cwd": str(host.projects)}, **{"request": "r1", **wanted})


async def starts(host: RunningHost) -> list[str]:
    assert [row.id for row in await host.manager.list()] == [ID]
    return [row.why for row in await host.manager.store.starts(ID) if row.why != "running"]


@pytest.mark.slow
async def test_two_commands_at_once_start_one_session_on_the_last_seat(tmp_path: Path) -> None:
    async with both(tmp_path, capacity=1) as (hub, host):
        replies = await asyncio.gather(*(hub.reply(start(hub, host)) for _ in range(3)))
        assert [(reply.error, reply.result) for reply in replies] == [(None, f'{{"id":"{ID}"}}'.encode())] * 3
        assert await starts(host) == ["new"]
        with pytest.raises(SessionLimit):
            await hub.call("start", options={"cwd": str(host.projects)})


@pytest.mark.slow
async def test_one_that_runs_is_found_although_no_other_may_be_started(tmp_path: Path) -> None:
    async with both(tmp_path) as (hub, host):
        await call(hub, host)
        await hub.call("drain", on=True)
        assert await call(hub, host) == {"id": ID}
        await hub.call("stop", ID)
        with pytest.raises(HostRefused, match="drained"):
            await call(hub, host)
        assert await starts(host) == ["new"]


@pytest.mark.slow
async def test_one_that_has_ended_is_made_live_again(tmp_path: Path) -> None:
    async with both(tmp_path) as (hub, host):
        await call(hub, host)
        await hub.call("stop", ID)
        assert await call(hub, host) == {"id": ID}
        assert await host.manager.session(ID).is_live()
        assert len(await starts(host)) == 2


@pytest.mark.slow
async def test_another_request_with_this_id_is_refused(tmp_path: Path) -> None:
    async with both(tmp_path) as (hub, host):
        await call(hub, host)
        with pytest.raises(SessionExists, match="choose another id"):
            await call(hub, host, request="r2")
        assert await starts(host) == ["new"]


@pytest.mark.slow
async def test_what_is_no_id_is_refused(tmp_path: Path) -> None:
    async with both(tmp_path) as (hub, host):
        with pytest.raises(InvalidOptions, match="is a UUID"):
            await hub.call("start", "../x", id="../x", request="r1", options={"cwd": str(host.projects)})
        assert await host.manager.list() == []


@pytest.mark.slow
@pytest.mark.parametrize("was_begun", [False, True], ids=["before", "after"])
async def test_a_start_that_a_dead_agent_had_begun_is_done(tmp_path: Path, was_begun: bool) -> None:
    """The agent died before the session was stored, or after that."""
    async with both(tmp_path) as (hub, host):
        if was_begun:
            await call(hub, host)
            await hub.call("stop", ID)
        command = start(hub, host)
        left = KeptReply(caller=CALLER, key=command.id, request_hash=_hash(command), at=1e12)
        assert await host.manager.store.begin_reply(left, forget_before=0) is None
        reply = await hub.reply(command)
        assert reply.error is None
        assert await host.manager.session(ID).is_live()
        assert len(await starts(host)) == 1 + was_begun


@pytest.mark.slow
async def test_an_agent_that_ends_in_the_middle_of_a_start_has_started_one_session(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "hub.db"))
    await store.open()
    async with fake_hub(Sink(store)) as hub:
        async with running_host(tmp_path, hub.url) as host:
            await hub.connected()
            asked = asyncio.ensure_future(hub.reply(start(hub, host)))
            await eventually(host.manager.list)
        async with running_host(tmp_path, hub.url) as host:
            assert (await asked).error is None
            assert len(await host.manager.list()) == 1
            assert await host.manager.session(ID).is_live()
    await store.close()


@pytest.mark.slow
async def test_what_its_owner_allows_no_more_is_not_made_live_by_starting_it_again(tmp_path: Path) -> None:
    """The request is the hub's word for what it wants: what counts is how the session would go on."""
    async with both(tmp_path, profiles=("careful", "trusted")) as (hub, host):
        await call(hub, host, policy={"profile": "trusted"})
        await hub.call("stop", ID)
    async with both(tmp_path, profiles=("careful",)) as (hub, host):
        with pytest.raises(HostRefused, match="trusted"):
            await call(hub, host)
        assert await starts(host) == ["new"]


@pytest.mark.slow
async def test_a_session_that_no_request_has_begun_is_not_taken_for_one(tmp_path: Path) -> None:
    async with both(tmp_path) as (hub, host):
        made = await hub.call("start", options={"cwd": str(host.projects)})
        session = host.manager.session(made["id"])
        await session.stop()
        with pytest.raises(SessionExists, match="choose another id"):
            await hub.call("start", session.id, id=session.id, options={"cwd": str(host.projects)})
        assert not await session.is_live()
