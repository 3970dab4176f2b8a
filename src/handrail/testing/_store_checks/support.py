"""What the checks are made of: handles on a store, rows to put in, and plain words about what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

from handrail.store.base import AskRow, AskRowState, Batch, DecisionRow, EventRow, FrameRow, Lease, SessionRow, Store

__all__ = [
    "NOW",
    "Check",
    "Handles",
    "ask",
    "batch_of",
    "decision",
    "event",
    "expect",
    "expect_error",
    "frame",
    "new_session",
    "outcome",
    "session",
]

NOW = 1_700_000_000.0
DEADLINE = 30.0


class Handles:
    """Makes handles on one store: open, and closed when the check is over."""

    def __init__(self, name: str, make_store: Callable[[str], Store], stack: AsyncExitStack) -> None:
        self._name = name
        self._make_store = make_store
        self._stack = stack

    async def open(self, place: str = "") -> Store:
        """Another handle on the same data; with `place`, on that of another store."""
        store = self._make_store(f"{self._name}-{place}" if place else self._name)
        await store.open()
        self._stack.push_async_callback(store.close)
        return store


Check: TypeAlias = Callable[[Handles], Coroutine[Any, Any, None]]


def expect(found: object, wanted: object, what: str) -> None:
    """Whether something is as it should be."""
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


async def outcome(work: Awaitable[Any]) -> Any:
    """What it returned, or the exception that it raised."""
    try:
        async with asyncio.timeout(DEADLINE):
            return await work
    except Exception as error:  # noqa: BLE001 - that is what is looked at
        return error


async def expect_error(kind: type[Exception], work: Awaitable[Any], what: str) -> Any:
    """The error that something must raise."""
    raised = await outcome(work)
    if not isinstance(raised, kind):
        raise AssertionError(f"{what} must raise {kind.__name__}, but gave {raised!r}")
    return raised


def session(session_id: str, **fields: Any) -> SessionRow:
    return SessionRow(**{"id": session_id, "cwd": "/project", "created_at": NOW, "updated_at": NOW, **fields})


async def new_session(store: Store, session_id: str = "s1", owner: str = "owner", **fields: Any) -> Lease:
    """A session, and the lease on it."""
    await store.create_session(session(session_id, **fields))
    return await store.acquire(session_id, owner, now=NOW)


def event(seq: int, **fields: Any) -> EventRow:
    return EventRow(**{"seq": seq, "at": NOW + seq, "type": "note", "body": b'{"seq":%d}' % seq, **fields})


def batch_of(first: int, count: int = 1, **fields: Any) -> Batch:
    """Events with the numbers `first` and following, and whatever else."""
    return Batch(events=[event(seq) for seq in range(first, first + count)], **fields)


def frame(number: int, **fields: Any) -> FrameRow:
    return FrameRow(**{"direction": "in", "at": NOW + number, "line": b'{"frame":%d}' % number, **fields})


def ask(ask_id: str = "ask1", session_id: str = "s1", state: AskRowState = "pending", **fields: Any) -> AskRow:
    wanted = {"kind": "tool", "digest": "d1", "title": "Bash", "body": b'{"tool":"Bash"}', "opened_at": NOW, **fields}
    return AskRow(session_id=session_id, id=ask_id, state=state, **wanted)


def decision(
    ask_id: str = "ask1", by: str = "ann", digest: str = "d1", session_id: str = "s1", granted_by: str = ""
) -> DecisionRow:
    return DecisionRow(
        session_id=session_id,
        ask_id=ask_id,
        digest=digest,
        answer=b'{"by":"%s"}' % by.encode(),
        decided_by=by,
        surface="test",
        decided_at=NOW,
        granted_by=granted_by,
    )
