"""What is shown for a moment only: drafts of an answer, and that the bot types. Only the latest of each counts."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable

import msgspec

from handrail.telegram.model import Place
from handrail.telegram.outbox.pacing import Rank, Waiting
from handrail.telegram.outbox.port import MessageBot
from handrail.telegram.text.rich import RichText

__all__ = ["Fleeting", "Moment"]

_STALE_AFTER = 10.0
"""Nobody wants to see, seconds later, that the bot was typing."""


class Moment(msgspec.Struct, frozen=True):
    """Something to show for a moment."""

    waiting: Waiting
    show: Callable[[MessageBot], Awaitable[None]]
    is_draft: bool
    expires: float


class Fleeting:
    """What waits to be shown for a moment. It is lost when the bridge ends, and nothing is lost by that."""

    def __init__(self) -> None:
        self._moments: dict[str, Moment] = {}
        self._numbers = itertools.count(1)

    def draft(self, place: Place, draft_id: int, text: RichText, now: float) -> None:
        """Show how far an answer is; what was to be shown of it before is not."""
        self._put(f"draft:{place}:{draft_id}", place, lambda bot: bot.draft(place, draft_id, text), now, is_draft=True)

    def drop_draft(self, place: Place, draft_id: int) -> None:
        """The answer is there: no draft of it is to come behind it."""
        self._moments.pop(f"draft:{place}:{draft_id}", None)

    def action(self, place: Place, action: str, now: float) -> None:
        """Show that the bot does something."""
        self._put(f"action:{place}", place, lambda bot: bot.action(place, action), now, is_draft=False)

    def waiting(self, now: float) -> list[Waiting]:
        """What could be shown."""
        for key in [key for key, moment in self._moments.items() if moment.expires <= now]:
            del self._moments[key]
        return [moment.waiting for moment in self._moments.values()]

    def take(self, key: str) -> Moment | None:
        """Have it: it does not wait any more."""
        return self._moments.pop(key, None)

    def __len__(self) -> int:
        return len(self._moments)

    def _put(
        self, key: str, place: Place, show: Callable[[MessageBot], Awaitable[None]], now: float, *, is_draft: bool
    ) -> None:
        before = self._moments.get(key)
        number = before.waiting.number if before else next(self._numbers)
        waiting = Waiting(key=key, place=place, rank=Rank.LIGHT, number=number)
        self._moments[key] = Moment(waiting, show, is_draft, now + _STALE_AFTER)
