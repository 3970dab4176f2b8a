"""Pictures and documents, to Claude and back, and `/file`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from handrail.errors import HandrailError
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.sessions.exchange import INBOX
from handrail.store.base import SessionRow
from handrail.telegram.asks.files import answer_file, text_in
from handrail.telegram.bot_errors import FloodWait, Unreachable
from handrail.telegram.files import outbox
from handrail.telegram.files.command import FileCommand
from handrail.telegram.files.incoming import (
    LARGEST_DOWNLOAD,
    LARGEST_PICTURE,
    Incoming,
    UnusableFile,
    incoming_of,
    picture_block,
    picture_kind,
    text_block,
    text_of,
)
from handrail.telegram.files.parcel import Parcel
from handrail.telegram.incoming import Message
from handrail.telegram.model import Place

if TYPE_CHECKING:
    from handrail.telegram.bot import TelegramBot
    from handrail.telegram.commands.context import CommandContext
    from handrail.telegram.state import BridgeState

__all__ = ["FilesDesk"]

PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Between attempts to get a file from Telegram."""
IGNORE_ALL = b"*\n"
"""For git: neither inbox nor outbox is part of a project."""


class FilesDesk:
    """The files of all chats. `hub` is the bridge's own: whoever may write to Claude may send it a file."""

    def __init__(
        self, hub: Hub, bot: TelegramBot, state: BridgeState, *, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._hub = hub
        self._bot = bot
        self._outbox = outbox.FileOutbox(hub, state)
        self._command = FileCommand(bot)
        self._changed = changed

    # ------------------------------------------------------------ to Claude

    async def received(self, messages: Sequence[Message], text: str) -> Parcel:
        """A message with a file, or all messages of an album, as Claude is to get it. Raises `HandrailError`."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
        files: list[Callable[[SessionRow], Awaitable[str]]] = []
        for message in messages:
            file = incoming_of(message)
            data = await self._downloaded(file.file_id)
            if not data:
                raise UnusableFile(f"{file.name} is empty.")
            block = _block(file, data)
            if block is not None:
                blocks.append(block)
            else:
                files.append(partial(self._put, f"{INBOX}/{message.message_id}-{file.name}", file, data))
        return Parcel(blocks, files)

    async def answer(self, messages: Sequence[Message]) -> str:
        """The text of a file that is an answer to an ask. Raises `NotUnderstood` if it cannot be one."""
        document = answer_file(messages)
        return text_in(document.file_name, await self._downloaded(document.file_id))

    async def _downloaded(self, file_id: str) -> bytes:
        """Telegram may be away for a moment: the message that the file came with must not be lost for that."""
        for pause in PAUSES:
            try:
                return await self._bot.download(file_id, LARGEST_DOWNLOAD)
            except FloodWait as error:
                await asyncio.sleep(max(pause, error.retry_after))
            except Unreachable:
                await asyncio.sleep(pause)
        return await self._bot.download(file_id, LARGEST_DOWNLOAD)

    async def _put(self, path: str, file: Incoming, data: bytes, row: SessionRow) -> str:
        """Put a file into the session's inbox."""
        try:
            await self._hub.files.put(f"{row.cwd}/{INBOX}/.gitignore", IGNORE_ALL, host=row.host, replace=True)
            await self._hub.files.put(f"{row.cwd}/{path}", data, host=row.host, replace=True)
        except HubUnreachable:
            raise
        except HandrailError as error:
            raise UnusableFile(f"{file.name} could not be put into the project: {error}") from None
        return path

    # ------------------------------------------------------------ and back

    def outbox_of(self, cli_session_id: str) -> str:
        """Where Claude puts files to send, from the session's directory."""
        return outbox.outbox_of(cli_session_id)

    def instructions(self, cli_session_id: str) -> str:
        """What Claude is told of that."""
        return outbox.instructions(cli_session_id)

    async def send_back(self, place: Place, row: SessionRow, cli_session_id_at_start: str) -> None:
        """Send what is new in the outbox of a session."""
        if await self._outbox.send(place, row, cli_session_id_at_start):
            self._changed()

    # ------------------------------------------------------------ /file

    async def command(
        self, context: CommandContext, arguments: str, *, message: Message | None, replied: Message | None
    ) -> None:
        """Fetch a file of the project, or put one there."""
        await self._command.run(context, arguments, message=message, replied=replied)


def _block(file: Incoming, data: bytes) -> dict[str, Any] | None:
    """A file that goes into the message itself; None if it does not."""
    kind = picture_kind(data)
    if kind is not None and len(data) <= LARGEST_PICTURE:
        return picture_block(data, kind)
    text = text_of(data)
    return text_block(file.name, text) if text is not None else None
