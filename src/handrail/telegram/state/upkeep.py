"""What is not needed any more goes; what moved is found where it is now."""

from __future__ import annotations

from handrail.telegram.state.table import Table

__all__ = ["Upkeep"]

_DAY = 24 * 3600.0
_MESSAGES_STAY = 180 * _DAY
"""How long a reply to a message finds its session."""
_CONTENTS_STAY = 30 * _DAY
_BUTTONS_STAY = 30 * _DAY
_DRAFTS_STAY = 30 * _DAY
_UPDATES_STAY = 8 * _DAY
"""Longer than Telegram keeps, and could repeat, an update (a day), and than it goes on numbering them (a week)."""


class Upkeep(Table):
    """Works on all tables."""

    def prune(self) -> int:
        """Remove what is old. Returns how many rows went."""
        removed = (
            ("DELETE FROM messages WHERE changed_at < ?", _MESSAGES_STAY),
            ("DELETE FROM messages WHERE changed_at < ? AND message_id = 0 AND NOT due", _CONTENTS_STAY),
            ("DELETE FROM buttons WHERE minted_at < ?", _BUTTONS_STAY),
            ("DELETE FROM drafts WHERE changed_at < ?", _DRAFTS_STAY),
            ("DELETE FROM updates WHERE kept_at < ? AND done", _UPDATES_STAY),
        )
        gone = sum(self._connection.execute(statement, (self.now - stay,)).rowcount for statement, stay in removed)
        self._connection.execute(
            "UPDATE messages SET content = x'', shown_content = x'' "
            "WHERE changed_at < ? AND NOT due AND content <> x''",
            (self.now - _CONTENTS_STAY,),
        )
        return gone

    def move_chat(self, old: int, new: int) -> None:
        """A group has got another number (it became a supergroup). Its messages cannot be changed there any more."""
        for table in ("messages", "follows", "chats", "drafts", "resting"):
            self._connection.execute(f"UPDATE OR REPLACE {table} SET chat = ? WHERE chat = ?", (new, old))  # noqa: S608
        self._connection.execute(
            "UPDATE messages SET message_id = 0, shown = x'', shown_attachment = x'' WHERE chat = ?", (new,)
        )
