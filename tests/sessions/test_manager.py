"""Durable sessions over a real database and a simulated CLI: life, journal, messages, asks, readers, the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from handrail.errors import (
    AlreadyDecided,
    AskClosed,
    CLINotFound,
    InvalidOptions,
    SessionBusy,
    SessionError,
    SessionNotFound,
    SessionNotLive,
)
from handrail.errors import (
    ProcessExited as CLIExited,
)
from handrail.events.model import (
    AskClosed as AskClosedEvent,
)
from handrail.events.model import (
    AskOpened,
    Completed,
    Delta,
    Event,
    ProcessExited,
    Prompt,
    Started,
    Text,
    Titled,
)
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.options import Options
from handrail.sessions.ask_records import ask_of
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

ALICE = Actor("alice", "terminal")
SECRET = "s3cr3t-value-1234"


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Options]:
    """Options that start a simulated CLI with these steps."""
    counter = iter(range(100))

    def make(*steps: sim.Step, **settings: Any) -> Options:
        directory = tmp_path / f"cli{next(counter)}"
        directory.mkdir()
        cli = SimulatedCLI(steps or None, directory=directory, **settings)
        return Options(cli_path=str(cli.path), cwd=str(tmp_path))

    return make


async def events_of(session: Session) -> list[Event]:
    return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]


T = TypeVar("T")


def everything_in(directory: str) -> bytes:
    return b"".join(path.read_bytes() for path in Path(directory).rglob("*") if path.is_file())


def of_type(events: Sequence[Any], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


async def opened_ask(session: Session) -> AskOpened:
    """The next ask that waits."""
    async with aclosing(session.subscribe(deltas=False)) as items:
        async for item in items:
            if isinstance(item, AskOpened):
                return item
    raise AssertionError("the session ended without an ask")


async def until(session: Session, kind: type[T]) -> T:
    async with aclosing(session.subscribe(deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind):
                return item
    raise AssertionError(f"there was no {kind.__name__}")


# ---------------------------------------------------------------- life


async def test_a_session_runs_and_every_run_is_bracketed(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("You said $text.")))
    first = await session.run("hello there")
    second = await session.run("again")
    assert (first.ok, first.answer, first.run) == (True, "You said hello there.", 1)
    assert (second.answer, second.run) == ("You said again.", 2)
    events = await events_of(session)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.run for event in of_type(events, Started)] == [1, 2]
    row = await session.row()
    assert (row.title, row.status, row.last_seq) == ("hello there", "idle", len(events))
    assert [event.title for event in of_type(events, Titled)] == ["hello there"]


async def test_the_session_id_is_known_before_the_cli_runs(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")))
    row = await session.row()
    await session.run("hi")
    started = of_type(await events_of(session), Started)[0]
    assert row.cli_session_id == started.resume == (await session.row()).cli_session_id


async def test_a_message_is_stored_before_it_is_sent_and_followed_to_its_end(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")))
    uuid = await session.send("hello", actor=ALICE)
    await session.wait(uuid)
    prompts = [event for event in of_type(await events_of(session), Prompt) if event.uuid == uuid]
    assert prompts[0].content == "hello"
    assert (prompts[0].by, prompts[0].surface) == ("alice", "terminal")
    states = [event.state for event in prompts]
    assert states[0] == "queued"
    assert states[-1] == "answered"
    assert [row.state for row in await manager.store.messages(session.id)] == ["answered"]


async def test_stopping_ends_the_cli_and_the_session_stays(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")))
    await session.run("hi")
    await session.stop()
    assert not await session.is_live()
    assert (await session.row()).status == "stopped"
    assert isinstance((await events_of(session))[-1], ProcessExited)
    with pytest.raises(SessionNotLive, match="resume"):
        await session.interrupt()


@pytest.mark.slow
async def test_a_message_resumes_a_session_that_is_not_live(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("You said $text.")))
    await session.run("one")
    await session.stop()
    done = await session.run("two")
    assert (done.answer, done.run) == ("You said two.", 2)
    starts = [row.why for row in await manager.store.starts(session.id) if row.why != "running"]
    assert starts == ["new", "resume"]


@pytest.mark.slow
async def test_another_process_resumes_what_was_stopped(places: Places, play: Any) -> None:
    async with Manager.local(places) as first:
        session = await first.start(play(sim.loop_turns("You said $text.")), title="work")
        await session.run("one")
    async with Manager.local(places) as second:
        again = await second.get(session.id[:8])
        assert (await again.run("two")).answer == "You said two."
        assert (await again.row()).title == "work"
        events = await events_of(again)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_a_session_whose_cli_cannot_be_started_was_never_there(
    manager: Manager, play: Any, tmp_path: Path
) -> None:
    with pytest.raises(CLINotFound):
        await manager.start(Options(cli_path=str(tmp_path / "nothing"), cwd=str(tmp_path)))
    with pytest.raises(CLIExited):
        await manager.start(play(sim.exit(3)))
    assert await manager.list() == []


async def test_a_process_that_dies_in_a_run_is_told_in_full(manager: Manager, play: Any) -> None:
    session = await manager.start(
        play(sim.turn("first"), sim.expect("user"), sim.turn(sim.say("half"), sim.stderr("oh no\n"), sim.exit(3)))
    )
    await session.run("one")
    done = await session.run("two")
    assert not done.ok
    exited = await until(session, ProcessExited)
    assert (exited.exit_code, exited.expected) == (3, False)
    events = await events_of(session)
    assert len(of_type(events, Started)) == len(of_type(events, Completed))
    assert (await session.row()).status == "failed"


async def test_a_secret_of_the_environment_stays_out_of_the_journal(
    manager: Manager, play: Any, places: Places
) -> None:
    options = msgspec.structs.replace(play(sim.loop_turns("The token is s3cr3t-value-1234.")), env={"MY_TOKEN": SECRET})
    session = await manager.start(options)
    done = await session.run("What is the token?")
    assert done.answer == "The token is [redacted]."
    await session.stop()
    await manager.close()
    assert SECRET.encode() not in everything_in(places.state)


@pytest.mark.slow
async def test_a_policy_of_a_program_must_be_given_again(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")), policy=Policy.of("careful"))
    await session.run("hi")
    await session.stop()
    with pytest.raises(SessionError, match="policy"):
        await session.send("again")
    await manager.resume(session.id, policy=Policy.of("careful"))
    assert (await session.run("again")).ok


async def test_a_new_session_resumes_nothing(manager: Manager, play: Any) -> None:
    with pytest.raises(InvalidOptions, match=r"Manager\.resume"):
        await manager.start(msgspec.structs.replace(play(), resume="1b4e28ba-2fa1-11d2-883f-0016d3cca427"))


# ---------------------------------------------------------------- finding


async def test_sessions_are_found_by_prefix_cli_id_and_resume_line(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")))
    row = await session.row()
    for reference in (session.id, session.id[:6], row.cli_session_id, f"`claude --resume {row.cli_session_id}`"):
        assert (await manager.get(str(reference))).id == session.id
    with pytest.raises(SessionNotFound, match="handrail ls"):
        await manager.get("ffffffff-none")
    with pytest.raises(SessionNotFound, match="too short"):
        await manager.get("ab")


async def test_a_title_and_the_archive(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")))
    await session.rename("A better name", actor=ALICE)
    assert (await session.row()).title == "A better name"
    await session.stop()
    await session.rename("Still better")
    await session.archive()
    assert await manager.list() == []
    assert (await session.row()).title == "Still better"


async def test_a_live_session_cannot_be_deleted(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns("x")))
    with pytest.raises(SessionBusy, match="stop it"):
        await session.delete()
    await session.stop()
    await session.delete()
    with pytest.raises(SessionNotFound):
        await session.row()


# ---------------------------------------------------------------- asks


ASKING = sim.tool("Bash", {"command": "ls"}, ask=True)


async def test_an_ask_waits_for_a_decision_which_is_stored_before_it_is_sent(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.turn(ASKING, "done")))
    uuid = await session.send("go")
    opened = await opened_ask(session)
    assert (await session.row()).status == "needs_you"
    (row,) = await manager.asks()
    assert (row.id, row.digest, row.kind) == (opened.ask_id, opened.digest, "permission")
    ask = ask_of(msgspec.json.decode(row.body))
    assert ask.input == {"command": "ls"}
    assert ask.description is not None
    await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest)
    assert (await session.wait(uuid)).ok
    closed = await until(session, AskClosedEvent)
    assert (closed.outcome, closed.by, closed.answer) == ("decided", "alice", {"type": "allow"})
    (row,) = await session.asks(())
    assert (row.state, row.decided_by) == ("sent", "alice")
    with pytest.raises(AlreadyDecided, match="alice"):
        await session.decide(opened.ask_id, Deny("no"), actor=Actor("bob", "terminal"))


async def test_the_call_of_older_bridges_answers_an_ask(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.turn(ASKING, "done")))
    uuid = await session.send("go")
    opened = await opened_ask(session)
    await manager.write_control_response(session.id, opened.ask_id, False, "not today")
    await session.wait(uuid)
    closed = await until(session, AskClosedEvent)
    assert closed.answer == {"type": "deny", "message": "not today"}


async def test_a_policy_decides_and_the_journal_says_which_part_of_it(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.turn(ASKING, "done")), policy=Asked(allow=("Bash(ls:*)",)))
    await session.run("go")
    closed = await until(session, AskClosedEvent)
    assert (closed.outcome, closed.surface) == ("decided", "policy")


@pytest.mark.slow
async def test_an_ask_is_lost_with_its_process_and_can_be_answered_by_resuming(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns(ASKING, "done")))
    await session.send("go")
    opened = await opened_ask(session)
    await session.stop()
    (row,) = await session.asks(("lost",))
    assert row.id == opened.ask_id
    with pytest.raises(AskClosed, match="has ended"):
        await session.decide(opened.ask_id, Allow(), actor=ALICE)
    after = (await session.row()).last_seq
    await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest, resume=True)
    # The same call again is allowed by the answer that was given; nobody is asked.
    async with aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, AskClosedEvent) and item.outcome == "decided":
                assert (item.by, item.granted_by) == ("alice", opened.ask_id)
                break
    with pytest.raises(AskClosed):
        await session.decide(opened.ask_id, Allow(), actor=ALICE, resume=True)


# ---------------------------------------------------------------- readers


async def test_deltas_come_between_events_and_are_superseded(manager: Manager, play: Any) -> None:
    session = await manager.start(play(sim.loop_turns(sim.say("Hello, this is streamed."))))
    items: list[Any] = []

    async def read() -> None:
        """Until a text was seen being written: a reader that is still catching up gets it from the store, whole."""
        async with aclosing(session.subscribe()) as stream:
            async for item in stream:
                items.append(item)
                if isinstance(item, Completed):
                    if of_type(items, Delta):
                        return
                    await session.send("again")

    reader = asyncio.create_task(read())
    await session.send("hi")
    await asyncio.wait_for(reader, 30)
    deltas = of_type(items, Delta)
    text = of_type(items, Text)[-1]
    mine = [delta for delta in deltas if delta.block == text.block]
    assert "".join(delta.text for delta in mine) == text.text
    assert [delta.offset for delta in mine] == [sum(len(d.text) for d in mine[:n]) for n in range(len(mine))]
    seen = 0
    for item in items:
        if isinstance(item, Delta):
            assert item.after == seen
        else:
            seen = item.seq
