"""A group that has got another number, because it became a supergroup: all that is known of it goes along."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from handrail.telegram.model import GONE, Content, Place, Press
from handrail.telegram.state.chats import Chat
from handrail.telegram.state.table import Table

__all__ = ["Moving"]

_NOTE: Final = "moved:"


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
        for table in ("messages", "follows", "drafts", "resting"):
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
        for key, after, encoded, is_due, is_of_ask in rows:
            content = msgspec.msgpack.decode(encoded, type=Content) if encoded else GONE
            due = is_due or (is_of_ask and content.buttons)
            self._connection.execute(
                "UPDATE OR IGNORE messages SET key = ?, after = ?, chat = ?, due = ?, message_id = 0, shown = x'', "
                "content = ?, shown_content = x'', shown_attachment = x'' WHERE key = ?",
                (moved.key(key), moved.key(after), moved.new, bool(due), moved.content(content), key),
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
                    "UPDATE OR IGNORE buttons SET key = ?, press = ? WHERE token = ?",
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
            if key.startswith(_NOTE):
                continue
            there = moved.key(key)
            self._connection.execute(
                "UPDATE OR IGNORE notes SET key = ?, value = ? WHERE key = ?", (there, moved.value(value), key)
            )
            if there != key:
                self._connection.execute("DELETE FROM notes WHERE key = ?", (key,))


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

    def content(self, content: Content) -> bytes:
        """What a message is to show, as a reply to nothing: under its number another message may be found there."""
        return b"" if content == GONE else msgspec.msgpack.encode(replace(content, reply_to=0))

    def value(self, value: str) -> str:
        """What was noted; the place in it, if there is one, and no message of the old group."""
        noted = _decoded(value)
        if not isinstance(noted, dict) or (noted.get("place") or {}).get("chat") != self.old:
            return value
        noted["place"]["chat"] = self.new
        if "message_id" in noted:
            noted["message_id"] = 0
        return msgspec.json.encode(noted).decode()


def _decoded(value: str) -> Any:
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return None
