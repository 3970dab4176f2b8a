"""Small things to remember that need no table of their own, each under a name."""

from __future__ import annotations

from handrail.telegram.state.table import Table

__all__ = ["Notes"]

_BEYOND = chr(0x10FFFF)
"""Behind a name, it is greater than whatever begins with that name."""


class Notes(Table):
    """The table of notes."""

    def note(self, key: str, value: str | None, *, stays: float | None = None, holds: bool = False) -> None:
        """Remember something, for so many seconds or for good; None forgets it.

        What `holds` keeps the messages and buttons from growing old whose key is this one, or begins with it and a
        colon.
        """
        if value is None:
            self._connection.execute("DELETE FROM notes WHERE key = ?", (key,))
        else:
            forget_at = None if stays is None else self.now + stays
            self._connection.execute(
                "INSERT OR REPLACE INTO notes (key, value, forget_at, holds) VALUES (?, ?, ?, ?)",
                (key, value, forget_at, holds),
            )

    def noted(self, key: str) -> str | None:
        """What was noted under a name."""
        found = self._connection.execute("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def notes(self, prefix: str) -> dict[str, str]:
        """All whose names begin so, in the order of their names."""
        rows = self._connection.execute(
            "SELECT key, value FROM notes WHERE key >= ? AND key < ? ORDER BY key", (prefix, prefix + _BEYOND)
        )
        return dict(rows.fetchall())
