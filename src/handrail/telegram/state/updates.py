"""What Telegram sent: kept before it is acknowledged, taken once, remembered as long as Telegram may repeat it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from handrail.telegram.state.table import Table

__all__ = ["KeptUpdate", "Updates"]

_IDS_GO_ON = 6 * 24 * 3600.0
"""After a week of silence Telegram may number updates anew, also from a lower number: then ask for all there are."""


class KeptUpdate(NamedTuple):
    """An update as Telegram wrote it (JSON)."""

    update_id: int
    body: bytes


class Updates(Table):
    """The table of updates."""

    def keep(self, updates: Iterable[tuple[int, bytes]]) -> list[KeptUpdate]:
        """Remember what came. Returns what was not known before."""
        return [KeptUpdate(update_id, body) for update_id, body in updates if self._keep(update_id, body)]

    def _keep(self, update_id: int, body: bytes) -> bool:
        statement = "INSERT OR IGNORE INTO updates (update_id, body, kept_at) VALUES (?, ?, ?)"
        return self._connection.execute(statement, (update_id, body, self.now)).rowcount > 0

    def undone(self) -> list[KeptUpdate]:
        """What is still to be handled, as it came."""
        rows = self._connection.execute("SELECT update_id, body FROM updates WHERE NOT done ORDER BY arrival")
        return [KeptUpdate(update_id, body) for update_id, body in rows]

    def done(self, update_id: int) -> None:
        """An update was handled."""
        self._connection.execute("UPDATE updates SET done = 1, body = x'' WHERE update_id = ?", (update_id,))

    def offset(self) -> int:
        """The first update that Telegram is to send next; 0 for all that it has."""
        (latest,) = self._connection.execute(
            "SELECT max(update_id) FROM updates WHERE kept_at > ?", (self.now - _IDS_GO_ON,)
        ).fetchone()
        return latest + 1 if latest is not None else 0
