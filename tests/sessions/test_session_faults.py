"""What goes wrong around a live session: callers who leave, stores that fail, starts and stops that meet, crashes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from handrail.errors import AskClosed, HandrailError, LocalProtocolError, SessionNotLive, StaleDigest, StoreFull
from handrail.events.codec import encode_event
from handrail.events.model import AskClosed as AskClosedEvent
from handrail.events.model import AskOpened, Compacting, Completed, Event, Hook, ProcessExited, Prompt, Started
from handrail.places import Places
from handrail.policy.answers.plan import ApproveInFreshContext
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions import ask_journal
from handrail.sessions.asks import Actor
from handrail.sessions.guards.watch import Limits
from handrail.sessions.hooks import hook
from handrail.sessions.manager import Manager
from handrail.sessions.owning.owner_link import OwnerLink
from handrail.sessions.session import Session
from handrail.store.base import Batch, DecisionRow, EventRow, Lease, RunRow, SessionRow
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.process_tree import MARKER_VARIABLE

ALICE = Actor("alice", "terminal")
FROM_ELSEWHERE = Actor("alice", "attach")
ASKING = sim.tool("Bash", {"command": "ls"}, ask=True)
OWNER = Path(__file__).parent / "owner_program.py"
GONE = '{"pid": 4194305, "started": 1.0, "socket": "/nowhere/owner.sock"}'
"""The owner of a session that is dead."""
SOON = 30.0

T = TypeVar("T")


@dataclass
class Play:
    """A simulated CLI, and options that start it."""

    cli: SimulatedCLI
    options: Options

    def initialized(self) -> list[dict[str, Any]]:
        """The initialize request of each start."""
        return [line["request"] for line in self.cli.received() if line.get("type") == "control_request"]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Play]:
    counter = iter(range(100))

    def make(*steps: sim.Step, **settings: Any) -> Play:
        directory = tmp_path / f"cli{next(counter)}"
        directory.mkdir()
        cli = SimulatedCLI(steps or None, directory=directory, **settings)
        return Play(cli, Options(cli_path=str(cli.path), cwd=str(tmp_path)))

    return make


async def events_of(session: Session) -> list[Event]:
    return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]


async def first(session: Session, kind: type[T], after: int = 0) -> T:
    async with asyncio.timeout(SOON), aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind):
                return item
    raise AssertionError(f"there was no {kind.__name__}")


async def eventually(condition: Callable[[], Awaitable[T]]) -> T:
    async with asyncio.timeout(SOON):
        while not (found := await condition()):
            await asyncio.sleep(0.005)
    return found


async def with_status(manager: Manager, status: str) -> Session:
    async def found() -> list[Any]:
        return [row for row in await manager.list() if row.status == status]

    return await manager.get((await eventually(found))[0].id)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def message_states(manager: Manager, session: Session) -> list[str]:
    return [row.state for row in await manager.store.messages(session.id)]


@asynccontextmanager
async def owner(directory: Path, *steps: sim.Step) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Another process that owns a session, and the session's id."""
    cli_directory = directory / "cli"
    cli_directory.mkdir()
    cli = SimulatedCLI(steps, directory=cli_directory)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(OWNER), str(directory), str(cli.path), str(directory), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), SOON)
        yield process, line.decode().strip()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        await process.wait()


# ---------------------------------------------------------------- stopping


