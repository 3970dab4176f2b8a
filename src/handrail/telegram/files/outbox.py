"""Files that Claude puts into a directory of its session for the people who talk to it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from handrail.errors import HandrailError, HostAway
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.rendering.amounts import size
from handrail.sessions.exchange import OUTBOX, ListedFile
from handrail.store.base import SessionRow
from handrail.telegram import lifetimes
from handrail.telegram.files.incoming import picture_kind, safe_name
from handrail.telegram.model import Attachment, Content, Place, Priority, WantedMessage
from handrail.telegram.text.rich import RichText, code, plain
from handrail.telegram.text.safe import line

if TYPE_CHECKING:
    from handrail.telegram.state import BridgeState, Tables

__all__ = ["FileOutbox", "instructions", "outbox_of"]

logger = logging.getLogger("handrail.telegram")

MOST_AT_ONCE: Final = 10
LARGEST_PHOTO: Final = 10 * 1024 * 1024
"""What Telegram takes as a photo; more goes as a document."""


def outbox_of(cli_session_id: str) -> str:
    """The directory, from that of the session: sessions in the same project have one each."""
    return f"{OUTBOX}/{cli_session_id[:8]}"


def instructions(cli_session_id: str) -> str:
    """What Claude is told of it."""
    return (
        "The user talks to you through Telegram and cannot see your files. To send them a file (a picture, a report, a "
        f"log), put it into the directory {outbox_of(cli_session_id)} inside your working directory: whatever is new "
        "there when your turn ends is sent. Mention what you sent; do not tell the user about the directory."
    )


class FileOutbox:
    """Sends what is new in the outbox of a session; each version of a file once to each place."""

    def __init__(self, hub: Hub, state: BridgeState) -> None:
        self._hub = hub
        self._state = state

    async def send(self, place: Place, row: SessionRow, cli_session_id: str) -> bool:
        """Want what is new there; whether there was anything. What goes wrong is said in the chat.

        Raises `HubUnreachable` or `HostAway`: then nothing is known of the rest, and it can be done again.
        """
        directory = f"{row.cwd}/{outbox_of(cli_session_id)}"
        try:
            listed = await self._hub.files.list(directory, host=row.host, optional=True)
        except (HubUnreachable, HostAway):
            raise
        except HandrailError as error:  # a host may not exchange files at all
            logger.debug("no outbox of session %s: %s", row.id, error)
            return False
        prefix, there = _note(place, row.id), {each.name for each in listed}
        known = await self._state.write(lambda tables: _still_known(tables, prefix, there))
        new = [each for each in listed if known.get(_note(place, row.id) + each.name) != _version(each)]
        for each in new[:MOST_AT_ONCE]:
            await self._want(place, row, each, await self._content(directory, row.host, each))
        if more := new[MOST_AT_ONCE:]:
            note = plain(f"{len(more)} further files wait in the outbox: they come after Claude's next turn.")
            await self._say(place, row, f"files:{row.id}:{more[0].name}:{_version(more[0])}:{place}", Content(note))
        return bool(new)

    async def _content(self, directory: str, host: str, file: ListedFile) -> Content:
        try:
            data = await self._hub.files.fetch(f"{directory}/{file.name}", host=host)
        except (HubUnreachable, HostAway):
            raise
        except HandrailError as error:
            return Content(plain(f"{line(file.name)} could not be sent: {error}"))
        if not data:
            return Content(plain("Claude sent an empty file: ") + code(line(file.name)))
        is_photo = picture_kind(data) in ("image/png", "image/jpeg") and len(data) <= LARGEST_PHOTO
        return Content(
            _caption(file), attachment=Attachment(safe_name(file.name), data, "photo" if is_photo else "document")
        )

    async def _want(self, place: Place, row: SessionRow, file: ListedFile, content: Content) -> None:
        key = f"file:{row.id}:{file.name}:{_version(file)}:{place}"
        await self._say(place, row, key, content, noted=(_note(place, row.id) + file.name, _version(file)))

    async def _say(
        self, place: Place, row: SessionRow, key: str, content: Content, noted: tuple[str, str] | None = None
    ) -> None:
        def want(tables: Tables) -> None:
            tables.want(
                WantedMessage(key=key, place=place, content=content, priority=Priority.ANSWER, session_id=row.id)
            )
            if noted is not None:
                tables.note(*noted, stays=lifetimes.SENT_FILES)

        await self._state.write(want)


def _still_known(tables: Tables, prefix: str, there: set[str]) -> dict[str, str]:
    """What was sent of what is there. Of files that are there no longer, nothing need be known."""
    known = tables.notes(prefix)
    for key, version in known.items():
        is_there = key.removeprefix(prefix) in there
        tables.note(key, version if is_there else None, stays=lifetimes.SENT_FILES)
    return known


def _caption(file: ListedFile) -> RichText:
    return code(line(file.name)) + f" · {size(file.size)}"


def _note(place: Place, session_id: str) -> str:
    return f"sent:{place}:{session_id}:"


def _version(file: ListedFile) -> str:
    return f"{file.modified_at:.3f}-{file.size}"
