"""Compares the journals that a host has with the copies here, and says from where on they are to be sent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from handrail.link import wire
from handrail.server.hosts.checking import check_session_id
from handrail.server.hosts.copies import Copies
from handrail.server.hosts.ending import end_copy, is_ended
from handrail.store.base import CopyHead, SessionFilter

__all__ = ["Offers"]

logger = logging.getLogger("handrail.hosts")

EVERY_SESSION: Final = 100_000


class Offers:
    """What one host has, as far as it was said over one link. `is_removed` says whether the host with an id is."""

    def __init__(self, copies: Copies, *, is_removed: Callable[[str], bool]) -> None:
        self._copies = copies
        self._store = copies.manager.store
        self._is_removed = is_removed
        self._copied: dict[str, CopyHead] | None = None
        self._offered: set[str] = set()
        """Those of the copied sessions that the host still has."""

    async def take(self, offer: wire.Offer) -> None:
        """The host says where its journals stand; it is answered where the copies do."""
        for head in offer.heads:
            check_session_id(head.session_id)
        if self._copied is None:
            self._copied = await self._look()
        answers = [await self._answer(head, self._copied) for head in offer.heads]
        heads = [head for head in answers if head is not None]
        if heads:
            self._copies.send(wire.Have(heads=heads))
        if foreign := len(answers) - len(heads):
            logger.warning("%s offers %d sessions that are not its own: not copied", self._copies.host.name, foreign)
        if offer.done:
            await self._end_the_lost(self._copied)

    async def _look(self) -> dict[str, CopyHead]:
        """What is copied; and what is live, as far as is known, can be followed from now on."""
        host = self._copies.host.id
        for row in await self._store.list_sessions(SessionFilter(archived=None, host=host), limit=EVERY_SESSION):
            if row.owner is not None:
                self._copies.feed(row.id).begin(row.last_seq)
        return {head.session_id: head for head in await self._store.copied(host)}

    async def _answer(self, offered: CopyHead, copied: dict[str, CopyHead]) -> CopyHead | None:
        """Where the copy of a session stands; None for one that is not this host's, of which nothing is wanted."""
        name = offered.session_id
        nothing = CopyHead(session_id=name, fence=0, last_seq=0)
        copy = copied.get(name)
        if copy is None:
            return nothing if await self._has_room(name) else None
        self._offered.add(name)
        if copy.has_other_past(offered) and not self._copies.has_come(name):
            await self._copies.set_aside(name, f"before {self._copies.host.name} lost its journal")
            return nothing
        return copy

    async def _has_room(self, session_id: str) -> bool:
        """Whether a session can be copied. One of a host that is revoked may have come back with another one."""
        row = await self._store.get_session(session_id)
        if row is None or row.host == self._copies.host.id:
            return True
        if row.host and self._is_removed(row.host):
            await self._copies.set_aside(session_id, "of a host that was removed")
            return True
        return False

    async def _end_the_lost(self, copied: dict[str, CopyHead]) -> None:
        """Copies of sessions that the host does not have any more stay as they are, and claim nothing."""
        for session_id in copied.keys() - self._offered:
            if self._copies.has_come(session_id) or is_ended(copied[session_id]):
                continue
            if await end_copy(session_id, self._copies.manager):
                await self._copies.on_loss(session_id, f"{self._copies.host.name} does not have it any more")
