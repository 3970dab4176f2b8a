"""A start on a host whose answer was not heard: tried again it goes to the same host, and to no other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from handrail.error_records import record_of
from handrail.errors import HostRefused
from handrail.link import wire
from handrail.server.hosts import abroad, commands
from handrail.sessions.beginning import first_message
from handrail.sessions.launching import SessionSettings, encode_settings
from handrail.store.base import SessionRow

from ..support import ServedHub, served_hub
from .fake_host import FakeHost, Link, fake_host

ID = "5e0f7f0a4a594d1e8a6ebd64b5a8c0aa"


@pytest.fixture
async def helper(served: ServedHub, tmp_path: Path) -> AsyncIterator[FakeHost]:
    """Another host, which always has less to do."""
    async with fake_host(served, tmp_path, "helper") as host:
        yield host


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "COMING_BACK", 0.05)


async def start(client: httpx2.AsyncClient, host: str = "any", **fields: Any) -> httpx2.Response:
    return await client.post("/api/sessions", json={"id": ID, "cwd": "~/shop", "host": host, **fields})


async def begin(host: FakeHost, command: wire.Command, link: Link | None = None) -> dict[str, str]:
    """What a host does that is told to start a session, as far as it gets before its line is cut."""
    wanted = msgspec.json.decode(command.params)
    assert command.session == wanted["id"]
    if await host.store.get_session(wanted["id"]) is None:
        settings = encode_settings(SessionSettings(request=wanted["request"]))
        now = time.time()
        row = SessionRow(id=wanted["id"], cwd="/srv/shop", created_at=now, updated_at=now, settings=settings)
        await host.store.create_session(row)
        await host.take(row.id)
    if link is not None:
        await link.send_page(await host.store.copy_page(wanted["id"], after=0))
    return {"id": wanted["id"]}


def does_what_it_is_told(link: Link) -> None:
    link.answer("start", lambda command: begin(link.host, command, link))
    link.answer("send", lambda command: msgspec.json.decode(command.params)["uuid"])


def told(link: Link, method: str) -> list[wire.Command]:
    return [each for each in link.heard if isinstance(each, wire.Command) and each.method == method]


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
async def test_what_became_of_it_is_not_known_and_no_other_host_is_asked(
    served: ServedHub, host: FakeHost, helper: FakeHost
) -> None:
    async with served.client() as client, helper.connected() as other:
        busy = msgspec.structs.replace(helper.facts, load=0.9)
        await other.say(wire.Facts(facts=busy))
        async with host.connected() as link:
            starting = asyncio.ensure_future(start(client))
            await begin(host, await link.hear(wire.Command))
        assert code(await starting) == (504, "outcome_unknown")
        again = await start(client)
        assert code(again) == (504, "outcome_unknown")
        assert "build-box is not connected" in again.json()["detail"]
        assert "so it is started nowhere else" in again.json()["detail"]
        async with host.connected() as link:
            does_what_it_is_told(link)
            found = await start(client)
            assert (found.status_code, found.json()["id"], found.json()["host_name"]) == (201, ID, "build-box")
        assert told(other, "start") == []


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
async def test_it_stays_with_its_host_also_when_the_hub_was_restarted(tmp_path: Path) -> None:
    async with served_hub(tmp_path / "hub") as served, fake_host(served, tmp_path) as host, served.client() as client:
        async with host.connected() as link:
            starting = asyncio.ensure_future(start(client))
            await begin(host, await link.hear(wire.Command))
        await starting
        token, key, host_id = served.tokens["owner"], host.key, host.id
    async with (
        served_hub(tmp_path / "hub") as served,
        fake_host(served, tmp_path, "helper") as helper,
        fake_host(served, tmp_path, "stand-in") as host,
        served.client(None, authorization=f"Bearer {token}") as client,
    ):
        host.key, host.id, host.name = key, host_id, "build-box"
        async with helper.connected() as other:
            does_what_it_is_told(other)
            assert code(await start(client)) == (504, "outcome_unknown")
            async with host.connected() as link:
                does_what_it_is_told(link)
                assert (await start(client)).json()["host_name"] == "build-box"
            assert told(other, "start") == []


async def test_the_line_is_cut_before_the_answer_and_the_prompt_is_sent_once(served: ServedHub, host: FakeHost) -> None:
    async with served.client() as client:
        async with host.connected() as link:
            starting = asyncio.ensure_future(start(client, prompt="go"))
            first = await link.hear(wire.Command)
            await begin(host, first)
        async with host.connected() as link:
            again = await link.hear(wire.Command)
            assert (again.id, again.method) == (first.id, "start")
            does_what_it_is_told(link)
            await link.reply(again, await begin(host, again, link))
            assert (await starting).json()["id"] == ID
            assert (await start(client, prompt="go")).json()["id"] == ID
            assert told(link, "start") == []
            uuids = [msgspec.json.decode(each.params)["uuid"] for each in told(link, "send")]
            assert uuids == [first_message(ID)] * 2


async def test_one_that_has_ended_is_made_live_again_where_it_is(served: ServedHub, host: FakeHost) -> None:
    async with served.client() as client, host.connected() as link:
        does_what_it_is_told(link)
        await start(client)
        await host.give_up(ID)
        await link.copy(ID)

        async def resume(command: wire.Command) -> None:
            await host.take(ID)
            await link.copy(ID)

        link.answer("resume", lambda command: asyncio.ensure_future(resume(command)) and None)
        again = await start(client)
        assert (again.status_code, again.json()["live"]) == (201, True)
        assert len(told(link, "start")) == 1


async def test_what_a_host_refused_may_be_started_on_another(
    served: ServedHub, host: FakeHost, helper: FakeHost
) -> None:
    async with served.client() as client, host.connected() as link:
        starting = asyncio.ensure_future(start(client))
        refused = await link.hear(wire.Command)
        await link.reply(refused, error=record_of(HostRefused("~/shop is not inside /srv")))
        assert code(await starting) == (403, "host_refused")
        await link.say(wire.Facts(facts=msgspec.structs.replace(host.facts, load=0.9)))
        async with helper.connected() as other:
            does_what_it_is_told(other)
            assert (await start(client)).json()["host_name"] == "helper"


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
async def test_an_id_that_a_host_may_have_is_no_other_sessions(served: ServedHub, host: FakeHost) -> None:
    async with served.client() as client:
        async with host.connected() as link:
            starting = asyncio.ensure_future(start(client))
            await begin(host, await link.hear(wire.Command))
        await starting
        for other in ({"host": "build-box"}, {"host": "", "cwd": str(served.directory)}, {"title": "other"}):
            refused = await start(client, **other)
            assert code(refused) == (409, "session_exists"), refused.text
            assert "choose another id" in refused.json()["detail"]
    assert await served.manager.list() == []


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
async def test_a_host_that_was_removed_meanwhile_keeps_what_it_was_given(
    served: ServedHub, host: FakeHost, helper: FakeHost
) -> None:
    async with served.client() as client:
        async with host.connected() as link:
            starting = asyncio.ensure_future(start(client))
            await begin(host, await link.hear(wire.Command))
            await client.delete("/api/hosts/build-box")
            assert code(await starting) == (403, "host_refused")
        async with helper.connected() as other:
            does_what_it_is_told(other)
            assert "was removed" in (await start(client)).json()["detail"]
            assert told(other, "start") == []


@pytest.mark.slow
async def test_one_whose_journal_is_long_in_coming_is_waited_for_by_starting_it_again(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served.client() as client, host.connected() as link:
        with monkeypatch.context() as patch:
            patch.setattr(abroad, "FIRST_COPY", 0.05)
            link.answer("start", lambda command: begin(host, command))
            unseen = await start(client)
            assert code(unseen) == (504, "outcome_unknown")
            assert "runs on build-box, but its journal has not come here yet" in unseen.json()["detail"]
        does_what_it_is_told(link)
        assert (await start(client)).json()["id"] == ID


@pytest.mark.usefixtures("impatient")
async def test_a_host_whose_version_chooses_its_own_ids_is_not_told_again(served: ServedHub, host: FakeHost) -> None:
    """It would start another session each time."""
    host.facts = msgspec.structs.replace(host.facts, starts_once=False)
    async with served.client() as client:
        async with host.connected() as link:
            starting = asyncio.ensure_future(start(client))
            await link.hear(wire.Command)
        assert code(await starting) == (504, "outcome_unknown")
        async with host.connected() as link:
            again = await start(client)
            assert code(again) == (504, "outcome_unknown")
            assert "too old to be told again" in again.json()["detail"]
            assert len(told(link, "start")) <= 1  # what was under way is told again as what it is


async def test_a_host_whose_version_chooses_its_own_ids_starts_sessions_all_the_same(
    served: ServedHub, host: FakeHost
) -> None:
    host.facts = msgspec.structs.replace(host.facts, starts_once=False)
    made = await host.session()
    async with served.client() as client, host.connected() as link:
        link.answer("start", lambda command: {"id": made})
        await link.copy(made)
        answer = await start(client)
        assert (answer.status_code, answer.json()["id"]) == (201, made)
