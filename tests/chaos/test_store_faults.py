"""The store fails while a session runs: it goes on where it can, and afterwards nothing is missing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import Fenced, StoreError, StoreLocked
from handrail.events.model import AskClosed, Event, Prompt
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.sessions import ask_journal
from handrail.sessions import journal as journal_module
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import Holder
from handrail.sessions.session import Session
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore
from handrail.testing import simulated as sim
from handrail.testing.journal_checks import journal_problems
from handrail.testing.simulated import SimulatedCLI

from .fault_story import PATIENCE, SHORT_PATIENCE, Story, check, store_in, until, warnings_of
from .support import following, places_in

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent / "fault_story.py"
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""


class Lock:
    """Another process that holds the database."""

    def __init__(self, directory: Path) -> None:
        self._path = store_path(places_in(directory))
        self._process: asyncio.subprocess.Process | None = None

    async def begin(self) -> None:
        pipe = asyncio.subprocess.PIPE
        argv = [sys.executable, "-c", HOLD, self._path]
        self._process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe)
        assert self._process.stdout is not None
        assert await self._process.stdout.readline() == b"held\n"

    async def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.communicate(b"")


@pytest.fixture
async def lock(tmp_path: Path) -> AsyncIterator[Lock]:
    lock = Lock(tmp_path)
    yield lock
    await lock.end()


# ---------------------------------------------------------------- faults of the place, in processes of their own


def tell(name: str, directory: Path, before: list[str], after: str = "") -> dict[str, Any]:
    for each in ("cli", "state"):
        (directory / each).mkdir(mode=0o700)
    program = [sys.executable, str(PROGRAM), name, str(directory)]
    argv = [*before, f"{after} exec {' '.join(program)}"] if after else [*before, *program]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def check_told(told: dict[str, Any], reason: str) -> None:
    (refusal,) = told["refusals"]
    assert refusal.startswith("the decision cannot be stored, so it was not taken: ")
    assert reason in refusal
    first, last = told["logged"][0], told["logged"][-1]
    assert "cannot be written now" in first
    assert reason in first
    assert "is being written again" in last
    assert any("the journal could not be written for" in warning and reason in warning for warning in told["warnings"])


@pytest.mark.skipif(sys.platform != "linux", reason="a small file system for a test needs Linux: run it there too")
def test_the_disk_fills_up(tmp_path: Path) -> None:
    namespace = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c"]
    if subprocess.run([*namespace, f"mount -t tmpfs none {tmp_path}"], capture_output=True, check=False).returncode:
        pytest.skip("a small file system needs root or user namespaces: run it as root")
    mount = f"mount -t tmpfs -o size=8m,mode=700 none {tmp_path}/state &&"
    check_told(tell("full", tmp_path, namespace, mount), "free some space")


def test_files_may_not_grow_any_more(tmp_path: Path) -> None:
    check_told(tell("quota", tmp_path, []), "look at the disk and at its quota")


def test_the_directory_becomes_read_only(tmp_path: Path) -> None:
    """What is open stays usable: nobody notices anything."""
    bound_by_permissions = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("permissions mean nothing to root: run it as an ordinary user, or install setpriv")
        bound_by_permissions = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    told = tell("read_only", tmp_path, bound_by_permissions)
    assert told == {"refusals": [], "warnings": [], "logged": []}


# ---------------------------------------------------------------- a database that another process holds


async def test_the_database_is_locked_for_a_while(tmp_path: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_journal, "RECORDING_PATIENCE", SHORT_PATIENCE)
    story = Story(tmp_path, places_in(tmp_path))
    events = await story.live_through(lock.begin, lock.end)
    check(events)
    (refusal,) = story.refusals
    assert refusal.startswith("the decision cannot be stored, so it was not taken: ")
    assert "locked by another process" in refusal
    (warning,) = warnings_of(events)
    assert warning.startswith("the journal could not be written for ")
    assert "locked by another process" in warning


async def test_a_policy_goes_on_deciding_once_its_decisions_can_be_stored(
    tmp_path: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ask_journal, "RECORDING_PATIENCE", SHORT_PATIENCE)
    go = sim.expect("control_request", subtype="set_model")
    asking = sim.turn("first", go, sim.tool("Bash", {"command": "ls"}), "done")
    cli = SimulatedCLI([asking], directory=tmp_path)
    places = places_in(tmp_path)
    async with Manager(store_in(places), places) as manager:
        options = Options(cli_path=str(cli.path), cwd=str(tmp_path))
        session = await manager.start(options, policy=Asked(allow=("Bash(ls:*)",)))
        uuid = await session.send("one")
        await cli.wait_for("user", timeout=PATIENCE)
        await lock.begin()
        await session.set_model("opus")
        await until(lambda: "could not be recorded, and is asked for again" in caplog.text)
        await lock.end()
        assert (await asyncio.wait_for(session.wait(uuid), PATIENCE)).ok
        rows = await session.asks(())
        assert [(row.state, row.surface) for row in rows] == [("sent", "policy")]


class StopStory:
    """A session that is stopped while nothing can be stored, with "three" on its way to the store."""

    def __init__(self, directory: Path, manager: Manager, lock: Lock) -> None:
        self._story = Story(directory, manager.places)
        # Of its own: a simulated CLI begins its script anew, and that of the story asks for more than messages.
        self._next_cli = SimulatedCLI([sim.loop_turns("You said $text.")], directory=directory, name="next")
        self._manager = manager
        self._lock = lock

    async def begin(self) -> Session:
        session = await self._manager.start(self._story.options)
        await session.run("one")
        await session.send("two")
        await self._story.asked(session)
        return session

    async def stop(self, session: Session, why: str) -> None:
        """The fault begins, and the session is stopped; "three" cannot be stored, because of `why`."""
        await self._lock.begin()
        sending = asyncio.create_task(session.send("three"))
        await session.set_model("opus")
        await self._story.cli.wait_for("control_response", request_id="alive")
        await asyncio.wait_for(session.stop(), 30)
        with pytest.raises(StoreError, match=why):
            await sending

    async def go_on(self, session: Session) -> list[str]:
        """The fault ends, and the session goes on; gives what became of its messages."""
        await self._lock.end()
        await self._manager.resume(session.id, cli_path=str(self._next_cli.path))
        assert (await session.run("four")).ok
        events = [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]
        assert journal_problems(events, ended=False) == []
        assert [event.outcome for event in events if isinstance(event, AskClosed)] == ["lost"]
        return [row.state for row in await self._manager.store.messages(session.id)]


async def test_a_session_can_be_stopped_while_nothing_can_be_stored(
    tmp_path: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "CLOSING_PATIENCE", 0.5)
    places = places_in(tmp_path)
    async with asyncio.timeout(PATIENCE), Manager(store_in(places), places) as manager:
        story = StopStory(tmp_path, manager, lock)
        session = await story.begin()
        await story.stop(session, why="locked by another process")
        # The store writes in order: once this has failed, so has what was on its way.
        with pytest.raises(StoreLocked):
            await manager.store.change_session(session.id, title="refused")
        assert await story.go_on(session) == ["answered", "lost", "answered"]


async def test_a_message_that_reaches_the_store_behind_the_stop_is_sent_when_the_session_goes_on(
    tmp_path: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "CLOSING_PATIENCE", 0.5)
    places = places_in(tmp_path)
    patient = SqliteStore(store_path(places), lock_timeout=30)  # what waits for the lock gets it
    async with asyncio.timeout(PATIENCE), Manager(patient, places) as manager:
        story = StopStory(tmp_path, manager, lock)
        session = await story.begin()
        async with following(session) as seen:
            await story.stop(session, why="could not be written in time")
            assert await story.go_on(session) == ["answered", "lost", "answered", "answered"]
            last = (await session.row()).last_seq
            await until(lambda: last in seen)
            assert seen == list(range(1, len(seen) + 1))


async def test_a_session_that_another_process_takes_over_ends_here(tmp_path: Path) -> None:
    story = Story(tmp_path, places_in(tmp_path))
    async with Manager(store_in(story.places), story.places) as manager:
        session = await manager.start(story.options)
        await session.run("one")
        somebody = msgspec.json.encode(Holder(2**22 + 1, started=1.0, socket="/nowhere/handrail.sock")).decode()
        await manager.store.acquire(session.id, somebody, now=time.time(), force=True)
        with pytest.raises(Fenced):
            await session.send("two")
        (launch,) = story.cli.launches()
        await until(lambda: not is_running(launch.pid))
        stored = [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]
        assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
        assert "two" not in [event.content for event in stored if isinstance(event, Prompt)]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
