"""The hub of this machine, through its own socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from handrail import Hub, HubUnreachable, Options, Session
from handrail.events import ProcessExited
from handrail.places import Places
from handrail.remote.hub_file import RunningHub, remember_hub
from handrail.server.app import make_app
from handrail.server.running import HubServer
from handrail.sessions.owning.owner_socket import HUB, OwnerSocket

from ..server.support import ServedHub, served_hub
from .support import eventually


def places_in(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


@pytest.mark.slow
async def test_it_needs_no_token_and_knows_directories_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = places_in(tmp_path)
    async with served_hub(tmp_path) as served, locally(served, places):
        monkeypatch.chdir(served.directory)
        async with Hub.local(places) as hub:
            session = await hub.start(Options(), title="Here")
            assert (await session.row()).cwd == str(served.directory)
            items = session.subscribe()
            await session.send("Hello.")
            assert (await anext(items)).seq == 1  # type: ignore[union-attr]
            await items.aclose()
            latest = await hub.latest(".")
            assert latest is not None
            assert latest.id == session.id


def test_no_hub_is_said(tmp_path: Path) -> None:
    with pytest.raises(HubUnreachable, match="handrail serve"):
        Hub.local(places_in(tmp_path))


@pytest.mark.slow
async def test_it_is_found_again_where_it_was_started_anew(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    async with served_hub(tmp_path) as served, AsyncExitStack() as stack:
        first = await stack.enter_async_context(AsyncExitStack())
        await first.enter_async_context(locally(served, places))
        hub = await stack.enter_async_context(Hub.local(places))
        session = await hub.start(Options(cwd=served.directory))
        items: list[object] = []
        reading = asyncio.create_task(read(session, items))
        await session.send("Hello.")
        await eventually(lambda: items)
        await first.aclose()
        await stack.enter_async_context(locally(served, places))
        assert [row.id for row in await hub.list()] == [session.id]
        await session.stop()
        async with asyncio.timeout(30):
            await reading


async def read(session: Session, into: list[object]) -> None:
    """Follow a session until its process is gone."""
    async for item in session.subscribe():
        into.append(item)
        if isinstance(item, ProcessExited):
            return


@asynccontextmanager
async def locally(served: ServedHub, places: Places) -> AsyncIterator[None]:
    """Serve a hub on a socket of this machine, too."""
    local = OwnerSocket(places.runtime, kind=HUB)
    local.listening.setblocking(False)
    try:
        async with HubServer(make_app(served.hub), [local.listening]):
            remember_hub(places, RunningHub(pid=os.getpid(), socket=local.address, url=served.url))
            yield
    finally:
        local.close()
