"""A host with the real hub: sessions are started, followed and answered through its API, and outlive its restarts."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from handrail.errors import HostRefused
from handrail.host.enrolling import enrol
from handrail.host.identity import save_identity
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import ServedHub
from .fleet import Fleet, fleet, heard, hub_behind, identity_of, is_there, said, same_journal, says, says_there
from .middle import middle
from .support import ASKS, ECHO, eventually, host_manager, made, places_in, running_host


@pytest.mark.slow
async def test_a_session_is_started_on_a_host_and_followed_on_the_hub(tmp_path: Path) -> None:
    async with fleet(tmp_path, *ECHO) as all_of_it:
        session = await all_of_it.start(prompt="hello")
        _, text = await heard(all_of_it.served, session)
        assert text == "You said hello."
        async with all_of_it.served.client() as owner:
            shown = (await owner.get(f"/api/sessions/{session}")).json()
        assert shown["host_name"] == "box"
        assert await all_of_it.host.manager.session(session).is_live()


@pytest.mark.slow
async def test_what_is_written_there_is_seen_on_the_hub_word_by_word(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    async with fleet(tmp_path, sim.loop_turns(sim.say(words, pause=0.05))) as all_of_it:
        session = await all_of_it.start(prompt="talk")
        pieces, text = await heard(all_of_it.served, session)
        assert text == words
        assert len(pieces) > 3
        assert words.startswith("".join(pieces))


@pytest.mark.slow
async def test_what_is_asked_there_is_answered_on_the_hub(tmp_path: Path) -> None:
    async with fleet(tmp_path, *ASKS) as all_of_it:
        served = all_of_it.served
        session = await all_of_it.start(prompt="clean up")
        (ask,) = await eventually(lambda: served.manager.session(session).asks())
        answer = {"answer": {"type": "allow"}, "digest": ask.digest}
        await all_of_it.post(f"/api/asks/{session}/{ask.id}/answer", **answer)
        await eventually(lambda: says(served, session, "All clean."))
        again = await all_of_it.post(f"/api/asks/{session}/{ask.id}/answer", expect=409, **answer)
        assert again["code"] == "already_decided"


@pytest.mark.slow
async def test_a_cut_in_the_middle_of_a_run_loses_nothing(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(30))
    async with fleet(tmp_path, sim.loop_turns(sim.say(words, pause=0.05))) as all_of_it:
        served, line = all_of_it.served, all_of_it.line
        session = await all_of_it.start(prompt="talk")
        line.cut()
        await eventually(lambda: says_there(all_of_it.host, session, words))
        assert not await says(served, session, words)
        line.lead_to(served.url)
        await eventually(lambda: says(served, session, words))
        here, there = served.manager.store, all_of_it.host.manager.store
        await eventually(lambda: same_journal(here, there, session))


@pytest.mark.slow
async def test_an_event_of_many_megabytes_arrives_and_holds_nothing_up(tmp_path: Path) -> None:
    size = 40 * 1024 * 1024
    steps = (sim.turn(sim.huge(size), "There."), sim.loop_turns("You said $text."))
    async with fleet(tmp_path, *steps) as all_of_it:
        session = await all_of_it.start(prompt="much")
        await eventually(lambda: says(all_of_it.served, session, "There."))
        assert max(map(len, await said(all_of_it.served, session))) > size - 10_000
        assert [news.kind for news in all_of_it.host.news] == ["connecting", "connected"]


@pytest.mark.slow
async def test_a_hub_that_was_put_back_to_an_older_state_catches_up(tmp_path: Path) -> None:
    state, backup = tmp_path / "hub", tmp_path / "backup"
    async with middle() as line:
        async with hub_behind(line, state) as served:
            identity = await identity_of(served, line)
        async with running_host(made(tmp_path / "host"), line.url, key=identity.key) as host:
            async with hub_behind(line, state) as served:
                await eventually(lambda: is_there(served))
                old = await Fleet(served, host, line).start(prompt="one")
                await eventually(lambda: says(served, old, "You said one."))
            shutil.copytree(state, backup)
            async with hub_behind(line, state) as served:
                await eventually(lambda: is_there(served))
                new = await Fleet(served, host, line).start(prompt="new")
                await Fleet(served, host, line).post(f"/api/sessions/{old}/messages", content="two")
                await eventually(lambda: says(served, old, "You said two."))
            shutil.rmtree(state)
            shutil.copytree(backup, state)
            async with hub_behind(line, state) as served:
                await eventually(lambda: is_there(served))
                await eventually(lambda: same_journal(served.manager.store, host.manager.store, new))
                await Fleet(served, host, line).post(f"/api/sessions/{old}/messages", content="three")
                await eventually(lambda: says(served, old, "You said three."))
                assert await said(served, old) == ["You said one.", "You said two.", "You said three."]
                assert await same_journal(served.manager.store, host.manager.store, old)
                assert {row.id for row in await served.manager.list()} == {old, new}


@pytest.mark.slow
async def test_a_copied_disk_that_is_enrolled_anew_brings_nothing_of_the_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        box = await identity_of(served, line, "box")
        async with running_host(made(tmp_path / "host"), line.url, key=box.key) as host:
            await host.told("connected")
            theirs = await Fleet(served, host, line).start(prompt="hello")
            await eventually(lambda: says(served, theirs, "You said hello."))
        shutil.copytree(tmp_path / "host", tmp_path / "clone")
        clone = await identity_of(served, line, "clone")
        async with running_host(tmp_path / "clone", line.url, key=clone.key) as host:
            await host.told("connected")
            await host.manager.resume(theirs)
            own = await Fleet(served, host, line).start(prompt="who am I?", host="clone")
            await eventually(lambda: says(served, own, "You said who am I?."))
        assert (await served.manager.session(theirs).row()).host == box.host_id
        assert "1 sessions that are not its own" in caplog.text
        assert "is not copied now" not in caplog.text


@pytest.mark.slow
async def test_a_lost_connection_leaves_nothing_behind(tmp_path: Path) -> None:
    async with fleet(tmp_path) as all_of_it:
        session = await all_of_it.start(prompt="hello")
        await eventually(lambda: says(all_of_it.served, session, "You said hello."))
        await _cut_and_mended(all_of_it, times=3)
        before = await _in_use()
        await _cut_and_mended(all_of_it, times=12)
        await eventually(lambda: _is_no_more_than(before))


async def _cut_and_mended(all_of_it: Fleet, *, times: int) -> None:
    for _ in range(times):
        all_of_it.host.news.clear()
        all_of_it.line.cut()
        all_of_it.line.lead_to(all_of_it.served.url)
        await all_of_it.host.told("connected")


async def _in_use() -> tuple[int, int]:
    """Tasks and open files, of the host and of the hub."""
    return len(asyncio.all_tasks()), len(os.listdir("/dev/fd"))


async def _is_no_more_than(before: tuple[int, int]) -> bool:
    tasks, files = await _in_use()
    return tasks <= before[0] and files <= before[1] + 2  # the store may have opened another reader


@pytest.mark.slow
async def test_a_hub_that_restarts_does_not_touch_what_runs(tmp_path: Path) -> None:
    async with middle() as line, host_manager(made(tmp_path / "host")) as manager:
        async with hub_behind(line, tmp_path / "hub") as served:
            identity = await identity_of(served, line)
            host_is_up = running_host(tmp_path / "host", line.url, *ASKS, key=identity.key, manager=manager)
            host = await host_is_up.__aenter__()
            await host.told("connected")
            session = await Fleet(served, host, line).start(prompt="clean up")
            (ask,) = await eventually(lambda: served.manager.session(session).asks())
        try:
            assert await manager.session(session).is_live()
            async with hub_behind(line, tmp_path / "hub") as served:
                await eventually(lambda: is_there(served))
                answer = {"answer": {"type": "allow"}, "digest": ask.digest}
                fleet_again = Fleet(served, host, line)
                await fleet_again.post(f"/api/asks/{session}/{ask.id}/answer", **answer)
                await eventually(lambda: says(served, session, "All clean."))
                assert {start.why for start in await manager.store.starts(session)} <= {"new", "running"}
        finally:
            await host_is_up.__aexit__(None, None, None)


@pytest.mark.slow
async def test_a_host_that_is_killed_says_afterwards_what_was_lost(tmp_path: Path) -> None:
    directory = made(tmp_path / "host")
    made(directory / "projects")
    cli = SimulatedCLI(ASKS, directory=made(directory / "cli"))
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        save_identity(places_in(directory).state, await identity_of(served, line))
        first = await process(directory, cli)
        try:
            await eventually(lambda: is_there(served))
            body = {"cwd": str(directory / "projects"), "host": "box", "prompt": "clean up"}
            async with served.client() as owner:
                session = (await owner.post("/api/sessions", json=body)).json()["id"]
            await eventually(lambda: served.manager.session(session).asks())
        finally:
            first.send_signal(signal.SIGKILL)
            await first.wait()
        row = await served.manager.session(session).row()
        assert row.owner  # nobody knows better before the host is back
        second = await process(directory, cli)
        try:
            await eventually(lambda: is_over(served, session))
            assert not await served.manager.session(session).asks()
        finally:
            second.terminate()
            await second.wait()


async def process(directory: Path, cli: SimulatedCLI) -> asyncio.subprocess.Process:
    script = Path(__file__).with_name("host_main.py")
    return await asyncio.create_subprocess_exec(sys.executable, str(script), str(directory), str(cli.path))


async def is_over(served: ServedHub, session: str) -> bool:
    row = await served.manager.session(session).row()
    return row.owner is None and row.status in ("stopped", "failed")


@pytest.mark.slow
async def test_the_owner_of_the_host_has_the_last_word(tmp_path: Path) -> None:
    async with fleet(tmp_path) as all_of_it:
        for refused in ({"cwd": "/"}, {"mode": "bypassPermissions"}, {"policy": "trusted"}):
            body = {"cwd": str(all_of_it.host.projects), "host": "box", **refused}
            answer = await all_of_it.post("/api/sessions", expect=403, **body)
            assert answer["code"] == "host_refused"
        assert await all_of_it.host.manager.list() == []


@pytest.mark.slow
async def test_a_revoked_host_ends(tmp_path: Path) -> None:
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        identity = await identity_of(served, line)
        directory = made(tmp_path / "host")
        async with running_host(directory, line.url, key=identity.key) as host:
            await host.told("connected")
            async with served.client() as owner:
                assert (await owner.delete(f"/api/hosts/{identity.host_id}")).status_code < 300
            await eventually(host.running.done)
            assert "enrol it again" in str(host.running.exception())


async def test_a_code_is_good_for_one_host(tmp_path: Path) -> None:
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        async with served.client() as owner:
            code = (await owner.post("/api/hosts/enrolments", json={})).json()["code"]
        assert (await enrol(line.url, code, "box")).name == "box"
        with pytest.raises(HostRefused):
            await enrol(line.url, code, "another")
