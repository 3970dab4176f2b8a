"""What messages are to show. The outbox brings Telegram there (`deliveries.py`)."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from handrail.telegram.model import GONE, Content, Place, SentMessage, WantedMessage
from handrail.telegram.state.table import Table

__all__ = ["Messages"]

_SENT = "key, chat, thread, message_id, session_id, ask_id, purpose, iif(message_id, shown_content, content)"
_LONGEST_CHAIN = 50
"""How many messages may each wait for the next; more would be a mistake, or a circle."""

Row: TypeAlias = tuple[Any, ...]


class Messages(Table):
    """The table of messages, as whoever wants something sees it."""

    wants = 0
    """How often something was wanted that is not there yet."""

    def want(self, message: WantedMessage) -> None:
        """From now on a message is to show this. What was wanted of it before, and not shown yet, never will be.

        It stays in the place where it was wanted first. What Telegram refused is tried again when it changes.
        """
        wanted = _Wanted.of(message.content)
        if not self._is_wanted_already(message, wanted):
            self._put(message, wanted)
            self.wants += 1

    def sent(self, key: str) -> SentMessage | None:
        """A message by its name; None if nobody ever wanted it. One that is not sent yet is shown as it will be."""
        return self._one("key = ?", key)

    def message_at(self, chat: int, message_id: int) -> SentMessage | None:
        """A message by its place in a chat."""
        return self._one("chat = ? AND message_id = ? AND message_id", chat, message_id)

    def of_ask(self, session_id: str, ask_id: str) -> list[SentMessage]:
        """The messages that show an ask, in all chats."""
        return self._all("session_id = ? AND ask_id = ? AND session_id <> ''", session_id, ask_id)

    def of_session(self, session_id: str, place: Place | None = None) -> list[SentMessage]:
        """The messages that speak of a session, in all chats or in one place."""
        found = self._all("session_id = ? AND session_id <> ''", session_id)
        return [message for message in found if place is None or message.place == place]

    def stray(self, place: Place, message_id: int) -> None:
        """A message of ours that nothing is known of is to be taken away.

        There is one if the answer to its sending never came, and it was sent again.
        """
        message = WantedMessage(key=f"stray:{place.chat}:{message_id}", place=place, content=GONE)
        self._put(message, _Wanted.of(GONE))
        self._connection.execute(
            "UPDATE messages SET message_id = ?, shown = x'00', due = 1 WHERE key = ?", (message_id, message.key)
        )
        self.wants += 1

    # ------------------------------------------------------------ inside

    def _is_wanted_already(self, message: WantedMessage, wanted: _Wanted) -> bool:
        """Whether nothing changes but, at most, what a reply to it means."""
        found = self._connection.execute(
            "UPDATE messages SET session_id = ?, ask_id = ?, purpose = ? WHERE key = ? AND content = ? "
            "AND attachment_digest = ? AND priority = ? AND after = ? RETURNING 1",
            (
                *(message.session_id, message.ask_id, message.purpose, message.key, wanted.content),
                *(wanted.attachment_digest, int(message.priority), message.after),
            ),
        )
        return found.fetchone() is not None

    def _put(self, message: WantedMessage, wanted: _Wanted) -> None:
        self._connection.execute(
            f"INSERT INTO messages ({_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT (key) DO UPDATE SET {_CHANGED}",  # noqa: S608
            (
                *(message.key, message.place.chat, message.place.thread),
                *(message.session_id, message.ask_id, message.purpose),
                *(int(message.priority), self._first_before(message)),
                *(wanted.content, wanted.digest, wanted.attachment, wanted.attachment_digest),
                *(self._next_number(), self.now, self.now, bool(wanted.digest)),
            ),
        )

    def _first_before(self, message: WantedMessage) -> str:
        """What it waits for, unless that waits, in the end, for this message."""
        following = message.after
        for _ in range(_LONGEST_CHAIN):
            if not following:
                return message.after
            if following == message.key:
                return ""
            found = self._connection.execute("SELECT after FROM messages WHERE key = ?", (following,)).fetchone()
            following = found[0] if found else ""
        return ""

    def _next_number(self) -> int:
        (last,) = self._connection.execute("SELECT max(number) FROM messages").fetchone()
        return (last or 0) + 1

    def _one(self, condition: str, *values: str | int) -> SentMessage | None:
        found = self._all(condition, *values)
        return found[0] if found else None

    def _all(self, condition: str, *values: str | int) -> list[SentMessage]:
        rows = self._connection.execute(
            f"SELECT {_SENT} FROM messages WHERE {condition} ORDER BY number",  # noqa: S608
            values,
        )
        return [_message(row) for row in rows]


_COLUMNS = (
    "key, chat, thread, session_id, ask_id, purpose, priority, after, "
    "content, digest, attachment, attachment_digest, number, due_since, changed_at, due"
)
_VALUES = ", ".join("?" * (1 + _COLUMNS.count(",")))
_TAKEN_OVER = ("session_id", "ask_id", "purpose", "priority", "after", "content", "digest", "attachment")
_CHANGED = ", ".join(
    [
        *(f"{name} = excluded.{name}" for name in (*_TAKEN_OVER, "attachment_digest", "changed_at")),
        # What waits keeps its turn: whoever comes behind it waited less.
        "number = iif(due, number, excluded.number)",
        "due_since = iif(due, due_since, excluded.due_since)",
        # What waits may have been done without our knowing. So what was shown before must be shown again; and what was
        # to be taken away, must be, before it can come again: this is no digest, so it has another file than any.
        "shown_attachment = iif(message_id AND due AND (digest = x'' OR attachment_digest <> shown_attachment), "
        "x'00', shown_attachment)",
        "due = iif(message_id, due OR excluded.digest <> shown OR excluded.attachment_digest <> shown_attachment, "
        "excluded.digest <> x'')",
        "problem = iif(excluded.digest = digest, problem, '')",
    ]
)


def _message(row: Row) -> SentMessage:
    """A row of `_SENT` as a message."""
    key, chat, thread, message_id, session_id, ask_id, purpose, content = row
    return SentMessage(
        key=key,
        place=Place(chat, thread),
        message_id=message_id,
        session_id=session_id,
        ask_id=ask_id,
        purpose=purpose,
        content=msgspec.msgpack.decode(content, type=Content) if content else GONE,
    )


class _Wanted(NamedTuple):
    """A content as it is stored: without the bytes of its attachment, and these. The digests are empty of nothing."""

    content: bytes
    digest: bytes
    attachment: bytes | None
    attachment_digest: bytes

    @classmethod
    def of(cls, content: Content) -> _Wanted:
        attachment = content.attachment
        if attachment is None:
            return cls(msgspec.msgpack.encode(content), _digest_of_looks(content), None, b"")
        named = replace(content, attachment=replace(attachment, data=b""))
        file = _digest(msgspec.msgpack.encode(attachment))
        return cls(msgspec.msgpack.encode(named), _digest_of_looks(named), attachment.data, file)


def _digest_of_looks(content: Content) -> bytes:
    """Of what can be seen: a message need not be changed because it would be sent in another way now."""
    looks = replace(content, reply_to=0, sound=False)
    return b"" if looks == GONE else _digest(msgspec.msgpack.encode(looks))


def _digest(encoded: bytes) -> bytes:
    return hashlib.sha256(encoded).digest()
