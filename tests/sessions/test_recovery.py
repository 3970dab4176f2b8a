"""A session whose owner died: wherever its journal was cut off, it is brought to an honest end, and can go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.events.codec import encode_event
from handrail.events.model import (
    Action,
    AskClosed,
    AskOpened,
    Completed,
    Event,
    ProcessExited,
    Prompt,
    Started,
    Task,
)
from handrail.events.reduce import SessionView, reduce
from handrail.places import Places
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.options import Options
from handrail.sessions.launching import SessionSettings, encode_settings
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import Holder
from handrail.sessions.session import Session
from handrail.store.base import AskRow, Batch, DecisionRow, EventRow, MessageRow, RunRow, SessionRow, Store
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

DEAD = msgspec.json.encode(Holder(2**22 + 1, started=1.0, socket="/nowhere/handrail.sock")).decode()


def system(subtype: str, **fields: Any) -> sim.Step:
    return sim.send({"type": "system", "subtype": subtype, "session_id": "$session", "uuid": "$uuid", **fields})


SCRIPT = (
    sim.turn(sim.say("Looking."), sim.tool("Read", {"file_path": "/x"}, ask=False), "That was it."),
    sim.turn(
        sim.tool("Bash", {"command": "make &"}),
        system("task_started", task_id="t1", description="make", task_type="local_bash", is_backgrounded=True),
        system("hook_started", hook_id="h1", hook_name="tidy", hook_event="Stop"),
        system("hook_response", hook_id="h1", hook_name="tidy", hook_event="Stop", exit_code=0, outcome="success"),
        "It runs.",
    ),
    sim.turn(
        system("task_started", task_id="t2", description="look", task_type="local_agent"),
        sim.tool("Bash", {"command": "a"}),
        system("task_progress", task_id="t1", description="make", last_tool_name="Bash"),
        sim.tool("Bash", {"command": "b"}),
        system("task_notification", task_id="t2", status="completed", summary="found"),
        "Both done.",
    ),
    system("task_notification", task_id="t1", status="completed", summary="made"),
    sim.turn("It was made.", prompted=False),
    sim.loop_turns("You said $text."),
)


def places_in(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


async def events_of(session: Session) -> list[Event]:
    return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """Everything that happened in a long session: tools, asks, tasks, several messages, a run of its own accord."""
    directory = tmp_path_factory.mktemp("story")
    cli = SimulatedCLI(SCRIPT, directory=directory)

    async def live() -> list[Event]:
        async with Manager.local(places_in(directory)) as manager:
            session = await manager.start(Options(cli_path=str(cli.path), cwd=str(directory)))
            answering = asyncio.create_task(_answer(session))
            for text in ("one", "two"):
                await session.run(text)
            for uuid in [await session.send("three"), await session.send("four")]:
                await session.wait(uuid)
            answering.cancel()
            await session.stop()
            return await events_of(session)

    events = asyncio.run(live())
    kinds = {type(event) for event in events}
    assert {Started, Action, AskOpened, AskClosed, Task, Prompt, Completed, ProcessExited} <= kinds
    return events


async def _answer(session: Session) -> None:
    async for item in session.subscribe(deltas=False):
        if isinstance(item, AskOpened):
            await session.decide(item.ask_id, Deny("no") if "b" in item.title else Allow(), digest=item.digest)


# ---------------------------------------------------------------- journals that were cut off


def rows_of(session_id: str, events: Sequence[Event]) -> Batch:
    """What the journal stores with these events: each row was written together with its event."""
    asks: dict[str, AskRow] = {}
    messages: dict[str, MessageRow] = {}
    runs: dict[int, RunRow] = {}
    for event in events:
        match event:
            case Started(run=int(number)):
                runs[number] = RunRow(number=number, started_seq=event.seq, started_at=event.at)
            case Completed(run=int(number)):
                runs[number] = msgspec.structs.replace(
                    runs[number], completed_seq=event.seq, completed_at=event.at, ok=event.ok
                )
            case AskOpened():
                asks[event.ask_id] = AskRow(
                    session_id=session_id,
                    id=event.ask_id,
                    kind=event.kind,
                    digest=event.digest,
                    title=event.title,
                    body=msgspec.json.encode(event.ask),
                    opened_at=event.at,
                )
            case AskClosed():
                asks[event.ask_id] = msgspec.structs.replace(
                    asks[event.ask_id], state="sent", answer=msgspec.json.encode(event.answer), decided_by=event.by
                )
            case Prompt(state="queued"):
                messages[event.uuid] = MessageRow(
                    uuid=event.uuid, content=msgspec.json.encode(event.content), at=event.at, by=event.by
                )
            case Prompt(state=state) if state != "started":
                messages[event.uuid] = msgspec.structs.replace(messages[event.uuid], state=state)
    return Batch(
        events=[
            EventRow(seq=e.seq, at=e.at, type=str(e.__struct_config__.tag), body=encode_event(e), run=e.run)
            for e in events
        ],
        asks=list(asks.values()),
        messages=list(messages.values()),
        runs=list(runs.values()),
        session={"status": "running"},
    )


async def leave_behind(store: Store, session_id: str, events: Sequence[Event], options: Options) -> None:
    """A session whose owner died when it had stored exactly these events."""
    resume = next((event.resume for event in events if isinstance(event, Started)), None)
    settings = encode_settings(SessionSettings(options=options))
    row = SessionRow(
        id=session_id,
        cwd=str(options.cwd),
        created_at=1.0,
        updated_at=1.0,
        cli_session_id=f"{resume}-{session_id}" if resume else None,  # one conversation for each
        settings=settings,
    )
    await store.create_session(row)
    lease = await store.acquire(session_id, DEAD, now=1.0)
    await store.append(lease, rows_of(session_id, events))


def open_asks(events: Sequence[Event]) -> dict[str, AskOpened]:
    asks: dict[str, AskOpened] = {}
    for event in events:
        if isinstance(event, AskOpened):
            asks[event.ask_id] = event
        elif isinstance(event, AskClosed):
            del asks[event.ask_id]
    return asks


def check_journal(events: Sequence[Event]) -> None:
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    open_run: int | None = None
    begun: set[tuple[type, str]] = set()
    for event in events:
        match event:
            case Started(run=run):
                assert open_run is None
                open_run = run
            case Action() | Task():
                key = (type(event), event.id)
                begun.discard(key) if event.phase == "completed" else begun.add(key)
        assert event.run in (None, open_run), f"{event} lies outside its run"
        if isinstance(event, Completed):
            assert event.run == open_run is not None
            open_run = None
    assert open_run is None
    assert not open_asks(events)
    assert not begun


async def check_rows(store: Store, session_id: str) -> None:
    row = await store.get_session(session_id)
    assert row is not None
    assert row.owner is None
    assert row.status in ("stopped", "failed")
    assert await store.asks(session_id, states=("pending", "decided")) == []
    assert await store.messages(session_id, states=("sent", "started")) == []
    assert all(run.completed_seq is not None for run in await store.runs(session_id))


def view_of(events: Sequence[Event]) -> SessionView:
    view = SessionView()
    for event in events:
        view = reduce(view, event)
    return view


def cut_name(count: int) -> str:
    return f"cut{count:03d}"


async def leave_all(directory: Path, story: Sequence[Event], options: Options) -> None:
    async with Manager.local(places_in(directory)) as manager:
        for count in range(len(story) + 1):
            await leave_behind(manager.store, cut_name(count), story[:count], options)


@pytest.mark.slow
async def test_a_journal_cut_off_at_any_event_is_brought_to_its_end(story: list[Event], tmp_path: Path) -> None:
    await leave_all(tmp_path, story, Options(cwd=str(tmp_path)))
    journals: dict[str, list[Event]] = {}
    async with Manager.local(places_in(tmp_path)) as manager:
        for count in range(len(story) + 1):
            session = manager.session(cut_name(count))
            events = journals[session.id] = await events_of(session)
            assert events[:count] == story[:count], "what was stored is as it was"
            check_journal(events)
            await check_rows(manager.store, session.id)
            view = view_of(events)
            assert view.exited
            assert not view.asks
        assert await manager.store.check() == []
    async with Manager.local(places_in(tmp_path)) as manager:  # once more: there is nothing left to do
        for session_id, events in journals.items():
            assert await events_of(manager.session(session_id)) == events


@pytest.mark.slow
async def test_what_is_said_of_each_message(story: list[Event], tmp_path: Path) -> None:
    """Lost, unless it was never sent, or a result that answers it has arrived."""
    await leave_all(tmp_path, story, Options(cwd=str(tmp_path)))
    async with Manager.local(places_in(tmp_path)) as manager:
        for count in range(len(story) + 1):
            before = story[:count]
            answered = {uuid: e.run for e in before if isinstance(e, Completed) for uuid in e.messages}
            sent = {e.uuid for e in before if isinstance(e, Prompt) and e.state == "sent"}
            after = await events_of(manager.session(cut_name(count)))
            told = {e.uuid: e for e in after if isinstance(e, Prompt)}
            for row in await manager.store.messages(cut_name(count)):
                expected = "answered" if row.uuid in answered else "lost" if row.uuid in sent else "queued"
                assert (row.state, told[row.uuid].state) == (expected, expected), f"cut off after {count} events"
                assert told[row.uuid].answered_by == answered.get(row.uuid)


@pytest.mark.slow
async def test_a_decision_that_the_cli_may_not_have_got_is_closed_as_unsent(story: list[Event], tmp_path: Path) -> None:
    options = Options(cwd=str(tmp_path))
    cuts = [count for count in range(len(story)) if open_asks(story[:count])]
    assert cuts
    async with Manager.local(places_in(tmp_path)) as manager:
        for count in cuts:
            await leave_behind(manager.store, cut_name(count), story[:count], options)
            for ask in open_asks(story[:count]).values():
                decision = DecisionRow(
                    session_id=cut_name(count),
                    ask_id=ask.ask_id,
                    digest=ask.digest,
                    answer=b'{"type":"allow"}',
                    decided_by="alice",
                    surface="terminal",
                    decided_at=5.0,
                )
                await manager.store.decide(decision)
    async with Manager.local(places_in(tmp_path)) as manager:
        for count in cuts:
            events = await events_of(manager.session(cut_name(count)))
            check_journal(events)
            (closed,) = (event for event in events[count:] if isinstance(event, AskClosed))
            assert (closed.outcome, closed.by, closed.answer) == ("unsent", "alice", {"type": "allow"})
            rows = {row.id: row.state for row in await manager.store.asks(cut_name(count))}
            assert rows[closed.ask_id] == "unsent"


async def test_a_decision_is_closed_as_sent_where_the_transcript_shows_that_it_was(
    story: list[Event], tmp_path: Path
) -> None:
    """Asked again, somebody would have it carried out twice."""
    count = next(count for count in range(len(story)) if open_asks(story[:count]))
    (ask,) = open_asks(story[:count]).values()
    async with Manager.local(places_in(tmp_path)) as manager:
        await leave_behind(manager.store, "s1", story[:count], Options(cwd=str(tmp_path), env={"HOME": str(tmp_path)}))
        row = DecisionRow(
            session_id="s1",
            ask_id=ask.ask_id,
            digest=ask.digest,
            answer=b'{"type":"allow"}',
            decided_by="alice",
            surface="terminal",
            decided_at=5.0,
        )
        await manager.store.decide(row)
        cli_session_id = str((await manager.session("s1").row()).cli_session_id)
    transcript = tmp_path / ".claude" / "projects" / "-work" / f"{cli_session_id}.jsonl"
    transcript.parent.mkdir(parents=True)
    result = {"type": "tool_result", "tool_use_id": ask.ask["tool_use_id"], "content": "done"}
    transcript.write_bytes(msgspec.json.encode({"type": "user", "message": {"role": "user", "content": [result]}}))
    async with Manager.local(places_in(tmp_path)) as manager:
        events = (await events_of(manager.session("s1")))[count:]
        assert [row.state for row in await manager.store.asks("s1")] == ["sent"]
    (closed,) = (event for event in events if isinstance(event, AskClosed))
    assert (closed.outcome, closed.by, closed.decided_at) == ("decided", "alice", 5.0)
    assert "transcript" in closed.message
    (call,) = (event for event in events if isinstance(event, Action) and event.id == ask.ask["tool_use_id"])
    assert (call.phase, call.ok) == ("completed", True)


async def resume_and_run(manager: Manager, session_id: str) -> None:
    session = manager.session(session_id)
    last_run = max((run.number for run in await manager.store.runs(session_id)), default=0)
    done = await session.run("go on")
    assert (done.ok, done.run is not None and done.run > last_run) == (True, True)
    await session.stop()
    events = await events_of(session)
    check_journal(events)
    assert await manager.store.messages(session_id, states=("queued", "sent")) == [], "also what was never sent before"


async def resume_cuts(story: list[Event], directory: Path, counts: Sequence[int]) -> None:
    cli = SimulatedCLI([sim.loop_turns("You said $text.")], directory=directory)
    await leave_all(directory, story, Options(cli_path=str(cli.path), cwd=str(directory)))
    async with Manager.local(places_in(directory)) as manager:
        for count in counts:
            await resume_and_run(manager, cut_name(count))


@pytest.mark.slow
async def test_a_session_that_was_cut_off_can_go_on(story: list[Event], tmp_path: Path) -> None:
    await resume_cuts(story, tmp_path, [len(story) // 2])


@pytest.mark.slow
async def test_wherever_a_session_was_cut_off_it_can_go_on(story: list[Event], tmp_path: Path) -> None:
    await resume_cuts(story, tmp_path, range(len(story) + 1))
