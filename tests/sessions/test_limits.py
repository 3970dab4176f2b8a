"""Guards of whole sessions: notifications, stalls, budgets, the queue and the restart limit, through the manager."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from handrail.errors import HandrailError, ProcessError, SessionNotLive
from handrail.events.model import Action, AskClosed, AskOpened, Completed, Event, Prompt, Started
from handrail.places import Places
from handrail.protocol.asks import Allow, Ask, Deny
from handrail.protocol.options import Options
from handrail.sessions.guards.activity import StallLimits
from handrail.sessions.guards.notifications import Notify
from handrail.sessions.guards.restarts import RestartLimit
from handrail.sessions.guards.watch import Limits
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store.base import Batch, Lease, MessageRow
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

T = TypeVar("T")
ASKING = sim.tool("Bash", {"command": "ls"}, ask=True)


class Workshop:
    """Managers over one store, and simulated CLIs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.places = Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))

    def manager(self, **settings: Any) -> Manager:
        return Manager.local(self.places, **settings)

    def cli(self, *steps: sim.Step, name: str = "cli") -> Options:
        """Options that start a CLI with these steps; a second one of the same name takes the place of the first."""
        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        return Options(cli_path=str(SimulatedCLI(steps, directory=directory).path), cwd=str(self.directory))


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


async def until(session: Session, kind: type[T], *, after: int = 0, where: Callable[[T], bool] = lambda _: True) -> T:
    async with asyncio.timeout(60), aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind) and where(item):
                return item
    raise AssertionError(f"there was no {kind.__name__}")


async def eventually(condition: Callable[[], Awaitable[T]]) -> T:
    async with asyncio.timeout(60):
        while not (found := await condition()):
            await asyncio.sleep(0.01)
    return found


async def events_of(session: Session) -> list[Event]:
    return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]


async def warnings_of(session: Session) -> list[str]:
    return [event.title for event in await events_of(session) if isinstance(event, Action) and event.kind == "warning"]


# ---------------------------------------------------------------- notifications


