"""The updates that wait for the bot: kept until they are confirmed, handed to one poller at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from handrail.testing.telegram.api_errors import ApiError, conflict
from handrail.testing.telegram.faults import Faults

__all__ = ["UPDATES_BY_DEFAULT", "UpdateQueue"]

TWO_POLLERS = conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
_ONLY_WHEN_ASKED = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_KINDS = (
    "message edited_message channel_post edited_channel_post business_connection business_message "
    "edited_business_message deleted_business_messages message_reaction message_reaction_count inline_query "
    "chosen_inline_result callback_query shipping_query pre_checkout_query purchased_paid_media poll poll_answer "
    "my_chat_member chat_member chat_join_request chat_boost removed_chat_boost"
)
UPDATES_BY_DEFAULT = frozenset(_KINDS.split()) - _ONLY_WHEN_ASKED
_FIRST_ID = 700_000_001


class UpdateQueue:
    """Updates in order. Once a poller names an offset, everything before it is forgotten."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._waiting: list[dict[str, Any]] = []
        self._delivered: list[dict[str, Any]] = []
        """What the last answer contained, for the fault that repeats it."""
        self._next_id = _FIRST_ID
        self._allowed: frozenset[str] = UPDATES_BY_DEFAULT
        self._arrived = asyncio.Event()
        self._poller: asyncio.Future[ApiError] | None = None

    @property
    def pending(self) -> int:
        """How many are not confirmed yet."""
        return len(self._waiting)

    @property
    def is_polled(self) -> bool:
        """Whether a poller waits."""
        return self._poller is not None

    @property
    def allowed(self) -> list[str]:
        """What the bot wants to hear of, if it said so."""
        return [] if self._allowed == UPDATES_BY_DEFAULT else sorted(self._allowed)

    def allow(self, kinds: Collection[str]) -> None:
        """Keep only these from now on; an empty choice means what is kept by default."""
        known = {kind for kind in kinds if kind in _KINDS.split()}
        self._allowed = frozenset(known) if known else UPDATES_BY_DEFAULT

    def add(self, kind: str, content: dict[str, Any]) -> None:
        """An update, unless the bot does not want its kind."""
        if kind not in self._allowed:
            return
        self._waiting.append({"update_id": self._next_id, kind: content})
        self._next_id += 1
        self._arrived.set()

    def clear(self) -> None:
        """Forget all that wait."""
        self._waiting.clear()

    async def poll(self, offset: int, limit: int, timeout: float) -> list[dict[str, Any]]:
        """What a poller gets: at once if there is something, otherwise when something comes or the time is up.

        A second poller ends the first one's call, as the real server does. Raises `ApiError`.
        """
        self.end_poll(TWO_POLLERS)
        self._confirm(offset)
        if self._delivered and self._faults.takes_repeat():
            return self._delivered
        ended = self._poller = asyncio.get_running_loop().create_future()
        try:
            await self._wait_for_one(ended, timeout)
        finally:
            if self._poller is ended:
                self._poller = None
        return self._deliver(limit)

    def end_poll(self, reason: ApiError) -> None:
        """End the call that is waiting, if one is."""
        if self._poller and not self._poller.done():
            self._poller.set_result(reason)

    async def first(self) -> dict[str, Any]:
        """The oldest update, once there is one: what a webhook is to be sent next."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting[0]

    def confirm(self, update: dict[str, Any]) -> None:
        """The webhook took it."""
        self._confirm(int(update["update_id"]) + 1)

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self._waiting = self._waiting[offset:]
        else:
            self._waiting = [update for update in self._waiting if update["update_id"] >= offset]

    async def _wait_for_one(self, ended: asyncio.Future[ApiError], timeout: float) -> None:
        deadline = asyncio.get_running_loop().time() + timeout
        while not self._waiting and not ended.done():
            self._arrived.clear()
            arrived = asyncio.ensure_future(self._arrived.wait())
            left = deadline - asyncio.get_running_loop().time()
            either: set[asyncio.Future[Any]] = {arrived, ended}
            try:
                done, _ = await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                arrived.cancel()
            if not done:
                return
        if ended.done():
            raise ended.result()

    def _deliver(self, limit: int) -> list[dict[str, Any]]:
        self._delivered = self._waiting[:limit] or self._delivered
        return self._waiting[:limit]
