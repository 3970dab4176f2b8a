"""Whatever is called in whatever order, through several handles: the store does what a few lines of Python would."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from handrail.errors import AlreadyDecided, AskClosed, Fenced, HandrailError, LeaseHeld, StaleDigest, StoreError
from handrail.store import SqliteStore
from handrail.store.base import AskRowState, Lease
from handrail.testing._store_checks.support import NOW, ask, batch_of, decision, session

HANDLES = 3
handle_numbers = st.integers(0, HANDLES - 1)
session_ids = st.sampled_from(["s1", "s2"])
ask_ids = st.sampled_from(["a1", "a2"])
owners = st.sampled_from(["ann", "bob"])


@dataclass
class AskModel:
    digest: str
    state: str = "pending"
    decided_by: str = ""


@dataclass
class SessionModel:
    """What the store should know."""

    owner: str | None = None
    until: float | None = None
    fence: int = 0
    last_seq: int = 0
    asks: dict[str, AskModel] = field(default_factory=dict)

    def allows(self, lease: Lease) -> bool:
        return self.owner == lease.owner and self.fence == lease.fence


class StoreMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.mkdtemp()
        self.runner = asyncio.Runner()
        self.stores = [SqliteStore(f"{self.directory}/handrail.db") for _ in range(HANDLES)]
        self.models = {"s1": SessionModel(), "s2": SessionModel()}
        self.leases: list[Lease] = []
        self.clock = NOW
        for store in self.stores:
            self.run(store.open())
        for session_id in self.models:
            self.run(self.stores[0].create_session(session(session_id)))

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What it returned, or the error that it raised."""

        async def outcome() -> Any:
            try:
                return await work
            except HandrailError as error:
                return error

        return self.runner.run(outcome())

    @rule(seconds=st.integers(1, 20))
    def time_passes(self, seconds: int) -> None:
        self.clock += seconds

    @rule(
        handle=handle_numbers,
        session_id=session_ids,
        owner=owners,
        ttl=st.none() | st.just(10.0),
        force=st.booleans(),
    )
    def acquire(self, handle: int, session_id: str, owner: str, ttl: float | None, force: bool) -> None:
        model = self.models[session_id]
        found = self.run(self.stores[handle].acquire(session_id, owner, now=self.clock, ttl=ttl, force=force))
        expired = model.until is not None and model.until < self.clock
        if model.owner is not None and not expired and not force:
            assert isinstance(found, LeaseHeld)
            assert found.owner == model.owner
            return
        model.owner, model.fence = owner, model.fence + 1
        model.until = None if ttl is None else self.clock + ttl
        assert (found.fence, found.last_seq, found.until) == (model.fence, model.last_seq, model.until)
        self.leases.append(found)

    def lease(self, data: st.DataObject) -> Lease | None:
        return data.draw(st.sampled_from(self.leases)) if self.leases else None

    @rule(handle=handle_numbers, data=st.data())
    def release(self, handle: int, data: st.DataObject) -> None:
        if (lease := self.lease(data)) is not None:
            assert self.run(self.stores[handle].release(lease)) is None
            model = self.models[lease.session_id]
            if model.allows(lease):
                model.owner = model.until = None

    @rule(handle=handle_numbers, data=st.data(), seconds=st.integers(1, 30))
    def renew(self, handle: int, data: st.DataObject, seconds: int) -> None:
        if (lease := self.lease(data)) is not None:
            found = self.run(self.stores[handle].renew(lease, until=self.clock + seconds))
            model = self.models[lease.session_id]
            if model.allows(lease):
                model.until = self.clock + seconds
                assert found.until == model.until
            else:
                assert isinstance(found, Fenced)

    @rule(
        handle=handle_numbers,
        data=st.data(),
        count=st.integers(0, 4),
        skipped=st.sampled_from([0, 0, 0, 1, -1]),
        asked=st.none() | st.tuples(ask_ids, st.sampled_from(["d1", "d2"]), st.sampled_from(["pending", "cancelled"])),
    )
    def append(
        self, handle: int, data: st.DataObject, count: int, skipped: int, asked: tuple[str, str, AskRowState] | None
    ) -> None:
        if (lease := self.lease(data)) is None:
            return
        model = self.models[lease.session_id]
        asks = [ask(asked[0], lease.session_id, asked[2], digest=asked[1])] if asked else []
        batch = batch_of(model.last_seq + 1 + skipped, count, asks=asks)
        found = self.run(self.stores[handle].append(lease, batch))
        if not model.allows(lease):
            assert isinstance(found, Fenced)
        elif count and skipped:
            assert isinstance(found, StoreError)
        else:
            assert found is None
            model.last_seq += count
            if asked:
                remember(model, *asked)

    @rule(
        handle=handle_numbers, session_id=session_ids, ask_id=ask_ids, by=owners, digest=st.sampled_from(["d1", "d2"])
    )
    def decide(self, handle: int, session_id: str, ask_id: str, by: str, digest: str) -> None:
        found = self.run(self.stores[handle].decide(decision(ask_id, by, digest, session_id)))
        known = self.models[session_id].asks.get(ask_id)
        if known is None:
            assert isinstance(found, AskClosed)
        elif known.decided_by:
            assert isinstance(found, AlreadyDecided)
            assert known.decided_by in found.actor
        elif known.state != "pending":
            assert isinstance(found, AskClosed)
        elif known.digest != digest:
            assert isinstance(found, StaleDigest)
        else:
            assert found is None
            known.state, known.decided_by = "decided", by

    @rule(handle=handle_numbers, session_id=session_ids, after=st.integers(0, 20), limit=st.integers(1, 5))
    def read(self, handle: int, session_id: str, after: int, limit: int) -> None:
        found = self.run(self.stores[handle].read(session_id, after=after, limit=limit))
        wanted = range(after + 1, self.models[session_id].last_seq + 1)
        assert [row.seq for row in found] == list(wanted)[:limit]

    @rule(handle=handle_numbers)
    def reopen(self, handle: int) -> None:
        self.run(self.stores[handle].close())
        self.run(self.stores[handle].open())

    @invariant()
    def what_is_stored_is_what_is_known(self) -> None:
        for session_id, model in self.models.items():
            row = self.run(self.stores[-1].get_session(session_id))
            assert (row.owner, row.fence, row.last_seq, row.lease_until) == (
                model.owner,
                model.fence,
                model.last_seq,
                model.until,
            )
            asks = self.run(self.stores[-1].asks(session_id))
            found = {row.id: AskModel(row.digest, row.state, row.decided_by) for row in asks}
            assert found == model.asks

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            findings = self.run(self.stores[0].check())
            for store in self.stores:
                self.run(store.close())
            self.runner.close()
            shutil.rmtree(self.directory)
            assert findings == []


def remember(model: SessionModel, ask_id: str, digest: str, state: str) -> None:
    known = model.asks.get(ask_id)
    if known is None:
        model.asks[ask_id] = AskModel(digest, state)
    elif known.state == "pending" or state != "pending":
        known.state = state
        if not known.decided_by:
            known.digest = digest


StoreMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=25)
TestStore = StoreMachine.TestCase
