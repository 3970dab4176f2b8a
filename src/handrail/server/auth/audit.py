"""The audit log: who did what, when, to which session or ask, and what came of it. Never what was said."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from handrail.errors import StoreError
from handrail.server.auth.secret_words import redacted
from handrail.store.base import AuditRow

if TYPE_CHECKING:
    from handrail.server.calls import Caller
    from handrail.store.base import Store

__all__ = ["Audit"]

logger = logging.getLogger("handrail.server.audit")

LONGEST_DETAIL = 200


class Audit:
    """Writes the audit log, and reads it."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    async def note(
        self,
        caller: Caller,
        action: str,
        *,
        path: Mapping[str, str] | None = None,
        outcome: str = "ok",
        detail: str = "",
    ) -> None:
        """Write down that `caller` did `action` to what `path` (the address's variables) names.

        `detail` is for ids and names, not for what people or Claude wrote.
        """
        path = path or {}
        row = AuditRow(
            at=self._clock(),
            actor=caller.name,
            surface=caller.surface,
            action=action,
            session_id=path.get("session") or path.get("id", ""),
            ask_id=path.get("ask", ""),
            outcome=outcome,
            detail=redacted(" ".join(filter(None, (*_passed_on(caller), *_named(path), detail))))[:LONGEST_DETAIL],
        )
        try:
            await self._store.audit(row)
        except StoreError as error:
            # What was done is done: to say that it failed would be wrong, and make people do it twice.
            logger.error("the audit log cannot be written (%s): %s did %s, %s", error, row.actor, action, outcome)

    async def read(
        self, *, before: int | None = None, limit: int = 100, session_id: str | None = None
    ) -> list[AuditRow]:
        """What was written, the latest first; `before` is the number of the last row of the page before."""
        return await self._store.audit_log(before=before, limit=limit, session_id=session_id)


def _named(path: Mapping[str, str]) -> list[str]:
    """What an address names beside a session and an ask."""
    return [f"{what} {path[what]}" for what in ("token", "host") if what in path]


def _passed_on(caller: Caller) -> list[str]:
    """Whose program did it for them."""
    program = caller.passed_on_by
    return [f"passed on by {program.name} ({program.surface})"] if program is not None else []
