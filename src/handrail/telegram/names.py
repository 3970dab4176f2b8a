"""Names that are the same however often an update is handled: of messages to Claude, and of sessions."""

from __future__ import annotations

from uuid import UUID, uuid5

from handrail.telegram.model import Place

__all__ = ["Names"]

NAMESPACE = UUID("6f0f7a1e-2f0b-5c9e-9d0e-7b9c5a3a1d42")


class Names:
    """The names that one bot gives. What is done twice under the same name is done once."""

    def __init__(self, bot_id: int) -> None:
        self._bot_id = bot_id

    def message(self, place: Place, message_id: int, edit: int = 0) -> str:
        """A message to Claude; one that was edited is another."""
        return self._name("message", place.chat, message_id, edit)

    def session(self, place: Place, message_id: int) -> str:
        """The session that a message begins."""
        return self._name("session", place.chat, message_id)

    def _name(self, *parts: object) -> str:
        return str(uuid5(NAMESPACE, ":".join(map(str, (self._bot_id, *parts)))))
