"""What the outbox does to messages: which are to be sent next, and what became of them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from handrail.telegram.model import Content, Place, Priority
from handrail.telegram.state.table import Table

__all__ = ["Deliveries", "Delivery", "Head", "Step"]

Step: TypeAlias = Literal["send", "edit", "remove"]


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first message that waits in a place, among those of a priority."""

    key: str
    place: Place
    priority: Priority
    number: int
    is_new: bool
    """Whether it is not in the chat yet."""
    waited: float
    """For how long, in seconds."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message that does not show what it is to show, and the next step towards that."""

    key: str
    place: Place
    message_id: int
    content: Content
    """As wanted; if the attachment is shown already, without its bytes."""
    digest: bytes
    attachment_digest: bytes
    encoded: bytes
    """The content, as it is stored."""
    step: Step


_CAN_GO = """due AND chat NOT IN (SELECT chat FROM resting) AND NOT EXISTS (
    SELECT 1 FROM messages AS first WHERE first.key = messages.after AND first.due AND first.message_id = 0
    AND first.chat NOT IN (SELECT chat FROM resting))"""


class Deliveries(Table):
    """The table of messages, as the outbox sees it."""

    def heads(self, *, but: frozenset[str] = frozenset()) -> list[Head]:
        """The first that waits in each place and priority; `but` are keys that are set aside."""
        rows = self._connection.execute(
            "SELECT key, chat, thread, priority, min(number), message_id, due_since FROM messages "  # noqa: S608
            f"WHERE {_CAN_GO} AND key NOT IN (SELECT value FROM json_each(?)) GROUP BY chat, thread, priority",
            (msgspec.json.encode(sorted(but)).decode(),),
        )
        return [
            Head(
                key=key,
                place=Place(chat, thread),
                priority=Priority(priority),
                number=number,
                is_new=not message_id,
                waited=self.now - since,
            )
            for key, chat, thread, priority, number, message_id, since in rows
        ]

    def waiting(self) -> int:
        """How many messages could be sent, changed or taken away now."""
        (count,) = self._connection.execute(f"SELECT count(*) FROM messages WHERE {_CAN_GO}").fetchone()  # noqa: S608
        return int(count)

    def delivery(self, key: str) -> Delivery | None:
        """What is to be done about a message; None if nothing is."""
        found = self._connection.execute(
            "SELECT chat, thread, message_id, content, digest, attachment, attachment_digest, shown_attachment "
            "FROM messages WHERE key = ? AND due",
            (key,),
        ).fetchone()
        if not found:
            return None
        chat, thread, message_id, encoded, digest, file, attachment_digest, shown_attachment = found
        content = msgspec.msgpack.decode(encoded, type=Content)
        if content.attachment and attachment_digest != shown_attachment:
            # Its bytes are not kept once it was sent: if it must be sent anew, its text is what is left.
            attachment = replace(content.attachment, data=file) if file is not None else None
            content = replace(content, attachment=attachment)
        return Delivery(
            key=key,
            place=Place(chat, thread),
            message_id=message_id,
            content=content,
            digest=digest,
            attachment_digest=attachment_digest,
            encoded=encoded,
            step=_step(message_id, digest, attachment_digest == shown_attachment),
        )

    def shown(self, delivery: Delivery, message_id: int) -> None:
        """A message shows what was to be delivered. If something else is wanted by now, it waits behind the others.

        In a group that got another number meanwhile it is not there.
        """
        self._connection.execute(
            "UPDATE messages SET message_id = ?1, shown = ?2, shown_attachment = ?3, shown_content = ?6, "
            "problem = '', changed_at = ?4, "
            "due = digest <> ?2 OR attachment_digest <> ?3, "
            "attachment = iif(digest <> ?2 OR attachment_digest <> ?3, attachment, NULL), "
            "number = (SELECT max(number) + 1 FROM messages), due_since = ?4 WHERE key = ?5 AND chat = ?7",
            (
                *(message_id, delivery.digest, delivery.attachment_digest, self.now),
                *(delivery.key, delivery.encoded, delivery.place.chat),
            ),
        )

    def removed(self, key: str) -> None:
        """A message is not in its chat any more. If it is still wanted, it is to be sent anew."""
        self._connection.execute(
            "UPDATE messages SET message_id = 0, shown = x'', shown_attachment = x'', changed_at = ?, "
            "due = digest <> x'' WHERE key = ?",
            (self.now, key),
        )

    def left_alone(self, delivery: Delivery, problem: str = "") -> None:
        """Nothing can or need be done about a message, until something else is wanted of it.

        `problem` is why Telegram did not take it, if it was that.
        """
        self._connection.execute(
            "UPDATE messages SET problem = ?1, changed_at = ?2, due = digest <> ?3 OR attachment_digest <> ?4 "
            "WHERE key = ?5",
            (problem, self.now, delivery.digest, delivery.attachment_digest, delivery.key),
        )

    def forgone(self, delivery: Delivery) -> None:
        """Nobody may see it: it is as if it had not been wanted, and whoever wants it again begins anew."""
        self._connection.execute(
            "DELETE FROM messages WHERE key = ? AND digest = ? AND NOT message_id", (delivery.key, delivery.digest)
        )
        self._connection.execute(
            "UPDATE messages SET content = shown_content, digest = shown, attachment = NULL, "
            "attachment_digest = shown_attachment, due = 0, changed_at = ? WHERE key = ? AND digest = ?",
            (self.now, delivery.key, delivery.digest),
        )

    def problems(self) -> list[tuple[str, str]]:
        """The messages that Telegram refused, with its words."""
        return self._connection.execute(
            "SELECT key, problem FROM messages WHERE problem <> '' ORDER BY number"
        ).fetchall()

    def rest(self, chat: int, why: str) -> None:
        """A chat takes nothing until somebody writes there."""
        self._connection.execute(
            "INSERT OR REPLACE INTO resting (chat, why, since) VALUES (?, ?, ?)", (chat, why, self.now)
        )

    def revive(self, chat: int) -> bool:
        """Somebody wrote in a chat. Returns whether it rested."""
        return self._connection.execute("DELETE FROM resting WHERE chat = ?", (chat,)).rowcount > 0

    def resting(self) -> dict[int, str]:
        """The chats that take nothing, and why."""
        return dict(self._connection.execute("SELECT chat, why FROM resting ORDER BY chat").fetchall())


def _step(message_id: int, digest: bytes, has_its_file: bool) -> Step:
    """A message cannot get, change or lose a file: it is taken away and sent anew."""
    if not message_id:
        return "send"
    return "edit" if digest and has_its_file else "remove"
