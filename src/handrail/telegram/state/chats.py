"""Which session and which project a chat (or a topic) is about, and how its people like things done there."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.telegram.model import Place
from handrail.telegram.state.table import Table

__all__ = ["Chat", "Chats", "PlanMode", "Prefs", "QueueMode"]

PlanMode: TypeAlias = Literal["", "on", "off", "auto"]
"""`auto`: plan first, then go on without asking. Empty: nobody chose."""
QueueMode: TypeAlias = Literal["steer", "after"]
"""What becomes of a message that is sent while Claude works: given to it now, or when it is done."""


class Prefs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What people chose for a chat. Empty and None mean that nobody chose."""

    model: str = ""
    mode: str = ""
    planmode: PlanMode = ""
    policy: str = ""
    verbose: bool = False
    inbox: bool | None = None
    """Whether asks of every session of the hub come to this chat."""
    queue: QueueMode = "steer"
    budget: float | None = None
    """What a session that is started here may cost, in US dollars."""


class Chat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place and what it is about."""

    place: Place
    session_id: str = ""
    cwd: str = ""
    host: str = ""
    worktree: str = ""
    prefs: Prefs = Prefs()


class Chats(Table):
    """The table of chats."""

    def chat(self, place: Place) -> Chat:
        """What is known of a place; of a new one, nothing but that."""
        found = self._connection.execute(
            "SELECT record FROM chats WHERE chat = ? AND thread = ?", (place.chat, place.thread)
        ).fetchone()
        return _decode(found[0]) if found else Chat(place=place)

    def set_chat(self, chat: Chat) -> None:
        """Remember a place as it is now."""
        self._connection.execute(
            "INSERT OR REPLACE INTO chats (chat, thread, record) VALUES (?, ?, ?)",
            (chat.place.chat, chat.place.thread, msgspec.json.encode(chat)),
        )

    def chats(self) -> list[Chat]:
        """All that were set."""
        rows = self._connection.execute("SELECT record FROM chats ORDER BY chat, thread")
        return [_decode(record) for (record,) in rows]


def _decode(record: bytes) -> Chat:
    return msgspec.json.decode(record, type=Chat)
