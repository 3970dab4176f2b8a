"""The journal of a live session: numbers what happens, has it stored, and only then shows it to readers.

`add` never waits. What is added while the store is busy goes into the next batch, so a session has at most one batch
on its way, and many sessions share commits in the store. If the store fails, the journal keeps what it has and tries
again: the session goes on, and its readers see nothing that could get lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

import msgspec
from msgspec.structs import force_setattr

from handrail.errors import Fenced, StoreError
from handrail.events.codec import decode_event, encode_event, searchable_text
from handrail.events.model import Action, Completed, Delta, Event, Started
from handrail.protocol.usage import SINCE_LAST_RESULT, RunEnd, UsageMeter
from handrail.sessions.feed import Feed, Item
from handrail.store.base import (
    AskRow,
    Batch,
    EventRow,
    FrameRow,
    Lease,
    MessageRow,
    RunRow,
    RunUsageRow,
    StartRow,
    Store,
)

__all__ = ["Journal"]

logger = logging.getLogger("handrail.journal")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
HOLDS_AT_MOST = 64 * 1024 * 1024
"""How much the journal keeps while the store cannot be written, before the session has to stop."""
CLOSING_PATIENCE = 10.0
A_DELTA = 200


class Journal:
    """What happens in one session, in order. Owned by whoever holds the session's lease.

    `on_failure` is called once, with the reason, when nothing can be stored any more: another owner has taken over, or
    the store has failed for too long.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        feed: Feed,
        *,
        runs: int = 0,
        cost_usd: float = 0.0,
        on_failure: Callable[[StoreError], None] = lambda error: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.seq = lease.last_seq
        """The number of the last event that was added."""
        self.runs = runs
        """How many runs there were."""
        self.cost_usd = cost_usd
        self.redact: Callable[[bytes], bytes] = lambda body: body
        """Takes secrets out of an event's JSON; gives back the very same bytes where there are none."""
        self.trouble: StoreError | None = None
        """Why nothing is being stored at the moment."""
        self.on_add: Callable[[Item], None] = lambda item: None
        """Hears of everything that is added, at once: before it is stored, and whoever adds it."""
        self._store = store
        self.lease = lease
        self._feed = feed
        self._on_failure = on_failure
        self._clock = clock
        self._batch = _new_batch()
        self._empty = True
        self._outbox: list[tuple[Item, int]] = []
        self._waits = self._on_its_way = 0
        self._trouble_since = 0.0
        self._open_run: RunRow | None = None
        self._meter = UsageMeter()
        self._model = ""
        self._writing: asyncio.Task[None] | None = None
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._added = self._done = 0
        self._failed: StoreError | None = None
        feed.begin(lease.last_seq)

    # ------------------------------------------------------------ adding

    def add(
        self,
        items: Iterable[Item] = (),
        *,
        asks: Sequence[AskRow] = (),
        messages: Sequence[MessageRow] = (),
        starts: Sequence[StartRow] = (),
        session: dict[str, Any] | None = None,
        durable: bool = False,
    ) -> None:
        """Take events and what belongs to them. Everything of one call is stored together, or not at all."""
        for item in items:
            if isinstance(item, Delta):
                force_setattr(item, "after", self.seq)
                self._outbox.append((item, A_DELTA + len(item.text)))
                self._waits += A_DELTA + len(item.text)
            else:
                self._number(item)
            self.on_add(item)
        self._extend("asks", asks)
        self._extend("messages", messages)
        self._extend("starts", starts)
        if session:
            self._batch.session |= session
            self._empty = False
        self._batch.durable |= durable
        self._added += 1
        self._go_on()

    def remark(self, text: str, *, warning: bool = False) -> None:
        """Add a remark of Handrail's own. It belongs to the run that is open."""
        kind: Literal["warning", "note"] = "warning" if warning else "note"
        run = self._open_run.number if self._open_run is not None and self._open_run.completed_seq is None else None
        self.add([Action(id=f"{kind}-{uuid4().hex}", kind=kind, title=text, phase="completed", run=run)])

    def reopen(self, run: RunRow | None) -> None:
        """Take up a run that an earlier owner began, so that it can be completed."""
        self._open_run = run

    def keep(self, direction: str, line: bytes) -> None:
        """Keep a line of the wire as it was. It is stored with what is added next."""
        frame = FrameRow(direction=direction, at=self._clock(), line=line, after=self.seq)  # type: ignore[arg-type]
        self._extend("frames", (frame,))
        self._waits += len(line)

    @property
    def held(self) -> int:
        """About how many bytes wait to be stored and shown."""
        return self._waits + self._on_its_way

    async def stored(self) -> None:
        """Wait until everything that was added is stored. Raises what keeps it from being stored for good."""
        if self._failed is not None:
            raise self._failed.with_traceback(None)
        if self._done >= self._added:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((self._added, future))
        await future

    async def close(self) -> None:
        """Store what is left. Raises `StoreError` if that cannot be done now."""
        try:
            await self._write_the_rest()
        finally:
            self._feed.rest()

    async def _write_the_rest(self) -> None:
        self._go_on()
        try:
            async with asyncio.timeout(CLOSING_PATIENCE):
                while self._writing is not None:
                    await asyncio.shield(self._writing)
        except TimeoutError:
            if self._writing is not None:
                self._writing.cancel()
            # What is on its way may still get there: the journal itself will show it.
            self._end(self.trouble or StoreError("the journal could not be written in time"))
        if self._failed is not None:
            raise self._failed.with_traceback(None)

    def _number(self, event: Event) -> None:
        self.seq += 1
        force_setattr(event, "seq", self.seq)
        if not event.at:
            force_setattr(event, "at", self._clock())
        body = encode_event(event)
        clean = self.redact(body)
        if clean is not body:
            body, event = clean, decode_event(clean)
        row = EventRow(
            seq=event.seq,
            at=event.at,
            type=str(event.__struct_config__.tag),
            body=body,
            run=event.run,
            text=searchable_text(event),
        )
        self._extend("events", (row,))
        self._outbox.append((event, len(body)))
        self._waits += len(body)
        if isinstance(event, Started | Completed):
            self._bracket(event)

    def _bracket(self, event: Started | Completed) -> None:
        if isinstance(event, Started):
            self.runs = event.run or self.runs + 1
            self._open_run = RunRow(number=self.runs, started_seq=event.seq, started_at=event.at)
            self._model = event.meta.model if event.meta is not None and event.meta.model else self._model
        else:
            begun = self._open_run or RunRow(number=event.run or self.runs, started_seq=event.seq, started_at=event.at)
            self._open_run = msgspec.structs.replace(
                begun, completed_seq=event.seq, completed_at=event.at, ok=event.ok, cost_usd=event.cost_usd
            )
            self.cost_usd += event.cost_usd
            self._batch.session["cost_usd"] = self.cost_usd
            self._extend("usage", self._usage(event, self._open_run.number))
        self._extend("runs", (self._open_run,))

    def _usage(self, event: Completed, run: int) -> Sequence[RunUsageRow]:
        end = RunEnd(
            totals=event.model_usage,
            since=event.detail.get(SINCE_LAST_RESULT),
            usage=event.usage,
            cost_usd=event.cost_usd,
            total_cost_usd=event.total_cost_usd,
            model=self._model,
        )
        day = datetime.fromtimestamp(event.at).date().isoformat()
        return [
            RunUsageRow(run=run, model=model, at=event.at, day=day, **msgspec.structs.asdict(use))
            for model, use in self._meter.read(end).items()
        ]

    def _extend(self, kind: str, rows: Sequence[Any]) -> None:
        if rows:
            getattr(self._batch, kind).extend(rows)
            self._empty = False

    # ------------------------------------------------------------ storing, then showing

    def _go_on(self) -> None:
        if self._failed is not None:
            self._discard()
        elif self._writing is not None:
            return
        elif self._empty:
            self._show_the_rest()  # deltas alone: everything before them is stored
        else:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while not self._empty and self._failed is None:
                added = self._added
                batch, outbox = self._take()
                batch.session.setdefault("updated_at", self._clock())
                await self._store_patiently(batch)
                if self._failed is None:
                    self._show(outbox)
                    self._settle(added)
        finally:
            self._writing = None
        self._show_the_rest()

    def _show_the_rest(self) -> None:
        """Deltas behind the last event that is stored."""
        if self._failed is None and self._empty:
            self._show(self._take()[1])
            self._settle(self._added)

    def _take(self) -> tuple[Batch, list[tuple[Item, int]]]:
        taken = self._batch, self._outbox
        self._batch, self._outbox, self._empty = _new_batch(), [], True
        self._on_its_way, self._waits = self._waits, 0
        return taken

    def _discard(self) -> None:
        self._take()
        self._on_its_way = 0

    async def _store_patiently(self, batch: Batch) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                await self._store.append(self.lease, batch)
            except Fenced as error:
                self._fail(error)
                return
            except StoreError as error:
                self._trouble_is(error)
                if self.held > HOLDS_AT_MOST:
                    self._fail(error)
                    return
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            except Exception as error:  # a fault of the store itself: what was added must not vanish unseen
                logger.exception("the journal of %s cannot be written", self.lease.session_id)
                self._fail(StoreError(f"the store failed: {type(error).__name__}: {error}"))
                return
            else:
                self._trouble_is_over()
                return

    def _trouble_is(self, error: StoreError) -> None:
        if self.trouble is None:
            logger.warning("the journal of %s cannot be written now: %s", self.lease.session_id, error)
            self._trouble_since = self._clock()
        self.trouble = error

    def _trouble_is_over(self) -> None:
        if self.trouble is None:
            return
        logger.warning("the journal of %s is being written again", self.lease.session_id)
        seconds = max(1.0, self._clock() - self._trouble_since)
        trouble, self.trouble = self.trouble, None
        self.remark(f"the journal could not be written for {seconds:.0f} s: {trouble}", warning=True)

    def _fail(self, error: StoreError) -> None:
        self._end(error)
        self._on_failure(error)

    def _end(self, error: StoreError) -> None:
        """Nothing is stored any more: whoever waits learns it, and nothing is kept."""
        self._failed = error
        self._discard()
        for _, future in self._waiting:
            if not future.done():
                future.set_exception(error)
        self._waiting.clear()

    def _show(self, outbox: list[tuple[Item, int]]) -> None:
        if outbox:
            self._feed.publish(outbox)

    def _settle(self, added: int) -> None:
        self._done = added
        self._on_its_way = 0
        while self._waiting and self._waiting[0][0] <= added:
            future = self._waiting.pop(0)[1]
            if not future.done():
                future.set_result(None)


def _new_batch() -> Batch:
    return Batch(events=[], asks=[], messages=[], runs=[], frames=[], starts=[], usage=[])