class Hook:
    """A webhook on loopback."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        self.bodies.append(json.loads(await reader.readexactly(length)))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    @property
    def kinds(self) -> list[str]:
        return [notice["kind"] for body in self.bodies for notice in body["notices"]]


@pytest.mark.slow
async def test_people_outside_are_told_of_asks_and_of_finished_and_failed_runs(workshop: Workshop) -> None:
    told = workshop.directory / "told"
    hook = Hook()
    server = await asyncio.start_server(hook.serve, "127.0.0.1", 0)
    webhook = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    kinds = ("ask", "finished", "failed")
    rules = [
        Notify(kinds=kinds, command=("sh", "-c", f'cat >> "{told}"; echo >> "{told}"')),
        Notify(kinds=("failed",), webhook=webhook),
        Notify(kinds=kinds, webhook=webhook, details=True),
    ]
    options = workshop.cli(sim.turn(ASKING, "done"), sim.turn(result={"is_error": True, "result": "overloaded"}))
    async with server, workshop.manager(notify=rules) as manager:
        session = await manager.start(options, title="work")
        uuid = await session.send("go")
        opened = await until(session, AskOpened)
        await eventually(lambda: _as_coroutine("permission" in hook.kinds and told.exists()))
        await session.decide(opened.ask_id, Allow(), digest=opened.digest)
        assert (await session.wait(uuid)).ok
        assert not (await session.run("again")).ok
    assert sorted(hook.kinds) == ["failed", "failed", "finished", "permission"]
    (asked,) = (n for body in hook.bodies for n in body["notices"] if n["kind"] == "permission")
    assert (asked["ask_id"], asked["session_title"]) == (opened.ask_id, "work")
    assert asked["detail"]["input"] == {"command": "ls"}
    notices = [n for line in told.read_text().splitlines() for n in json.loads(line)["notices"]]
    assert [notice["kind"] for notice in notices] == ["permission", "finished", "failed"]
    assert all("detail" not in notice for notice in notices)


async def _as_coroutine(value: T) -> T:
    return value


def home_with_conversations(workshop: Workshop) -> Path:
    """The home of somebody who used Claude Code."""
    home = workshop.directory / "home"
    fixtures = Path(__file__).parents[1] / "fixtures" / "claude_projects" / "2.1.325"
    project = home / ".claude" / "projects" / "-work"
    project.mkdir(parents=True)
    for path in fixtures.rglob("*.jsonl"):
        (project / path.name).write_bytes(path.read_bytes())
    return home


async def test_a_conversation_that_is_adopted_several_times_is_one_session(workshop: Workshop) -> None:
    home = home_with_conversations(workshop)
    async with workshop.manager(env={"HOME": str(home)}) as manager:
        wanted = (await manager.adoptable())[0].session_id
        names = (wanted, wanted, wanted[:12])
        adopted = await asyncio.gather(*(manager.adopt(name) for name in names))
        assert len({session.id for session in adopted}) == 1
        assert len(await manager.list()) == 1


async def test_history_that_is_adopted_is_no_news(workshop: Workshop) -> None:
    told = workshop.directory / "told"
    home = home_with_conversations(workshop)
    rules = [Notify(kinds=("ask", "finished", "failed"), command=("touch", str(told)))]
    async with workshop.manager(notify=rules, env={"HOME": str(home)}) as manager:
        found = await manager.adoptable()
        assert found
        for each in found:
            await manager.adopt(each.session_id)
    assert not told.exists()


# ---------------------------------------------------------------- stalls


STALLS = Limits(stall=StallLimits(silence=0.15, tool=0.15))
HANGING = sim.turn("Thinking…", sim.sleep(60))


@pytest.mark.slow
async def test_a_stall_is_told_once_and_the_session_left_alone(workshop: Workshop) -> None:
    async with workshop.manager(limits=STALLS) as manager:
        session = await manager.start(workshop.cli(HANGING))
        await session.send("go")
        warning = await until(session, Action, where=lambda action: action.kind == "warning")
        assert "nothing was heard for" in warning.title
        assert (await session.row()).status == "running"


@pytest.mark.slow
async def test_a_stalled_turn_is_interrupted_if_that_is_wanted(workshop: Workshop) -> None:
    async with workshop.manager(limits=replace(STALLS, on_stall="interrupt")) as manager:
        session = await manager.start(workshop.cli(HANGING, sim.loop_turns("Yes.")))
        done = await session.run("go")
        assert not done.ok
        assert len(await warnings_of(session)) == 1
        assert (await session.run("still there?")).answer == "Yes."


@pytest.mark.slow
async def test_a_stalled_session_is_stopped_if_that_is_wanted(workshop: Workshop) -> None:
    async with workshop.manager(limits=replace(STALLS, on_stall="stop")) as manager:
        session = await manager.start(workshop.cli(HANGING))
        done = await session.run("go")
        assert not done.ok
        await eventually(lambda: _is_stopped(session))
        events = await events_of(session)
        assert len([e for e in events if isinstance(e, Started)]) == len(
            [e for e in events if isinstance(e, Completed)]
        )


async def _is_stopped(session: Session) -> bool:
    return not await session.is_live()


@pytest.mark.slow
async def test_somebody_who_thinks_is_no_stall(workshop: Workshop) -> None:
    async with workshop.manager(limits=STALLS) as manager:
        session = await manager.start(workshop.cli(sim.turn(ASKING, "done")))
        uuid = await session.send("go")
        opened = await until(session, AskOpened)
        await asyncio.sleep(0.4)  # longer than anything may be silent
        await session.decide(opened.ask_id, Allow(), digest=opened.digest)
        assert (await session.wait(uuid)).ok
        assert await warnings_of(session) == []


# ---------------------------------------------------------------- nobody uses it

IDLE = Limits(stall=StallLimits(idle=0.1))


@pytest.mark.slow
async def test_a_session_that_nobody_uses_ends_and_a_message_brings_it_back(workshop: Workshop) -> None:
    async with workshop.manager(limits=IDLE) as manager:
        session = await manager.start(workshop.cli(sim.loop_turns("You said $text.")))
        assert (await session.run("one")).answer == "You said one."
        await eventually(lambda: _is_stopped(session))
        row = await session.row()
        notes = [e.title for e in await events_of(session) if isinstance(e, Action)]
        assert (row.status, [note for note in notes if "a message starts it again" in note]) == ("stopped", notes[-1:])
        assert (await session.run("two")).answer == "You said two."


@pytest.mark.slow
async def test_a_session_whose_program_offers_something_does_not_end_by_itself(workshop: Workshop) -> None:
    async def nobody(ask: Ask) -> None:
        return None

    async with workshop.manager(limits=IDLE) as manager:
        session = await manager.start(workshop.cli(sim.loop_turns("Yes.")), on_ask=nobody)
        other = await manager.start(workshop.cli(sim.loop_turns("Yes.")))
        await session.run("one")
        await other.run("one")
        await eventually(lambda: _is_stopped(other))
        assert await session.is_live()


@pytest.mark.slow
async def test_messages_that_come_just_as_a_session_ends_are_answered(workshop: Workshop) -> None:
    async with workshop.manager(limits=Limits(stall=StallLimits(idle=0.05))) as manager:
        session = await manager.start(workshop.cli(sim.loop_turns("You said $text.")))
        for number in range(25):
            assert (await session.run(str(number))).answer == f"You said {number}."
            await asyncio.sleep(0.04 + number % 5 * 0.01)  # about as long as it may be idle


@pytest.mark.slow
async def test_a_message_that_a_slow_disk_holds_up_keeps_the_session_from_ending(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with workshop.manager(limits=IDLE) as manager:
        session = await manager.start(workshop.cli(sim.loop_turns("You said $text.")))
        append = manager.store.append

        async def slowly(lease: Lease, batch: Batch) -> None:
            if any(message.state == "queued" for message in batch.messages):
                await asyncio.sleep(0.3)  # three times as long as the session may be idle
            await append(lease, batch)

        monkeypatch.setattr(manager.store, "append", slowly)
        assert (await session.run("one")).answer == "You said one."
        assert [start.why for start in await manager.store.starts(session.id)] == ["new", "running"]


# ---------------------------------------------------------------- budgets


def costing(total: float, text: str = "done") -> sim.Step:
    """A turn after which the process has cost so much, as older CLIs say it."""
    return sim.turn(text, result={"total_cost_usd": total})


@pytest.mark.slow
async def test_a_session_budget_holds_messages_until_a_person_allows_more(workshop: Workshop) -> None:
    async with workshop.manager(limits=Limits(session_budget=1.0)) as manager:
        session = await manager.start(workshop.cli(costing(1.5), costing(2.0), costing(2.5)))
        assert (await session.run("one")).ok
        held = await session.send("two")
        opened = await until(session, AskOpened)
        assert (opened.kind, opened.ask["input"]["limit_usd"]) == ("budget", 1.0)
        assert [row.state for row in await manager.store.messages(session.id)] == ["answered", "queued"]
        await session.decide(opened.ask_id, Allow({"limit_usd": 10.0}), digest=opened.digest)
        assert (await session.wait(held)).ok
        assert (await session.row()).cost_usd == pytest.approx(2.0)
        await session.stop()
    # The limit that was raised holds in another process too, and what was spent before counts there.
    workshop.cli(costing(7.0), costing(8.5), costing(9.0))
    async with workshop.manager(limits=Limits(session_budget=1.0)) as manager:
        again = await manager.get(session.id)
        assert (await again.run("three")).ok
        assert (await again.run("four")).ok
        after = (await again.row()).last_seq
        held = await again.send("five")
        opened = await until(again, AskOpened, after=after - 1)
        assert opened.ask["input"] == {"spent_usd": 10.5, "limit_usd": 10.0}
        await again.decide(opened.ask_id, Deny("enough"), digest=opened.digest)
        done = await again.wait(held)
        assert not done.ok
        assert "enough" in str(done.error)
        assert [row.state for row in await manager.store.messages(session.id)][-1] == "dropped"


@pytest.mark.slow
async def test_a_daily_budget_is_shared_by_all_sessions(workshop: Workshop) -> None:
    async with workshop.manager(limits=Limits(daily_budget=1.0)) as manager:
        first = await manager.start(workshop.cli(costing(1.5), costing(2.0)))
        second = await manager.start(workshop.cli(costing(0.1), costing(0.2), name="other"))
        assert (await first.run("one")).ok
        held = await second.send("two")
        opened = await until(second, AskOpened)
        assert (opened.kind, opened.ask["input"]["period"]) == ("budget", "today")
        await second.decide(opened.ask_id, Allow(), digest=opened.digest)
        assert (await second.wait(held)).ok
        closed = await until(first, AskClosed)
        assert closed.outcome == "cancelled", "one yes is enough"
    async with workshop.manager(limits=Limits(daily_budget=1.0)) as manager:  # what was allowed holds all day
        assert (await (await manager.get(first.id)).run("three")).ok


# ---------------------------------------------------------------- the queue


ONE = Limits(concurrent_sessions=1)


async def queued_session(manager: Manager) -> Session:
    async def find() -> Session | None:
        rows = [row for row in await manager.list() if row.status == "queued"]
        return manager.session(rows[0].id) if rows else None

    return await eventually(find)  # type: ignore[arg-type]


@pytest.mark.slow
async def test_a_second_session_waits_until_the_first_has_ended(workshop: Workshop) -> None:
    options = workshop.cli(sim.loop_turns("You said $text."))
    async with workshop.manager(limits=ONE) as manager:
        first = await manager.start(options)
        starting = asyncio.create_task(manager.start(options))
        waiting = await queued_session(manager)
        assert (await first.run("one")).ok
        assert not starting.done()
        await first.stop()
        second = await asyncio.wait_for(starting, 60)
        assert second.id == waiting.id
        assert (await second.run("two")).answer == "You said two."
        assert (await second.row()).status == "idle"
        notes = [event.title for event in await events_of(second) if isinstance(event, Action) and event.kind == "note"]
        assert notes == ["as many sessions run as may: this one waits for its turn"]


@pytest.mark.slow
async def test_a_session_that_waits_can_be_stopped_and_then_never_starts(workshop: Workshop) -> None:
    options = workshop.cli(sim.loop_turns("x"))
    async with workshop.manager(limits=ONE) as manager:
        first = await manager.start(options)
        starting = asyncio.create_task(manager.start(options))
        waiting = await queued_session(manager)
        await waiting.stop()
        with pytest.raises(SessionNotLive, match="stopped before"):
            await asyncio.wait_for(starting, 60)
        assert (await waiting.row()).status == "stopped"
        assert (await waiting.row()).owner is None
        await first.stop()
        third = await asyncio.wait_for(manager.start(options), 60)  # its place in the queue is free again
        assert (await third.run("hi")).ok
        assert await manager.store.starts(waiting.id) == []


@pytest.mark.slow
async def test_closing_the_manager_ends_what_waits_as_well(workshop: Workshop) -> None:
    options = workshop.cli(sim.loop_turns("x"))
    async with workshop.manager(limits=ONE) as manager:
        await manager.start(options)
        starting = asyncio.create_task(manager.start(options))
        waiting = await queued_session(manager)
    with pytest.raises(HandrailError):
        await asyncio.wait_for(starting, 60)
    async with workshop.manager() as manager:
        assert await manager.store.starts(waiting.id) == []
        assert {row.status for row in await manager.list()} == {"stopped"}


# ---------------------------------------------------------------- restarts


async def with_queued_message(workshop: Workshop) -> str:
    """A session that runs no more, with a message that was never sent."""
    async with workshop.manager() as manager:
        session = await manager.start(workshop.cli(sim.loop_turns("You said $text.")))
        await session.run("one")
        await session.stop()
        lease = await manager.store.acquire(session.id, "me", now=1.0)
        await manager.store.append(lease, Batch(messages=[MessageRow(uuid="m2", content=b'"two"', at=2.0)]))
        await manager.store.release(lease)
        return session.id


async def starts_of(manager: Manager, session_id: str) -> list[str]:
    return [row.why for row in await manager.store.starts(session_id) if row.why != "running"]


@pytest.mark.slow
async def test_a_cli_that_died_before_it_got_a_message_is_started_again(workshop: Workshop) -> None:
    session_id = await with_queued_message(workshop)
    workshop.cli(sim.exit(3))
    async with workshop.manager() as manager:
        session = await manager.get(session_id)
        with pytest.raises(ProcessError):
            await session.resume()
        workshop.cli(sim.loop_turns("You said $text."))
        answered = await until(session, Prompt, where=lambda prompt: prompt.uuid == "m2" and prompt.state == "answered")
        assert answered.answered_by == 2
        assert "recovery" in await starts_of(manager, session_id)


@pytest.mark.slow
async def test_a_cli_that_dies_again_and_again_is_left_alone_and_the_journal_says_so(workshop: Workshop) -> None:
    session_id = await with_queued_message(workshop)
    workshop.cli(sim.exit(3))
    limits = Limits(restarts=RestartLimit(restarts=2, window=600))
    async with workshop.manager(limits=limits) as manager:
        session = await manager.get(session_id)
        with pytest.raises(ProcessError):
            await session.resume()
        warning = await until(session, Action, where=lambda action: "left alone" in action.title)
        assert warning.kind == "warning"
        assert "restarted 2 times" in warning.title
        assert (await starts_of(manager, session_id))[2:] == ["recovery", "recovery"]
        assert [row.state for row in await manager.store.messages(session_id, states=("queued",))] == ["queued"]
        assert (await session.row()).status == "failed"
    async with workshop.manager(limits=limits) as manager:  # the count survives this process
        session = await manager.get(session_id)
        with suppress(ProcessError):
            await session.resume()
        after = warning.seq
        await until(session, Action, after=after, where=lambda action: "left alone" in action.title)
        assert (await starts_of(manager, session_id))[2:] == ["recovery", "recovery", "resume"]
        # A person may: what was never sent goes out then.
        workshop.cli(sim.loop_turns("You said $text."))
        await session.resume()
        await until(session, Prompt, where=lambda prompt: prompt.uuid == "m2" and prompt.state == "answered")


# ---------------------------------------------------------------- while it starts


@pytest.mark.slow
async def test_a_message_that_comes_while_the_cli_is_started_is_sent_once(workshop: Workshop) -> None:
    directory = workshop.directory / "slow"
    directory.mkdir()
    answers = {"initialize": sim.Answer.late(seconds=0.2)}
    cli = SimulatedCLI([sim.loop_turns("You said $text.")], directory=directory, answers=answers)
    async with workshop.manager() as manager:
        session = await manager.start(Options(cli_path=str(cli.path), cwd=str(workshop.directory)))
        await session.run("one")
        await session.stop()
        texts = ["a", "b", "c"]
        uuids = await asyncio.gather(*(session.send(text) for text in texts))
        for uuid in uuids:
            assert (await session.wait(uuid)).ok
        got = [line["message"]["content"] for line in cli.received() if line.get("type") == "user"]
        assert sorted(got) == ["a", "b", "c", "one"]


@pytest.mark.slow
async def test_a_message_to_a_session_that_waits_for_its_turn_waits_with_it(workshop: Workshop) -> None:
    options = workshop.cli(sim.loop_turns("You said $text."))
    async with workshop.manager(limits=ONE) as manager:
        first = await manager.start(options)
        starting = asyncio.create_task(manager.start(options))
        waiting = await queued_session(manager)
        uuid = await waiting.send("hi")
        assert [row.state for row in await manager.store.messages(waiting.id)] == ["queued"]
        await first.stop()
        await starting
        assert (await waiting.wait(uuid)).answer == "You said hi."
