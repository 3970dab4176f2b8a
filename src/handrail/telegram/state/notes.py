"""Small things to remember that need no table of their own, each under a name."""

from __future__ import annotations

from handrail.telegram.state.table import Table

__all__ = ["Notes"]


class Notes(Table):
    """The table of notes."""

    def note(self, key: str, value: str | None) -> None:
        """Remember something; None forgets it."""
        if value is None:
            self._connection.execute("DELETE FROM notes WHERE key = ?", (key,))
        else:
            self._connection.execute("INSERT OR REPLACE INTO notes (key, value) VALUES (?, ?)", (key, value))

    def noted(self, key: str) -> str | None:
        """What was noted under a name."""
        found = self._connection.execute("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def notes(self, prefix: str) -> dict[str, str]:
        """All whose names begin so, in the order of their names."""
        rows = self._connection.execute(
            "SELECT key, value FROM notes WHERE substr(key, 1, ?) = ? ORDER BY key", (len(prefix), prefix)
        )
        return dict(rows.fetchall())
