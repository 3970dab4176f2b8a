"""A session that lives through a fault of the store; run as a program, in a place that is about to become unusable.

python fault_story.py full DIRECTORY       a small file system is mounted there, and fills up
python fault_story.py quota DIRECTORY      files may not grow any more
python fault_story.py read_only DIRECTORY  nothing can be made or removed in the directory of the database
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from handrail.errors import StoreError
from handrail.events.model import Action, AskOpened, Event, Text, Usage
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions import ask_journal
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

FLOOD = 1500
"""Enough to fill every pipe between the CLI and Handrail many times: if nobody read, the CLI would stand still."""
MARK = 777
"""How the frames of the flood are known."""
SAID = {
    "type": "assistant",
    "session_id": "$session",
    "uuid": "$uuid",
    "parent_tool_use_id": None,
    "message": {
        "id": "$uuid",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "one more line"}],
        "stop_reason": None,
        "usage": {"input_tokens": "$index", "output_tokens": MARK},
    },
}
SCRIPT = (
    sim.turn("ready"),
    sim.turn(
        sim.ask("Bash", {"command": "ls"}, request_id="the-ask", wait=False),
        sim.expect("control_request", subtype="set_model"),
        sim.flood(FLOOD, SAID),
        sim.request({"subtype": "are_you_there"}, request_id="alive"),
        sim.expect("control_response", request_id="the-ask"),
        "done",
    ),
    sim.loop_turns("You said $text."),
)
PATIENCE = 60.0
SHORT_PATIENCE = 0.5
"""How long a decision waits for the store here."""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def store_in(places: Places) -> SqliteStore:
    """A store that gives a lock up soon."""
    return SqliteStore(store_path(places), lock_timeout=0.1)


class Story:
    """A session that is asked something, then the fault begins; the CLI goes on, a person answers; the fault ends."""

    def __init__(self, directory: Path, places: Places) -> None:
        self.cli = SimulatedCLI(SCRIPT, directory=directory)
        self.options = Options(cli_path=str(self.cli.path), cwd=str(directory))
        self.places = places
        self.refusals: list[str] = []

    async def live_through(
        self, begin: Callable[[], Awaitable[None]], end: Callable[[], Awaitable[None]], *, fails: bool = True
    ) -> list[Event]:
        """The whole journal, after the fault. `fails` says whether the fault can be noticed at all."""
        async with Manager(store_in(self.places), self.places) as manager:
            session = await manager.start(self.options)
            assert (await session.run("one")).ok
            uuid = await session.send("two")
            opened = await self.asked(session)
            await begin()
            await session.set_model("opus")
            await self.cli.wait_for("control_response", request_id="alive", timeout=PATIENCE)
            if fails:
                await self._refused(session, opened)
            await end()
            await self._decided(session, opened)
            assert (await session.wait(uuid)).ok
            assert (await session.run("three")).answer == "You said three."
            await session.stop()
            assert await manager.store.check() == []
            return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]

    async def asked(self, session: Session) -> AskOpened:
        async with asyncio.timeout(PATIENCE), aclosing(session.subscribe(deltas=False)) as items:
            async for item in items:
                if isinstance(item, AskOpened):
                    return item
        raise AssertionError("nothing was asked")

    async def _refused(self, session: Session, opened: AskOpened) -> None:
        """While it cannot be stored, a decision is not taken, and the ask stays open."""
        try:
            await session.decide(opened.ask_id, Allow(), digest=opened.digest)
        except StoreError as error:
            self.refusals.append(str(error))
        else:
            raise AssertionError("a decision was taken that could not be stored")
        assert [row.state for row in await session.asks()] == ["pending"]
        assert self.cli.find("control_response", request_id="the-ask") is None

    async def _decided(self, session: Session, opened: AskOpened) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await session.decide(opened.ask_id, Allow(), digest=opened.digest)
                except StoreError:  # the journal has not noticed yet that the fault is gone
                    continue
                return


def check(events: list[Event]) -> None:
    """Nothing is missing, nothing is out of order."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    said = [event.text for event in events if isinstance(event, Text)]
    assert said == ["ready", *["one more line"] * FLOOD, "done", "You said three."]
    numbered = [event.context_tokens for event in events if isinstance(event, Usage) and event.output_tokens == MARK]
    assert numbered[1:] == list(range(1, FLOOD))  # the first has no tokens, and tells those before it


def warnings_of(events: list[Event]) -> list[str]:
    return [event.title for event in events if isinstance(event, Action) and event.kind == "warning"]


# ---------------------------------------------------------------- faults of the place


class FullDisk:
    def __init__(self, state: Path) -> None:
        self._filler = state / "filler"

    async def begin(self) -> None:
        with self._filler.open("wb", buffering=0) as file:
            for size in (65536, 512):
                self._write_until_full(file.fileno(), size)

    @staticmethod
    def _write_until_full(file: int, size: int) -> None:
        try:
            while os.write(file, bytes(size)):
                pass
        except OSError:
            return

    async def end(self) -> None:
        self._filler.unlink()


class Quota:
    def __init__(self, state: Path) -> None:
        self._state = state

    async def begin(self) -> None:
        largest = max(path.stat().st_size for path in self._state.glob("handrail.db*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 1000, resource.RLIM_INFINITY))

    async def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class ReadOnly:
    def __init__(self, state: Path) -> None:
        self._state = state

    async def begin(self) -> None:
        self._state.chmod(0o500)
        try:
            (self._state / "probe").touch()
        except PermissionError:
            return
        raise AssertionError("the directory can be written all the same")

    async def end(self) -> None:
        self._state.chmod(0o700)


FAULTS = {"full": FullDisk, "quota": Quota, "read_only": ReadOnly}


def main() -> None:
    name, directory = sys.argv[1], Path(sys.argv[2])
    ask_journal.RECORDING_PATIENCE = SHORT_PATIENCE
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("handrail.journal").addHandler(handler)
    places = Places(*(str(directory / each) for each in ("config", "state", "cache", "run")))
    story = Story(directory / "cli", places)
    fault = FAULTS[name](directory / "state")
    events = asyncio.run(story.live_through(fault.begin, fault.end, fails=name != "read_only"))
    check(events)
    json.dump({"refusals": story.refusals, "warnings": warnings_of(events), "logged": logged}, sys.stdout)


if __name__ == "__main__":
    main()