@pytest.mark.slow
async def test_a_stop_is_seen_through_if_whoever_asked_for_it_goes_away(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await manager.start(play(sim.turn(sim.sleep(2)), answers={"interrupt": sim.Answer.never()}).options)
    await session.send("go")
    await first(session, Started)
    monkeypatch.setattr("handrail.sessions.engine.INTERRUPT_PATIENCE", 0.5)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await session.stop()
    async with asyncio.timeout(SOON):
        assert not await session.is_live()
    assert (await session.row()).status == "stopped"


@pytest.mark.slow
async def test_a_session_stops_although_nothing_can_be_stored(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.sessions.journal.CLOSING_PATIENCE", 0.5)
    session = await manager.start(play(sim.loop_turns("x")).options)
    append, failed = manager.store.append, asyncio.Event()

    async def full(lease: Lease, batch: Batch) -> None:
        failed.set()
        raise StoreFull("no space left")

    monkeypatch.setattr(manager.store, "append", full)
    sending = asyncio.create_task(session.send("hello"))
    await failed.wait()
    async with asyncio.timeout(SOON):
        await session.stop()
        with pytest.raises(HandrailError):
            await sending
    monkeypatch.setattr(manager.store, "append", append)
    assert not await session.is_live()


@pytest.mark.slow
async def test_a_session_that_is_stopped_in_the_queue_leaves_it_and_takes_no_seat(places: Places, play: Any) -> None:
    async with Manager.local(places, limits=Limits(concurrent_sessions=1)) as manager, asyncio.timeout(SOON):
        running = await manager.start(play(sim.loop_turns("x")).options)
        starting = asyncio.create_task(manager.start(play(sim.loop_turns("x")).options))
        await (await with_status(manager, "queued")).stop()
        with pytest.raises(SessionNotLive, match="stopped"):
            await starting
        await running.stop()
        await manager.start(play(sim.loop_turns("x")).options)


async def test_a_session_that_is_stopped_while_its_cli_starts_leaves_nothing(manager: Manager, play: Any) -> None:
    slow = play(answers={"initialize": sim.Answer.late(seconds=60)})
    starting = asyncio.create_task(manager.start(slow.options))
    await slow.cli.wait_for("control_request", subtype="initialize")
    (row,) = await manager.list()
    async with asyncio.timeout(SOON):
        await (await manager.get(row.id)).stop()
        with pytest.raises(SessionNotLive, match="stopped"):
            await starting
    assert not is_running(slow.cli.launches()[0].pid)
    row = await (await manager.get(row.id)).row()
    assert (row.owner, row.status) == (None, "stopped")


@pytest.mark.slow
async def test_a_session_that_is_stopped_between_two_clis_leaves_none(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan is approved in a fresh context, and the session is stopped while the first CLI ends."""
    planning = play(sim.turn(sim.ask("ExitPlanMode", {"plan": "1. Bake"})))
    session = await manager.start(planning.options)
    await session.send("plan it")
    opened = await first(session, AskOpened)
    release = manager.store.release

    async def slowly(lease: Lease) -> None:
        await asyncio.sleep(0.5)
        await release(lease)

    monkeypatch.setattr(manager.store, "release", slowly)
    await session.decide(opened.ask_id, ApproveInFreshContext("acceptEdits"), actor=ALICE, digest=opened.digest)
    await first(session, Completed)
    await session.stop()
    assert not await session.is_live()
    assert not [launch.pid for launch in planning.cli.launches() if is_running(launch.pid)]


@pytest.mark.slow
async def test_a_second_cli_leaves_the_recording_of_the_first_as_it_is(
    manager: Manager, play: Any, tmp_path: Path
) -> None:
    recording = tmp_path / "session.jsonl"
    planning = play(sim.turn(sim.ask("ExitPlanMode", {"plan": "1. Bake"})))
    session = await manager.start(planning.options, record=recording)
    await session.send("plan it")
    opened = await first(session, AskOpened)
    await session.decide(opened.ask_id, ApproveInFreshContext("acceptEdits"), actor=ALICE, digest=opened.digest)
    await planning.cli.wait_for("user", content="Implement the following plan:\n\n1. Bake")
    assert "plan it" in recording.read_text()


async def test_a_start_that_a_closed_manager_overtakes_comes_to_an_end(
    places: Places, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, closed = asyncio.Event(), asyncio.Event()
    async with Manager.local(places) as manager:
        runs = manager.store.runs

        async def slowly(session_id: str) -> list[RunRow]:
            found = await runs(session_id)
            waiting.set()
            await closed.wait()
            return found

        monkeypatch.setattr(manager.store, "runs", slowly)
        starting = asyncio.create_task(manager.start(play().options))
        await waiting.wait()
    closed.set()
    async with asyncio.timeout(SOON):
        with pytest.raises(HandrailError):
            await starting


# ---------------------------------------------------------------- messages


@pytest.mark.slow
async def test_a_message_that_comes_while_the_cli_starts_is_sent_once(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = play(sim.loop_turns("You said $text."), answers={"initialize": sim.Answer.late(seconds=0.3)})
    session = await manager.start(echo.options)
    await session.run("one")
    await session.stop()
    append, started = manager.store.append, asyncio.Event()

    async def hold(lease: Lease, batch: Batch) -> None:
        if any(row.state == "sent" for row in batch.messages):
            await started.wait()
        await append(lease, batch)

    monkeypatch.setattr(manager.store, "append", hold)
    resuming = asyncio.create_task(session.resume())

    async def launched_again() -> bool:
        return len(echo.cli.launches()) > 1

    await eventually(launched_again)
    uuid = await session.send("two")
    await resuming
    started.set()
    async with asyncio.timeout(SOON):
        assert (await session.wait(uuid)).answer == "You said two."
    await session.run("three")
    assert await message_states(manager, session) == ["answered"] * 3


@pytest.mark.slow
async def test_a_message_to_a_session_that_waits_for_its_turn_is_kept(places: Places, play: Any) -> None:
    async with Manager.local(places, limits=Limits(concurrent_sessions=1)) as manager, asyncio.timeout(SOON):
        running = await manager.start(play(sim.loop_turns("x")).options)
        starting = asyncio.create_task(manager.start(play(sim.loop_turns("You said $text.")).options))
        session = await with_status(manager, "queued")
        uuid = await session.send("early")
        await running.stop()
        await starting
        assert (await session.wait(uuid)).answer == "You said early."


async def test_a_message_counts_as_sent_before_the_cli_gets_it(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash in between it is lost, and said to be: sent again, the CLI would drop it without a word."""
    echo = play(sim.loop_turns("x"))
    session = await manager.start(echo.options)
    append, held, go_on = manager.store.append, asyncio.Event(), asyncio.Event()

    async def hold(lease: Lease, batch: Batch) -> None:
        if any(row.state == "sent" for row in batch.messages):
            held.set()
            await go_on.wait()
        await append(lease, batch)

    monkeypatch.setattr(manager.store, "append", hold)
    uuid = await session.send("hello")
    await asyncio.wait_for(held.wait(), SOON)
    await session.set_permission_mode("default")  # whatever was written before has arrived with this
    assert echo.cli.find("user") is None
    go_on.set()
    assert (await session.wait(uuid)).ok


@pytest.mark.slow
async def test_the_same_message_is_taken_once(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")).options)
    uuid = await session.send("hello")
    await session.wait(uuid)
    assert await session.send("hello", uuid=uuid) == uuid
    await session.stop()
    assert await session.send("hello", uuid=uuid) == uuid
    assert await message_states(manager, session) == ["answered"]
    assert [event.state for event in await events_of(session) if isinstance(event, Prompt)].count("queued") == 1


@pytest.mark.slow
@pytest.mark.parametrize("content", [5, None, {"text": "x"}, "half a pair \ud800"])
async def test_what_cannot_be_a_message_is_refused_at_once(manager: Manager, play: Any, content: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")).options)
    with pytest.raises(LocalProtocolError, match="message"):
        await session.send(content)
    assert (await session.run("go on")).ok


@pytest.mark.slow
async def test_a_session_that_is_restarted_by_itself_keeps_the_hooks_of_its_program(
    manager: Manager, play: Any
) -> None:
    @hook("Stop")
    async def at_the_end(event: Any) -> None:
        """What the program wants to know."""

    dying = play(sim.turn("x", result={"total_cost_usd": 2.0}), sim.sleep(0.5), sim.exit(3))
    session = await manager.start(dying.options, hooks=[at_the_end], budget=1.0)
    await session.run("one")
    await session.send("two")  # waits until somebody allows more, so the CLI never gets it
    await first(session, ProcessExited)

    async def restarted() -> bool:
        return len([request for request in dying.initialized() if request["subtype"] == "initialize"]) > 1

    await eventually(restarted)
    assert all("Stop" in request["hooks"] for request in dying.initialized() if request["subtype"] == "initialize")


# ---------------------------------------------------------------- decisions


@pytest.mark.slow
async def test_a_decision_that_takes_long_to_store_is_still_sent(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_journal, "RECORDING_PATIENCE", 0.05)
    session = await manager.start(play(sim.turn(ASKING, "done")).options)
    uuid = await session.send("go")
    opened = await first(session, AskOpened)
    decide = manager.store.decide

    async def slowly(row: DecisionRow) -> None:
        await asyncio.shield(asyncio.create_task(later(row)))

    async def later(row: DecisionRow) -> None:
        await asyncio.sleep(0.2)
        await decide(row)

    monkeypatch.setattr(manager.store, "decide", slowly)
    await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest)
    async with asyncio.timeout(SOON):
        assert (await session.wait(uuid)).ok


async def lost_ask(manager: Manager, play: Any) -> tuple[Session, AskOpened]:
    session = await manager.start(play(sim.loop_turns(ASKING, "done")).options)
    await session.send("go")
    opened = await first(session, AskOpened)
    await session.stop()
    return session, opened


@pytest.mark.slow
async def test_an_answer_to_a_lost_ask_from_elsewhere_names_what_was_shown(manager: Manager, play: Any) -> None:
    session, opened = await lost_ask(manager, play)
    with pytest.raises(StaleDigest, match="must carry the digest"):
        await session.decide(opened.ask_id, Allow(), actor=FROM_ELSEWHERE, resume=True)
    assert [row.state for row in await session.asks(())] == ["lost"]


@pytest.mark.slow
async def test_an_answer_to_a_lost_ask_and_what_claude_is_told_are_stored_together(
    manager: Manager, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever answers may go away, and Handrail end, at any moment: the answer is not lost, nor given twice."""
    session, opened = await lost_ask(manager, play)
    await session.resume()
    append, batches, held = manager.store.append, [], asyncio.Event()

    async def hold(lease: Lease, batch: Batch) -> None:
        if any(row.state == "resumed" for row in batch.asks):
            batches.append(batch)
            held.set()
            await asyncio.sleep(0.1)
        await append(lease, batch)

    monkeypatch.setattr(manager.store, "append", hold)
    answering = asyncio.create_task(
        session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest, resume=True)
    )
    await asyncio.wait_for(held.wait(), SOON)
    answering.cancel()
    with pytest.raises(AskClosed):
        await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest, resume=True)
    assert [len(batch.messages) for batch in batches] == [1]
    (answered,) = [e for e in await events_of(session) if isinstance(e, AskClosedEvent) and e.outcome == "resumed"]
    assert (await first(session, Completed, after=answered.seq)).ok


ESCALATE = """
import asyncio, sys
from handrail.errors import HandrailError
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager

async def attempt(call):
    try:
        await call
    except HandrailError as error:
        return type(error).__name__
    return "done"

async def main(root, session_id, ask_id, digest):
    async with Manager.local(Places(*(f"{root}/{name}" for name in ("config", "state", "cache", "run")))) as manager:
        session = await manager.get(session_id)
        print(await attempt(session.set_permission_mode("acceptEdits")))
        print(await attempt(session.control("set_permission_mode", mode="acceptEdits")))
        actor = Actor("claude", "attach")
        print(await attempt(session.decide(ask_id, Allow(), actor=actor, digest=digest, resume=True)))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
async def test_what_a_session_starts_can_neither_answer_nor_change_what_it_may_do(
    manager: Manager, play: Any, tmp_path: Path
) -> None:
    session, opened = await lost_ask(manager, play)
    await session.resume()
    start = (await manager.store.starts(session.id))[-1]

    async def attempted(**variables: str) -> list[str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", ESCALATE, str(tmp_path), session.id, opened.ask_id, opened.digest),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **variables},
        )
        output, _ = await process.communicate()
        return output.decode().split()

    assert await attempted(**{MARKER_VARIABLE: start.marker}) == ["SelfApproval"] * 3
    assert await attempted() == ["done"] * 3


# ---------------------------------------------------------------- several processes


@pytest.mark.slow
async def test_a_stopped_owner_keeps_nobody_from_other_sessions(tmp_path: Path, places: Places) -> None:
    """Somebody pressed ctrl+z in another terminal: its process lives, and answers nobody."""
    async with owner(tmp_path, sim.loop_turns("x")) as (process, session_id):
        process.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(5), Manager.local(places) as manager:
            assert [row.id for row in await manager.list()] == [session_id]
            assert (await manager.list())[0].owner is not None


@pytest.mark.slow
async def test_an_answer_resumes_a_session_whose_owner_has_just_died(tmp_path: Path, places: Places) -> None:
    async with (
        owner(tmp_path, sim.loop_turns(ASKING, "done")) as (process, session_id),
        Manager.local(places) as manager,
    ):
        session = await manager.get(session_id)
        opened = await first(session, AskOpened)
        process.kill()
        await process.wait()
        await session.decide(opened.ask_id, Allow(), actor=FROM_ELSEWHERE, digest=opened.digest, resume=True)
        assert (await session.asks(()))[0].state == "resumed"


@pytest.mark.slow
async def test_two_who_resume_a_session_at_once_share_it(places: Places, play: Any) -> None:
    async with Manager.local(places) as here, Manager.local(places) as there, asyncio.timeout(SOON):
        one = await here.start(play(sim.loop_turns("You said $text.")).options)
        await one.run("first")
        await one.stop()
        two = await there.get(one.id)
        answers = await asyncio.gather(one.run("second"), two.run("third"))
        assert [done.answer for done in answers] == ["You said second.", "You said third."]
        assert await one.is_mine() is not await two.is_mine()


@pytest.mark.slow
async def test_whoever_recovered_a_session_sees_what_others_do_with_it(places: Places, play: Any) -> None:
    async with Manager.local(places) as first_owner:
        session = await first_owner.start(play(sim.loop_turns("x")).options)
        await session.run("one")
        await session.stop()
        await first_owner.store.acquire(session.id, GONE, now=0.0, force=True)
    async with Manager.local(places) as onlooker, Manager.local(places) as other:
        seen = await onlooker.get(session.id)
        assert isinstance((await events_of(seen))[-1], ProcessExited)
        await (await other.get(session.id)).run("two")
        assert len((await seen.view()).runs) == 2


async def test_hooks_and_a_compaction_that_a_dead_owner_left_open_are_closed(places: Places, tmp_path: Path) -> None:
    async with Manager.local(places) as manager:
        row = SessionRow(id="5" * 32, cwd=str(tmp_path), created_at=1.0, updated_at=1.0)
        await manager.store.create_session(row)
        lease = await manager.store.acquire(row.id, GONE, now=1.0)
        begun = [Hook(seq=1, at=1.0, id="h", phase="started"), Compacting(seq=2, at=1.0, phase="started")]
        rows = [
            EventRow(seq=event.seq, at=1.0, type=kind, body=encode_event(event))
            for event, kind in zip(begun, ("hook", "compacting"), strict=True)
        ]
        await manager.store.append(lease, Batch(events=rows))
    async with Manager.local(places) as manager:
        _, _, hook_ended, compaction_ended, exited = await events_of(await manager.get(row.id))
    assert isinstance(hook_ended, Hook)
    assert (hook_ended.id, hook_ended.phase, hook_ended.ok) == ("h", "completed", False)
    assert isinstance(compaction_ended, Compacting)
    assert compaction_ended.phase == "failed"
    assert isinstance(exited, ProcessExited)


async def test_many_who_look_at_once_share_one_connection(
    places: Places, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    links: list[OwnerLink] = []
    open_link = OwnerLink.open

    async def opened(address: str) -> OwnerLink:
        links.append(await open_link(address))
        return links[-1]

    monkeypatch.setattr(OwnerLink, "open", opened)
    async with Manager.local(places) as other, Manager.local(places) as manager:
        session = await manager.start(play(sim.loop_turns("x")).options)
        handle = await other.get(session.id)
        assert all(await asyncio.gather(*(handle.is_live() for _ in range(8))))
        assert [link.is_open for link in links].count(True) == 1


# ---------------------------------------------------------------- the conversation that the CLI keeps


@pytest.mark.slow
async def test_a_fork_that_was_stopped_before_its_first_message_is_still_a_fork(manager: Manager, play: Any) -> None:
    echo = play(sim.loop_turns("x"))
    parent = await manager.start(echo.options)
    await parent.run("one")
    fork = await manager.fork(parent.id)
    await fork.stop()
    await fork.run("two")
    argv = echo.cli.launches()[-1].argv
    assert "--fork-session" in argv
    assert f"--resume={(await parent.row()).cli_session_id}" in argv
    await fork.stop()
    await fork.run("three")
    assert "--fork-session" not in echo.cli.launches()[-1].argv


@pytest.mark.slow
async def test_a_conversation_that_the_cli_knows_and_the_journal_does_not_is_gone_on_with(
    manager: Manager, play: Any, tmp_path: Path
) -> None:
    """Handrail ended after the CLI had written the first message down, and before it could store the first run."""
    echo = play(sim.loop_turns("x"))
    cli = tmp_path / "claude"
    cli.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *--session-id*) if [ -e {tmp_path}/kept ]; then\n'
        '  echo "Error: Session ID 1 is already in use." >&2; exit 1; fi;; esac\n'
        f'exec {echo.cli.path} "$@"\n'
    )
    cli.chmod(0o700)
    session = await manager.start(Options(cli_path=str(cli), cwd=str(tmp_path)))
    await session.stop()
    (tmp_path / "kept").touch()
    assert (await session.run("go on")).ok
    assert f"--resume={(await session.row()).cli_session_id}" in echo.cli.launches()[-1].argv


@pytest.mark.slow
async def test_what_a_session_cost_before_it_was_resumed_counts_once(manager: Manager, play: Any) -> None:
    """The newest CLIs begin with the cost of the session so far, and say beside it what a run has cost."""

    def result(total: float, run: float) -> dict[str, Any]:
        return {"total_cost_usd": total, "model_usage_since_last_result": {"model": {"costUSD": run}}}

    session = await manager.start(play(sim.turn("x", result=result(0.6, 0.6))).options, budget=1.0)
    await session.run("one")
    await session.stop()
    again = play(sim.turn("x", result=result(0.9, 0.3)), sim.turn("x", result=result(0.95, 0.05)))
    await manager.resume(session.id, cli_path=again.options.cli_path)
    await session.run("two")
    async with asyncio.timeout(SOON):
        assert (await session.run("three")).ok
    assert await session.asks(()) == []
    assert (await session.row()).cost_usd == pytest.approx(0.95)
