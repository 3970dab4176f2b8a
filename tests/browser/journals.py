"""Sessions that are written into the store instead of played, however long or strange they are."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from handrail.events.codec import encode_event, searchable_text
from handrail.events.model import Event
from handrail.store.base import AskRow, Batch, EventRow, RunUsageRow, SessionRow, Store

__all__ = ["Written", "write_session"]

AT_ONCE = 2000


@dataclass(frozen=True)
class Written:
    """What was written."""

    id: str
    events: int


async def write_session(
    store: Store,
    events: Iterable[Event],
    *,
    title: str = "A written session",
    cwd: str = "/tmp/project",
    asks: Sequence[AskRow] = (),
    usage: Sequence[RunUsageRow] = (),
    status: str = "idle",
) -> Written:
    """A session with these events, numbered anew, and these asks, as open as they are."""
    now = time.time()
    row = SessionRow(id=uuid.uuid4().hex, cwd=cwd, created_at=now, updated_at=now, title=title, status=status)
    await store.create_session(row)
    lease = await store.acquire(row.id, "the tests", now=now)
    numbered = [msgspec.structs.replace(event, seq=seq, at=now) for seq, event in enumerate(events, start=1)]
    rows = [_row(event) for event in numbered]
    for start in range(0, len(rows), AT_ONCE):
        await store.append(lease, Batch(events=rows[start : start + AT_ONCE]))
    mine = [msgspec.structs.replace(ask, session_id=row.id, id=f"ask-{index}") for index, ask in enumerate(asks)]
    await store.append(lease, Batch(asks=mine, usage=usage))
    await store.release(lease)
    return Written(row.id, len(rows))


def _row(event: Event) -> EventRow:
    kind = str(event.__struct_config__.tag)
    return EventRow(
        seq=event.seq, at=event.at, type=kind, body=encode_event(event), run=event.run, text=searchable_text(event)
    )
