"""What all tables have in common."""

from __future__ import annotations

import sqlite3

__all__ = ["Table"]


class Table:
    """Works on a table inside a transaction that is not its own."""

    def __init__(self, connection: sqlite3.Connection, now: float) -> None:
        self._connection = connection
        self.now = now
        """Seconds since the epoch, the same all through the transaction."""
