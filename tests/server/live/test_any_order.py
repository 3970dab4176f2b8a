"""Whatever happens in whatever order: what a viewer ends up with is what the journal says, in both forms."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from handrail.events import model as e
from handrail.events.codec import decode_event
from handrail.server.live.rows import finish
from handrail.server.live.state import state_of
from handrail.server.live.timeline import Timeline
from handrail.server.showing import Showing

from .room import Person, Room, make_small, settled

CALLS = ("t1", "t2", "t3")


def an_event(kind: int, which: int) -> e.Event:
    """One of the things that happen in a session; some of them change what happened before."""
    call = CALLS[which % len(CALLS)]
    detail = {"tool_name": "Bash", "tool_use_id": call}
    makers: list[e.Event] = [
        e.Text(block=f"m{which}:0", text=f"words **{which}**"),
        e.Text(block=f"m{which}:1", text="inside", parent=call),
        e.Thinking(block=f"m{which}:2", text="hm"),
        e.Action(id=call, kind="command", title="ls", phase="started", detail=detail),
        e.Action(id=call, kind="command", title="ls", phase="updated", detail={"elapsed_time_seconds": which}),
        e.Action(id=call, kind="command", title="ls", phase="completed", ok=True, detail=detail),
        e.Action(id=f"{call}i", kind="tool", title="Read x", phase="started", detail=detail, parent=call),
        e.Prompt(uuid=f"u{which}", state="queued", content=f"please {which}", by="alice"),
        e.Prompt(uuid=f"u{which}", state="answered"),
        e.AskOpened(ask_id=call, kind="permission", digest="d", title="Bash", ask={"id": call, "kind": "permission"}),
        e.AskClosed(ask_id=call, outcome="decided", answer={"type": "allow"}, by="alice", surface="web"),
        e.Started(run=which, resume="r", meta=e.Meta(cwd="/", model="opus")),
        e.Completed(ok=True, run=which, cost_usd=0.25),
        e.Compacting(phase="completed"),
        e.Usage(context_tokens=which),
        e.Task(id="task", phase="updated", title="explore", tool_use_id=call),
        e.ProcessExited(exit_code=1),
        e.Titled(title=f"title {which}"),
    ]
    return makers[kind % len(makers)]


class AnyOrder(RuleBasedStateMachine):
    """A session goes on, its store fails now and then, viewers come, read, fall asleep and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.patch = pytest.MonkeyPatch()
        make_small(self.patch)
        self.left: list[Person] = []
        self.block = 0
        self.written = ""

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        async def work() -> None:
            self.room = Room()

        self.do(work())

    # ---- the session

    @rule(things=st.lists(st.tuples(st.integers(0, 17), st.integers(0, 4)), min_size=1, max_size=6))
    def happen(self, things: list[tuple[int, int]]) -> None:
        async def work() -> None:
            self.room.add(*(an_event(*thing) for thing in things))
            if any(kind in (12, 16) for kind, _ in things):  # these end what was being written
                self.block, self.written = self.block + 1, ""
            await settled()

        self.do(work())

    @rule(text=st.text("abü", min_size=1, max_size=4))
    def write(self, text: str) -> None:
        async def work() -> None:
            self.room.add(e.Delta(block=f"b{self.block}", kind="text", offset=len(self.written), text=text))
            self.written += text
            await settled()

        self.do(work())

    @precondition(lambda self: self.written)
    @rule()
    def end_block(self) -> None:
        async def work() -> None:
            self.room.add(e.Text(block=f"b{self.block}", text=self.written))
            self.block, self.written = self.block + 1, ""
            await settled()

        self.do(work())

    @rule(title=st.sampled_from(["one", "two", "three"]))
    def rename(self, title: str) -> None:
        async def work() -> None:
            self.room.store.change(title=title)
            await settled()

        self.do(work())

    @rule(broken=st.booleans())
    def break_or_mend(self, broken: bool) -> None:
        self.room.store.broken = broken

    # ---- viewers

    @precondition(lambda self: len(self.room.people) < 3)
    @rule(form=st.sampled_from(["events", "view"]), deltas=st.booleans())
    def come(self, form: str, deltas: bool) -> None:
        self.do(self.room.come(form, None, deltas=deltas))

    @precondition(lambda self: self.left)
    @rule(which=st.integers(0, 5))
    def come_back(self, which: int) -> None:
        """With what was read before, also by somebody who left long ago."""
        known = self.left[which % len(self.left)]
        after = known.seq if known.seq >= 0 else None
        self.left.remove(known)
        self.do(self.room.come(known.form, after, known=known))

    @precondition(lambda self: self.room.people)
    @rule(which=st.integers(0, 5))
    def leave(self, which: int) -> None:
        person = self.room.people.pop(which % len(self.room.people))
        self.do(person.leave())
        self.left.append(person)

    @precondition(lambda self: self.room.people)
    @rule(which=st.integers(0, 5), count=st.integers(1, 10))
    def read(self, which: int, count: int) -> None:
        self.do(self.room.people[which % len(self.room.people)].read(count))

    @precondition(lambda self: self.room.people)
    @rule(which=st.integers(0, 5))
    def acknowledge(self, which: int) -> None:
        async def work() -> None:
            self.room.people[which % len(self.room.people)].acknowledge()
            await settled()

        self.do(work())

    @precondition(lambda self: self.room.people)
    @rule(which=st.integers(0, 5), on=st.booleans())
    def hide_or_show(self, which: int, on: bool) -> None:
        self.room.people[which % len(self.room.people)].socket.say({"type": "visible", "on": on})

    # ---- the end

    def teardown(self) -> None:
        try:
            if hasattr(self, "room"):
                self.do(self._see_it_through())
        finally:
            self.runner.close()
            self.patch.undo()

    async def _see_it_through(self) -> None:
        room = self.room
        room.store.broken = False
        await room.journal.stored()
        journal = [row.body for row in room.store.events]
        for person in room.people:
            await self._catch_up(person, len(journal))
            if person.form == "events":
                assert person.events == [msgspec.json.decode(body) for body in journal]
            else:
                self._check_view(person, journal)
        await room.close()

    async def _catch_up(self, person: Person, last: int) -> None:
        for _ in range(1_000):
            await person.catch_up()
            if person.seq >= last:
                await person.catch_up()
                return
            await asyncio.sleep(0.001)
        raise AssertionError(f"a viewer of {person.form} stays at {person.seq} of {last}: {person.viewer.__dict__}")

    def _check_view(self, person: Person, journal: list[bytes]) -> None:
        timeline = Timeline()
        timeline.take_all(journal)
        expected = self._rows(timeline, journal)
        shown = {key: _untitled(row) for key, row in person.view.rows.items()}
        assert {key: expected[key] for key in shown} == shown
        assert {sketch.row.key for sketch in timeline.tail(1).sketches} <= set(shown)
        assert person.view.total == timeline.total
        row = self.room.store.row
        assert row is not None
        assert person.view.state == msgspec.to_builtins(state_of(timeline, row))

    def _rows(self, timeline: Timeline, journal: list[bytes]) -> dict[str, Any]:
        row = self.room.store.row
        assert row is not None
        events = dict(enumerate(map(decode_event, journal), start=1))
        rows = finish(timeline.tail(10_000).sketches, events, Showing(), row)
        return {each.key: _untitled(msgspec.json.decode(msgspec.json.encode(each))) for each in rows}


def _untitled(row: dict[str, Any]) -> dict[str, Any]:
    """Without the session's title, which a card has as it was when the row changed last."""
    return row if row["type"] != "ask" else {**row, "card": {**row["card"], "session_title": ""}}


AnyOrder.TestCase.settings = settings(max_examples=50, stateful_step_count=40)
TestAnyOrder = AnyOrder.TestCase


async def test_looking_for_a_session_goes_on_though_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be bringing the journal of a dead owner to its end."""
    make_small(monkeypatch)
    begun, may_end = asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def is_live(self: object) -> bool:
        begun.set()
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            ended.append("interrupted")
            raise
        ended.append("done")
        return False

    monkeypatch.setattr("handrail.server.live.channel.GRACE", 0.0)
    room = Room()
    monkeypatch.setattr(type(room.session("s1")), "is_live", is_live)
    person = await room.come("events", 0)
    await begun.wait()
    room.add(e.Text(block="b", text="stored, and not told: the channel looks for it elsewhere"))
    await room.journal.stored()
    async with asyncio.timeout(10):
        while len(person.events) < 1:
            await person.catch_up()
            await asyncio.sleep(0.001)
    assert ended == []
    may_end.set()
    await room.close()
    assert ended == ["done"]
