"""What people answer when the process that asked has ended: it lets one call pass, once, whatever ends meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import AskClosed
from handrail.events.model import AskClosed as AskClosedEvent
from handrail.events.model import AskOpened, Completed, Event, Prompt
from handrail.policy.files import Disk
from handrail.protocol.asks import Allow, Ask, Deny, ask_from
from handrail.protocol.options import Options
from handrail.sessions.ask_records import ask_record
from handrail.sessions.asks import Actor
from handrail.sessions.engine import Engine
from handrail.sessions.feed import Feed
from handrail.sessions.journal import Journal
from handrail.sessions.lost_asks import LostAsks
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.sessions.survey import Surveyor
from handrail.store import SqliteStore
from handrail.store.base import (
    AskRow,
    AskRowState,
    Batch,
    DecisionRow,
    Lease,
    MessageRow,
    MessageState,
    RunRow,
    SessionRow,
)
from handrail.testing import simulated as sim
from handrail.testing.journal_checks import journal_problems
from handrail.testing.simulated import SimulatedCLI

ANN = Actor("Ann", "telegram")
BOB = Actor("Bob", "web")
SOON = 30.0


class Desk:
    """A store with a session, and what happens to the answers that are given to its lost asks."""

    def __init__(self, store: SqliteStore, lease: Lease, directory: Path) -> None:
        self.store = store
        self.directory = directory
        self.journal = Journal(store, lease, Feed("s1", store))
        self.waiting: list[Ask] = []
        self.told: list[MessageRow] = []
        self.lost = self.lost_asks()

    def lost_asks(self) -> LostAsks:
        """As each process has them."""
        return LostAsks("s1", self.store, self.journal, take=self._take, waiting=lambda: self.waiting, files=Disk())

    def _take(self, row: MessageRow | None, closed: Event, ask: AskRow) -> None:
        self.told += [row] if row is not None else []
        self.journal.add([closed], asks=[ask], messages=[row] if row is not None else [])

    def ask(self, ask_id: str, tool: str = "Bash", **given: Any) -> Ask:
        ask = ask_from(ask_id, {"subtype": "can_use_tool", "tool_name": tool, "input": given or {"command": "ls"}})
        return Surveyor(Disk(), home="").survey(msgspec.structs.replace(ask, cwd=str(self.directory)))

    async def stored(self, ask: Ask, state: AskRowState = "lost", **fields: Any) -> str:
        """Have the store know of an ask; gives the digest of what was shown."""
        row = AskRow(
            session_id="s1",
            id=ask.id,
            kind=ask.kind,
            digest=ask.digest,
            title="Bash",
            body=msgspec.json.encode(ask_record(ask)),
            opened_at=1.0,
            state=state,
            **fields,
        )
        self.journal.add(asks=[row])
        await self.journal.stored()
        return ask.digest

    async def message_is(self, state: MessageState) -> None:
        self.journal.add(messages=[msgspec.structs.replace(self.told[0], state=state)])
        await self.journal.stored()

    async def use(self, ask: Ask, granted_by: str) -> None:
        await self.stored(ask, "pending")
        await self.store.decide(
            DecisionRow(
                session_id="s1",
                ask_id=ask.id,
                digest=ask.digest,
                answer=b'{"type":"allow"}',
                decided_by="Ann",
                surface="telegram",
                decided_at=9.0,
                granted_by=granted_by,
            )
        )


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with SqliteStore(str(tmp_path / "handrail.db")) as store:
        await store.create_session(SessionRow(id="s1", cwd="/", created_at=1.0, updated_at=1.0))
        desk = Desk(store, await store.acquire("s1", "me", now=1.0), tmp_path)
        yield desk
        await desk.journal.close()


async def test_an_answer_survives_the_end_of_handrail_until_it_is_used(desk: Desk) -> None:
    digest = await desk.stored(desk.ask("a1"))
    await desk.lost.answer("a1", Allow(), actor=ANN, digest=digest)
    for _ in range(2):
        again = desk.lost_asks()
        await again.recall()
        grant = again.grant_for(desk.ask("a2"))
        assert grant is not None
        assert grant.actor == Actor("Ann", "telegram", granted_by="a1")
        assert again.grant_for(desk.ask("a3")) is None, "one process uses it once"
    await desk.use(desk.ask("a2"), "a1")
    again = desk.lost_asks()
    await again.recall()
    assert again.grant_for(desk.ask("a3")) is None, "so do all of them together"
    with pytest.raises(AskClosed, match="holds once"):
        await desk.use(desk.ask("a3"), "a1")


async def test_what_was_let_pass_and_may_have_got_nowhere_is_answered_anew_and_not_from_before(desk: Desk) -> None:
    await desk.lost.answer("a1", Allow(), actor=ANN, digest=await desk.stored(desk.ask("a1")))
    await desk.use(desk.ask("a2"), "a1")
    decided = {"answer": b'{"type":"allow"}', "decided_by": "Ann", "surface": "telegram", "granted_by": "a1"}
    await desk.lost.answer("a2", Deny("no"), actor=BOB, digest=await desk.stored(desk.ask("a2"), "unsent", **decided))
    row = await desk.store.get_ask("s1", "a2")
    assert row is not None
    assert (row.state, row.decided_by, row.answer) == ("resumed", "Bob", b'{"type":"deny","message":"no"}')
    again = desk.lost_asks()
    await again.recall()
    assert again.grant_for(desk.ask("a3")) is None


@pytest.mark.parametrize(
    ("state", "holds"), [("queued", True), ("sent", True), ("started", True), ("answered", False), ("dropped", False)]
)
async def test_an_answer_holds_until_claude_is_done_with_the_message_that_tells_of_it(
    desk: Desk, state: MessageState, holds: bool
) -> None:
    await desk.lost.answer("a1", Allow(), actor=ANN, digest=await desk.stored(desk.ask("a1")))
    grant = desk.lost.grant_for(desk.ask("a2"))
    assert grant is not None
    await desk.message_is(state)
    assert await desk.lost.holds(grant) is holds


@pytest.mark.parametrize(("ok", "later", "holds"), [(True, 1.0, False), (False, 1.0, True), (True, -1.0, True)])
async def test_if_the_message_was_lost_it_holds_to_the_end_of_the_next_run(
    desk: Desk, ok: bool, later: float, holds: bool
) -> None:
    await desk.lost.answer("a1", Allow(), actor=ANN, digest=await desk.stored(desk.ask("a1")))
    grant = desk.lost.grant_for(desk.ask("a2"))
    assert grant is not None
    await desk.message_is("lost")
    run = RunRow(number=1, started_seq=1, started_at=grant.at + later, completed_seq=2, completed_at=99.0, ok=ok)
    await desk.store.append(desk.journal.lease, Batch(runs=[run]))
    assert await desk.lost.holds(grant) is holds


async def test_an_edit_passes_only_if_its_file_is_as_it_was_shown(desk: Desk) -> None:
    file = desk.directory / "notes.txt"
    file.write_text("one")
    edit = {"file_path": str(file), "old_string": "one", "new_string": "two"}
    await desk.lost.answer("a1", Allow(), actor=ANN, digest=await desk.stored(desk.ask("a1", "Edit", **edit)))
    file.write_text("one and more")
    assert desk.lost.grant_for(desk.ask("a2", "Edit", **edit)) is None
    file.write_text("one")
    assert desk.lost.grant_for(desk.ask("a3", "Edit", **edit)) is not None


async def test_claude_is_not_told_to_repeat_what_it_asks_just_now(desk: Desk) -> None:
    desk.waiting.append(desk.ask("a2"))
    await desk.lost.answer("a1", Allow(), actor=ANN, digest=await desk.stored(desk.ask("a1")))
    assert desk.told == []
    grant = desk.lost.grant_for(desk.waiting[0])
    assert grant is not None
    assert await desk.lost.holds(grant)
    await desk.lost.answer("a0", Deny("no"), actor=ANN, digest=await desk.stored(desk.ask("a0")))
    assert len(desk.told) == 1


@pytest.mark.parametrize("is_told", [False, True])
async def test_only_what_claude_was_told_of_survives_the_end_of_handrail(desk: Desk, is_told: bool) -> None:
    """An older version told of its answers, too, but did not note which of them were used."""
    if is_told:
        await desk.lost.answer("a1", Allow(), actor=ANN, digest=await desk.stored(desk.ask("a1")))
    else:
        decided = {"answer": b'{"type":"allow"}', "decided_by": "Ann", "surface": "telegram", "decided_at": 9.0}
        await desk.stored(desk.ask("a1"), "resumed", **decided)
    again = desk.lost_asks()
    await again.recall()
    assert (again.grant_for(desk.ask("a2")) is not None) is is_told


async def test_what_another_version_stored_lets_nothing_pass(desk: Desk) -> None:
    strange = {"answer": b'{"type":"allow_on_tuesdays"}', "decided_by": "Ann", "surface": "telegram"}
    await desk.stored(desk.ask("a1"), "resumed", **strange)
    await desk.lost.recall()
    assert desk.lost.grant_for(desk.ask("a2")) is None


# ---------------------------------------------------------------- in a session


def asking(directory: Path) -> Options:
    """A CLI that asks for the same in each turn."""
    cli = SimulatedCLI([sim.loop_turns(sim.tool("Bash", {"command": "ls"}), "done")], directory=directory)
    return Options(cli_path=str(cli.path), cwd=str(directory))


async def first(session: Session, kind: Any, *, after: int = 0) -> Any:
    async with asyncio.timeout(SOON), aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind):
                return item
    raise AssertionError(f"no {kind.__name__}")


async def events_of(session: Session) -> list[Event]:
    return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]


@pytest.mark.slow
async def test_an_answer_to_what_was_lost_is_the_answer_to_the_same_that_waits(
    manager: Manager, tmp_path: Path
) -> None:
    """Told of it as well, Claude would make the call once more, and have it done twice."""
    session = await manager.start(asking(tmp_path))
    await session.send("go")
    lost = await first(session, AskOpened)
    await session.stop()
    after = (await session.row()).last_seq
    await session.send("go on")
    waiting = await first(session, AskOpened, after=after)
    await session.decide(lost.ask_id, Allow(), actor=ANN, digest=lost.digest, resume=True)
    assert (await first(session, Completed, after=waiting.seq)).ok
    events = await events_of(session)
    assert journal_problems(events, ended=False) == []
    closed = {event.ask_id: event for event in events if isinstance(event, AskClosedEvent)}
    assert closed[lost.ask_id].outcome == "resumed"
    assert (closed[waiting.ask_id].by, closed[waiting.ask_id].granted_by) == ("Ann", lost.ask_id)
    assert len({event.uuid for event in events if isinstance(event, Prompt)}) == 2
    rows = {row.id: row.granted_by for row in await session.asks(())}
    assert rows == {lost.ask_id: "", waiting.ask_id: lost.ask_id}


@pytest.mark.slow
async def test_whoever_answers_what_was_lost_may_go_away_before_the_same_that_waits_has_passed(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await manager.start(asking(tmp_path))
    await session.send("go")
    lost = await first(session, AskOpened)
    await session.stop()
    after = (await session.row()).last_seq
    await session.send("go on")
    waiting = await first(session, AskOpened, after=after)
    answering = asyncio.ensure_future(session.decide(lost.ask_id, Allow(), actor=ANN, digest=lost.digest, resume=True))
    add = Journal.add

    def leave(journal: Journal, *args: Any, **how: Any) -> Any:
        if any(row.state == "resumed" for row in how.get("asks", ())):
            answering.cancel()
        return add(journal, *args, **how)

    monkeypatch.setattr(Journal, "add", leave)
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert (await first(session, Completed, after=waiting.seq)).ok
    rows = {row.id: row.granted_by for row in await session.asks(())}
    assert rows == {lost.ask_id: "", waiting.ask_id: lost.ask_id}


@pytest.mark.slow
async def test_an_answer_to_what_was_lost_resumes_a_session_that_ends_in_that_moment(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await manager.start(asking(tmp_path))
    await session.send("go")
    lost = await first(session, AskOpened)
    await session.stop()
    await session.resume()
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "answer_lost", _too_late(Engine.answer_lost, session.stop))
        await session.decide(lost.ask_id, Allow(), actor=ANN, digest=lost.digest, resume=True)
    assert [row.state for row in await session.asks(("lost", "resumed"))] == ["resumed"]
    assert await session.is_live()


def _too_late(answer_lost: Any, stop: Callable[[], Awaitable[None]]) -> Any:
    """As the method of an engine, but that the session has ended when it is called first."""
    calls = iter([stop])

    async def answer(engine: Engine, *args: Any, **how: Any) -> None:
        for end in calls:
            await end()
            break
        await answer_lost(engine, *args, **how)

    return answer
