"""Answers that are being put together: how far somebody came with the steps of a question."""

from __future__ import annotations

from handrail.telegram.model import Place
from handrail.telegram.state.table import Table

__all__ = ["Answering"]


class Answering(Table):
    """The table of drafts of answers."""

    def draft(self, ask_id: str, place: Place) -> bytes | None:
        """What was set last."""
        found = self._connection.execute(
            "SELECT draft FROM drafts WHERE ask_id = ? AND chat = ? AND thread = ?", (ask_id, place.chat, place.thread)
        ).fetchone()
        return found[0] if found else None

    def set_draft(self, ask_id: str, place: Place, draft: bytes | None) -> None:
        """Remember it, or forget it."""
        where = (ask_id, place.chat, place.thread)
        if draft is None:
            self._connection.execute("DELETE FROM drafts WHERE ask_id = ? AND chat = ? AND thread = ?", where)
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO drafts (ask_id, chat, thread, draft, changed_at) VALUES (?, ?, ?, ?, ?)",
                (*where, draft, self.now),
            )
