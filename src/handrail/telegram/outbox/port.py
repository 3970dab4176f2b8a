"""What the outbox needs of a bot."""

from __future__ import annotations

from typing import Protocol

from handrail.telegram.model import Content, Place
from handrail.telegram.text.rich import RichText

__all__ = ["MessageBot"]


class MessageBot(Protocol):
    """Writes in chats; `handrail.telegram.bot.TelegramBot` is one. Failures are `BotError`s."""

    async def send(self, place: Place, content: Content) -> int:
        """Write a message; returns its number in the chat."""
        ...

    async def edit(self, place: Place, message_id: int, content: Content) -> None:
        """Change a message."""
        ...

    async def delete(self, place: Place, message_id: int) -> None:
        """Take a message away."""
        ...

    async def draft(self, place: Place, draft_id: int, text: RichText) -> None:
        """Show a text that is being written."""
        ...

    async def action(self, place: Place, action: str = "typing") -> None:
        """Show that the bot does something."""
        ...
