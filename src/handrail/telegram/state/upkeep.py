"""What is not needed any more goes, in small steps. `handrail.telegram.lifetimes` says after how long."""

from __future__ import annotations

from typing import Final, NamedTuple

from handrail.telegram import lifetimes
from handrail.telegram.state.table import Table

__all__ = ["AT_ONCE", "Upkeep"]

AT_ONCE: Final = 500
"""How many rows of a kind go in one step: others wait for the database meanwhile."""

_NOT_HELD = """NOT EXISTS (SELECT 1 FROM notes AS note WHERE note.holds AND (
    note.key = old.key OR substr(old.key, 1, length(note.key) + 1) = note.key || ':'))"""
"""Whether no note holds what bears its key, or one that begins so."""


class _Old(NamedTuple):
    """Rows that are removed: `name` is what names one of the table, `age` a condition with the time in it."""

    table: str
    name: str
    age: str
    stays: float


_OLD: Final = (
    _Old("messages", "key", f"changed_at < ? AND {_NOT_HELD}", lifetimes.MESSAGES),
    _Old("messages", "key", "changed_at < ? AND message_id = 0 AND NOT due", lifetimes.CONTENTS),
    _Old(
        "messages",
        "key",
        f"changed_at < ? AND message_id = 0 AND chat IN (SELECT chat FROM resting) AND {_NOT_HELD}",  # noqa: S608
        lifetimes.UNSENT,
    ),
    _Old("buttons", "token", f"minted_at < ? AND {_NOT_HELD}", lifetimes.BUTTONS),
    _Old("drafts", "ask_id, chat, thread", "changed_at < ?", lifetimes.DRAFTS),
    _Old("updates", "arrival", "kept_at < ? AND done", lifetimes.UPDATES),
    _Old("notes", "key", "forget_at < ?", 0.0),
)
_REMOVE = "DELETE FROM {0} WHERE ({1}) IN (SELECT {1} FROM {0} AS old WHERE {2} LIMIT ?)"
_EMPTY = f"""UPDATE messages SET content = x'', shown_content = x'' WHERE key IN (SELECT key FROM messages AS old
    WHERE changed_at < ? AND NOT due AND content <> x'' AND {_NOT_HELD} LIMIT ?)"""  # noqa: S608
"""Of messages that stay, what they show goes before they do."""


class Upkeep(Table):
    """Works on all tables."""

    def prune(self, at_once: int = AT_ONCE) -> int:
        """Remove what is old, or a part of it. Returns how many rows that changed; 0: nothing old is left."""
        removals = ((_REMOVE.format(old.table, old.name, old.age), old.stays) for old in _OLD)
        return sum(
            self._connection.execute(statement, (self.now - stays, at_once)).rowcount
            for statement, stays in (*removals, (_EMPTY, lifetimes.CONTENTS))
        )
