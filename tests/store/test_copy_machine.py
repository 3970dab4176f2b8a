"""Whatever happens to a session, and to the pages of it on their way: the copy ends up as the session is."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from handrail.errors import CopyDiverged, DecisionRefused, StoreError
from handrail.store import SqliteStore, restore
from handrail.store.base import (
    AskRowState,
    Batch,
    CopyHead,
    CopyPage,
    EventRow,
    Lease,
    MessageRow,
    MessageState,
    RunRow,
    RunUsageRow,
)
from handrail.testing._store_checks.copies import HOST, contents
from handrail.testing._store_checks.support import NOW, ask, decision, session

T = TypeVar("T")
NOTHING = CopyHead(session_id="s1", fence=0, last_seq=0)
few = st.integers(0, 3)
ask_states = st.sampled_from(["pending", "cancelled", "lost"])
message_states = st.sampled_from(["queued", "sent", "answered"])


class CopyMachine(RuleBasedStateMachine):
    """A host with one session, its hub, and what is on the way between them."""

    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.mkdtemp()
        self.runner = asyncio.Runner()
        self.source = self.opened("host.db")
        self.hub = self.opened("hub.db")
        self.numbers = count(1)
        self.run(self.source.create_session(session("s1")))
        self.lease: Lease = self.run(self.source.acquire("s1", "owner", now=NOW))
        self.seq = 0
        self.backups = 0
        self.asides = count(1)
        self.cursor = NOTHING
        self.under_way: list[CopyPage] = []
        self.sent: list[CopyPage] = []

    def opened(self, name: str) -> SqliteStore:
        store = SqliteStore(f"{self.directory}/{name}")
        self.run(store.open())
        return store

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def append(self, *, events: int = 0, **rows: Any) -> None:
        """Every event is another one than all before, also than one of the same number that was lost."""
        bodies = [b'{"nonce":%d}' % next(self.numbers) for _ in range(events)]
        new = [
            EventRow(seq=seq, at=NOW + seq, type="note", body=body, text=f"word{seq}")
            for seq, body in enumerate(bodies, self.seq + 1)
        ]
        self.run(self.source.append(self.lease, Batch(events=new, **rows)))
        self.seq += events

    # ------------------------------------------------------------ on the host

    @rule(events=st.integers(1, 5), title=few, cost=few)
    def something_happens(self, events: int, title: int, cost: int) -> None:
        changes = {"title": f"title {title}", "cost_usd": float(cost), "cli_session_id": f"cli {title}"}
        self.append(events=events, session=changes)

    @rule(number=few, state=ask_states, events=few)
    def an_ask_changes(self, number: int, state: AskRowState, events: int) -> None:
        self.append(events=events, asks=[ask(f"a{number}", state=state, title=f"title {events}")])

    @rule(number=few)
    def somebody_decides(self, number: int) -> None:
        with suppress(DecisionRefused):
            self.run(self.source.decide(decision(f"a{number}", by=f"person {next(self.numbers)}")))

    @rule(number=few, state=message_states, events=few)
    def a_message_changes(self, number: int, state: MessageState, events: int) -> None:
        self.append(events=events, messages=[MessageRow(uuid=f"m{number}", content=b'"hi"', at=NOW, state=state)])

    @rule(number=few, ok=st.booleans())
    def a_run_changes(self, number: int, ok: bool) -> None:
        run = RunRow(number=number, started_seq=1, started_at=NOW, completed_at=NOW, ok=ok)
        used = RunUsageRow(run=number, model=f"model {ok}", at=NOW, day="2026-01-31", input_tokens=next(self.numbers))
        self.append(runs=[run], usage=[used])

    @rule(archived=st.booleans())
    def it_is_archived(self, archived: bool) -> None:
        self.run(self.source.change_session("s1", archived=archived))

    @rule()
    def it_gets_another_owner(self) -> None:
        self.lease = self.run(self.source.acquire("s1", "owner", now=NOW, force=True))

    @rule()
    def a_backup_is_made(self) -> None:
        self.backups += 1
        self.run(self.source.backup(f"{self.directory}/backup{self.backups}"))

    @precondition(lambda self: self.backups)
    @rule(which=st.integers(0, 5))
    def the_host_loses_its_journal(self, which: int) -> None:
        """And goes on from a backup, without knowing what it has lost."""
        self.run(self.source.close())
        restore(f"{self.directory}/backup{which % self.backups + 1}", self.source.path, force=True)
        self.run(self.source.open())
        self.lease = self.run(self.source.acquire("s1", "owner", now=NOW, force=True))
        self.seq = self.lease.last_seq
        self.sent.clear()  # what it sent before does not outlive the connection
        self.the_connection_breaks()

    # ------------------------------------------------------------ on the way

    @rule(limit=st.sampled_from([1, 500, 100_000]))
    def a_page_is_sent(self, limit: int) -> None:
        at = self.cursor
        page = self.run(self.source.copy_page("s1", after=at.last_seq, revision=at.revision, limit_bytes=limit))
        assert page is not None
        assert page.events or page.after == page.session.last_seq
        last_seq = page.events[-1].seq if page.events else at.last_seq
        self.cursor = CopyHead(session_id="s1", fence=page.session.fence, last_seq=last_seq, revision=page.revision)
        self.under_way.append(page)
        self.sent.append(page)

    @precondition(lambda self: self.under_way)
    @rule()
    def a_page_arrives(self) -> None:
        self.arrive(self.under_way.pop(0))

    @precondition(lambda self: len(self.under_way) > 1)
    @rule(which=st.integers(1, 5))
    def a_page_overtakes_others(self, which: int) -> None:
        self.arrive(self.under_way.pop(which % len(self.under_way)))

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 100))
    def a_page_comes_again(self, which: int) -> None:
        with suppress(StoreError):
            self.run(self.hub.take_copy(HOST, self.sent[which % len(self.sent)]))

    def arrive(self, page: CopyPage) -> None:
        try:
            self.run(self.hub.take_copy(HOST, page))
        except CopyDiverged:
            self.set_aside()
            self.the_connection_breaks()
        except StoreError:
            self.the_connection_breaks()

    @rule()
    def the_connection_breaks(self) -> None:
        """Whatever is under way is lost, and both sides look again where they stand."""
        self.under_way.clear()
        (source,) = self.run(self.source.heads())
        copy = self.copy()
        if copy.has_other_past(source):
            self.set_aside()
            copy = NOTHING
        same_rows = copy.journal == source.journal
        self.cursor = CopyHead(
            session_id="s1", fence=0, last_seq=copy.last_seq, revision=copy.revision if same_rows else 0
        )

    def copy(self) -> CopyHead:
        return next(iter(self.run(self.hub.copied(HOST))), NOTHING)

    def set_aside(self) -> None:
        self.sent.clear()
        self.run(self.hub.set_copy_aside("s1", as_id=f"aside{next(self.asides)}", title="Lost"))

    def texts(self, store: SqliteStore) -> list[str]:
        """Whose texts a search finds, without those that were set aside."""
        hits = self.run(store.search("word", limit=10_000))
        return [hit.session_id for hit in hits if hit.session_id == "s1"]

    # ------------------------------------------------------------ what must hold

    @invariant()
    def the_copy_has_no_gap(self) -> None:
        copied = [row.seq for row in self.run(self.hub.read("s1"))]
        assert copied == list(range(1, self.copy().last_seq + 1))

    def teardown(self) -> None:
        if not hasattr(self, "directory"):
            return
        try:
            self.the_copy_becomes_complete()
        finally:
            self.run(self.source.close())
            self.run(self.hub.close())
            self.runner.close()
            shutil.rmtree(self.directory)

    def the_copy_becomes_complete(self) -> None:
        self.the_connection_breaks()
        for limit in (*([1] * 5), *([100_000] * 5)):
            self.a_page_is_sent(limit)
            self.a_page_arrives()
        (source,) = self.run(self.source.heads())
        assert self.copy() == source
        assert self.run(contents(self.hub)) == self.run(contents(self.source))
        assert self.texts(self.hub) == self.texts(self.source) == ["s1"] * self.seq
        assert self.run(self.hub.check()) == []


class ThoroughCopyMachine(CopyMachine):
    """The same for longer."""


CopyMachine.TestCase.settings = settings(max_examples=6, stateful_step_count=25, deadline=None)
ThoroughCopyMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestCopies = CopyMachine.TestCase
TestCopiesThoroughly = pytest.mark.slow(ThoroughCopyMachine.TestCase)
