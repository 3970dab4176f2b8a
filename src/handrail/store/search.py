"""Searching: with SQLite's full-text index where there is one, by looking at every text where not.

Texts are stored with their events, but indexed only when somebody searches (or prunes): the index is ten times as
dear to write as the text, and an event must not wait for it. `indexed_up_to` in `facts` says how far it has come.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from handrail.store.base import Hit
from handrail.store.rows import encodable, placeholders

__all__ = ["Index", "search"]

_SLICE = 500
"""How many texts are indexed in one transaction: others wait for it."""
_AROUND = 60
"""How many characters a snippet shows on each side of what was found."""
_INDEXED = "indexed_up_to"
_STALE = "index_is_stale"


class Index:
    """The full-text index, if this build of SQLite knows any. What changes it runs inside a transaction."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._wanted = wanted
        self.available = False

    def wants_work(self, connection: sqlite3.Connection) -> bool:
        """Whether the index is missing, or somebody removed texts without it. To be asked before anything else."""
        self.available = self._wanted and _has_fts5(connection)
        return self.available and (not _index_exists(connection) or _fact(connection, _STALE) == 1)

    def make(self, connection: sqlite3.Connection) -> None:
        """Make the index from all texts."""
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS texts_index USING fts5("
            "text, content='texts', content_rowid='id', tokenize='unicode61 remove_diacritics 2')"
        )
        connection.execute("INSERT INTO texts_index (texts_index) VALUES ('rebuild')")
        _set_fact(connection, _INDEXED, _last_text(connection))
        _set_fact(connection, _STALE, 0)

    def is_behind(self, connection: sqlite3.Connection) -> bool:
        """Whether there are texts that are not in the index yet."""
        return self.available and _last_text(connection) > _fact(connection, _INDEXED)

    def catch_up(self, connection: sqlite3.Connection) -> None:
        """Index some more texts."""
        indexed = _fact(connection, _INDEXED)
        (last,) = connection.execute(
            "SELECT max(id) FROM (SELECT id FROM texts WHERE id > ? ORDER BY id LIMIT ?) AS next", (indexed, _SLICE)
        ).fetchone()
        if last is None:
            return
        connection.execute(
            "INSERT INTO texts_index (rowid, text) SELECT id, text FROM texts WHERE id > ? AND id <= ?", (indexed, last)
        )
        _set_fact(connection, _INDEXED, last)

    def remove(self, connection: sqlite3.Connection, ids: Sequence[int]) -> None:
        """Remove texts, from the index as well."""
        chosen = placeholders(ids)
        if self.available:
            connection.execute(
                "INSERT INTO texts_index (texts_index, rowid, text) "  # noqa: S608 - placeholders only
                f"SELECT 'delete', id, text FROM texts WHERE id IN ({chosen}) AND id <= ?",
                (*ids, _fact(connection, _INDEXED)),
            )
        elif _index_exists(connection):
            _set_fact(connection, _STALE, 1)
        connection.execute(f"DELETE FROM texts WHERE id IN ({chosen})", ids)  # noqa: S608 - placeholders only
        # The numbers of the last texts are given to the next ones, which are not in the index yet.
        _set_fact(connection, _INDEXED, min(_fact(connection, _INDEXED), _last_text(connection)))


def search(connection: sqlite3.Connection, text: str, limit: int, *, indexed: bool) -> list[Hit]:
    """Titles first, then events: the best first with an index, the latest first without."""
    # A null character would end the query in the middle of a word.
    words = [word for word in encodable(text).replace("\0", " ").split() if any(map(str.isalnum, word))]
    if not words:
        return []
    hits = _titles(connection, words, limit)
    if len(hits) < limit:
        by = _by_index if indexed else _by_looking
        hits += by(connection, words, limit - len(hits))
    return hits


def _titles(connection: sqlite3.Connection, words: Sequence[str], limit: int) -> list[Hit]:
    rows = connection.execute("SELECT id, title FROM sessions WHERE title <> '' ORDER BY updated_at DESC")
    folded = [word.casefold() for word in words]
    found = [
        Hit(session_id=session_id, seq=0, type="title", snippet=title)
        for session_id, title in rows
        if all(word in title.casefold() for word in folded)
    ]
    return found[:limit]


def _by_index(connection: sqlite3.Connection, words: Sequence[str], limit: int) -> list[Hit]:
    # Quoted, a word is only a word: what means something in a query of FTS5 does not.
    quoted = ['"' + word.replace('"', '""') + '"' for word in words]
    rows = connection.execute(
        "SELECT texts.session_id, texts.seq, texts.type, snippet(texts_index, 0, '', '', '…', 24) "
        "FROM texts_index JOIN texts ON texts.id = texts_index.rowid JOIN sessions ON sessions.id = texts.session_id "
        "WHERE texts_index MATCH ? ORDER BY rank LIMIT ?",
        (" ".join(quoted) + "*", limit),
    )
    return [Hit(session_id=session_id, seq=seq, type=kind, snippet=found) for session_id, seq, kind, found in rows]


def _by_looking(connection: sqlite3.Connection, words: Sequence[str], limit: int) -> list[Hit]:
    conditions = " AND ".join(["texts.text LIKE ? ESCAPE '!'"] * len(words))
    rows = connection.execute(
        "SELECT texts.session_id, texts.seq, texts.type, texts.text FROM texts "  # noqa: S608 - placeholders only
        f"JOIN sessions ON sessions.id = texts.session_id WHERE {conditions} ORDER BY texts.id DESC LIMIT ?",
        (*map(_pattern, words), limit),
    )
    return [
        Hit(session_id=session_id, seq=seq, type=kind, snippet=_snippet(found, words[0]))
        for session_id, seq, kind, found in rows
    ]


def _pattern(word: str) -> str:
    return "%" + re.sub(r"([%_!])", r"!\1", word) + "%"


def _snippet(text: str, word: str) -> str:
    at = max(text.casefold().find(word.casefold()), 0)
    start, end = max(at - _AROUND, 0), at + len(word) + _AROUND
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _has_fts5(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone() is not None


def _index_exists(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'texts_index'").fetchone() is not None


def _last_text(connection: sqlite3.Connection) -> int:
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM texts").fetchone()
    return int(last)


def _fact(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])


def _set_fact(connection: sqlite3.Connection, name: str, value: int) -> None:
    connection.execute(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
    )
