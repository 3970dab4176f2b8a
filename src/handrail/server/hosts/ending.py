"""Copies of sessions that are out of reach for good: they stay readable, and claim nothing any more."""

from __future__ import annotations

import logging
import time
from typing import Final

from handrail.errors import HandrailError
from handrail.sessions.manager import Manager
from handrail.store.base import CopyHead

__all__ = ["end_copies_of", "end_copy", "is_ended"]

logger = logging.getLogger("handrail.hosts")

STOPPED: Final = "stopped"
OVER: Final = frozenset({STOPPED, "failed"})


async def end_copies_of(host_id: str, manager: Manager) -> None:
    """The host was removed: nothing of it can be followed, resumed or answered any more."""
    for copy in await manager.store.copied(host_id):
        if not is_ended(copy):
            await end_copy(copy.session_id, manager)


def is_ended(copy: CopyHead) -> bool:
    """Whether a copy was brought to its end already."""
    return not copy.changed


async def end_copy(session_id: str, manager: Manager) -> bool:
    """Bring a copy to its end; returns whether it claimed until now that its session goes on."""
    row = await manager.store.get_session(session_id)
    if row is None:  # pruned
        return False
    status = row.status if row.status in OVER else STOPPED
    try:
        await manager.store.end_copy(row.id, status=status, at=time.time())
    except HandrailError as error:
        logger.warning("the copy of session %s cannot be brought to an end: %s", row.id[:8], error)
        return False
    manager.copy_feed(row.id).rest()
    return row.owner is not None or row.status != status
