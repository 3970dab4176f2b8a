"""A group that has got another number, because it became a supergroup: all that is known of it goes along."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from handrail.telegram.model import Content, Place, Press
from handrail.telegram.state.chats import Chat
from handrail.telegram.state.table import Table

__all__ = ["Moving"]

_NOTE: Final = "moved:"
_ORIGINS: Final = "prompt:"
"""Notes on where a message to Claude came from: by its number in the old group it is not found in the new one."""


class Moving(Table):
    """Works on all tables. What the new group has already is newer, and stays."""

    def move_chat(self, old: int, new: int) -> None:
        """A group has got another number. What was written under the old one stays behind, and can be changed no more.

        So what still waits for a person is sent once more.
        """
        moved = _Moved(old, new)
        self._move_messages(moved)
        self._move_buttons(moved)
        self._move_chats(moved)
        self._move_notes(moved)
        for table in ("follows", "drafts"):
            self._connection.execute(f"UPDATE OR IGNORE {table} SET chat = ? WHERE chat = ?", (new, old))  # noqa: S608
        for table in ("follows", "drafts", "resting"):
            self._connection.execute(f"DELETE FROM {table} WHERE chat = ?", (old,))  # noqa: S608
        self._connection.execute("INSERT OR REPLACE INTO notes (key, value) VALUES (?, ?)", (f"{_NOTE}{old}", str(new)))

    def moved_chats(self) -> dict[int, int]:
        """Groups by the numbers that they had, with those that they got."""
        rows = self._connection.execute("SELECT key, value FROM notes WHERE substr(key, 1, ?) = ?", (len(_NOTE), _NOTE))
        return {int(key.removeprefix(_NOTE)): int(value) for key, value in rows}

    # ------------------------------------------------------------ inside

    def _move_messages(self, moved: _Moved) -> None:
        rows = self._connection.execute(
            "SELECT key, after, content, due AND digest <> x'', ask_id <> '' FROM messages WHERE chat = ?", (moved.old,)
        ).fetchall()
        for key, after, content, is_due, is_of_ask in rows:
            due = is_due or (is_of_ask and _has_buttons(content))
            self._connection.execute(
                "UPDATE OR REPLACE messages SET key = ?, after = ?, chat = ?, due = ?, message_id = 0, shown = x'', "
                "shown_content = x'', shown_attachment = x'' WHERE key = ?",
                (moved.key(key), moved.key(after), moved.new, bool(due), key),
            )

    def _move_buttons(self, moved: _Moved) -> None:
        rows = self._connection.execute(
            "SELECT token, press FROM buttons WHERE instr(key, ?)", (str(moved.old),)
        ).fetchall()
        for token, encoded in rows:
            press = msgspec.json.decode(encoded, type=Press)
            if press.place.chat == moved.old:
                there = replace(press, place=moved.place(press.place), key=moved.key(press.key))
                self._connection.execute(
                    "UPDATE OR REPLACE buttons SET key = ?, press = ? WHERE token = ?",
                    (there.key, msgspec.json.encode(there, order="deterministic"), token),
                )

    def _move_chats(self, moved: _Moved) -> None:
        rows = self._connection.execute("SELECT thread, record FROM chats WHERE chat = ?", (moved.old,)).fetchall()
        for thread, record in rows:
            chat = msgspec.json.decode(record, type=Chat)
            there = replace(chat, place=moved.place(chat.place))
            self._connection.execute(
                "INSERT OR IGNORE INTO chats (chat, thread, record) VALUES (?, ?, ?)",
                (moved.new, thread, msgspec.json.encode(there)),
            )
        self._connection.execute("DELETE FROM chats WHERE chat = ?", (moved.old,))

    def _move_notes(self, moved: _Moved) -> None:
        rows = self._connection.execute(
            "SELECT key, value FROM notes WHERE instr(key, ?1) OR instr(value, ?1)", (str(moved.old),)
        ).fetchall()
        for key, value in rows:
            if not key.startswith(_NOTE):
                self._connection.execute(
                    "UPDATE OR REPLACE notes SET key = ?, value = ? WHERE key = ?",
                    (moved.key(key), moved.value(key, value), key),
                )


class _Moved:
    """What contains the number of a group, with its new one."""

    def __init__(self, old: int, new: int) -> None:
        self.old = old
        self.new = new

    def place(self, place: Place) -> Place:
        return Place(self.new, place.thread) if place.chat == self.old else place

    def key(self, key: str) -> str:
        """A name, of which places are parts between colons."""
        return ":".join(map(self._part, key.split(":")))

    def _part(self, part: str) -> str:
        chat, slash, thread = part.partition("/")
        return f"{self.new}{slash}{thread}" if chat == str(self.old) else part

    def value(self, key: str, value: str) -> str:
        """What was noted; the place in it, if there is one."""
        noted = _decoded(value)
        if not isinstance(noted, dict) or (noted.get("place") or {}).get("chat") != self.old:
            return value
        noted["place"]["chat"] = self.new
        if key.startswith(_ORIGINS):
            noted["message_id"] = 0
        return msgspec.json.encode(noted).decode()


def _decoded(value: str) -> Any:
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return None


def _has_buttons(content: bytes) -> bool:
    return bool(content) and bool(msgspec.msgpack.decode(content, type=Content).buttons)
