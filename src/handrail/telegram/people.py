"""Who may use the bridge, and in whose name it acts at the hub."""

from __future__ import annotations

import logging
from collections.abc import Callable

from handrail.remote.hub import Hub
from handrail.telegram.model import Place, User
from handrail.telegram.settings import TelegramSettings

__all__ = ["People"]

logger = logging.getLogger("handrail.telegram")

MOST_STRANGERS = 1_000
"""How many strangers are remembered, so that each is named once in the log."""


class People:
    """The people of the settings, as they are now. Each acts through a hub of their own, which knows name and role."""

    def __init__(self, hub: Hub, settings: Callable[[], TelegramSettings]) -> None:
        self._hub = hub
        self._settings = settings
        self._hubs: dict[User, Hub] = {}
        self._strangers: set[int] = set()
        self._former: dict[int, int] = {}
        """The numbers that groups had when they were named, by those that they got since."""

    def user(self, telegram_id: int) -> User | None:
        """Somebody who may use the bridge."""
        return next((user for user in self._settings().users if user.id == telegram_id), None)

    def serves(self, place: Place) -> bool:
        """Whether the bridge works there: with each of its people alone, and in the groups that were named."""
        if place.is_private:
            return self.user(place.chat) is not None
        groups = self._settings().groups
        return place.chat in groups or self._former.get(place.chat) in groups

    def moved(self, old: int, new: int) -> None:
        """A group got another number: it is the same group all the same."""
        self._former[new] = old

    def hub_for(self, user: User) -> Hub:
        """The hub for what this person does: it checks their role, and records their name."""
        if user not in self._hubs:
            self._hubs = {known: hub for known, hub in self._hubs.items() if known.id != user.id}
            self._hubs[user] = self._hub.acting_for(user.name, surface="telegram", role=user.role)
        return self._hubs[user]

    def user_of(self, hub: Hub) -> User | None:
        """Who acts through a hub that `hub_for` gave; None for nobody that is known."""
        return next((user for user, known in self._hubs.items() if known is hub), None)

    def inbox_places(self) -> list[tuple[User, Place]]:
        """Each person, and the chat that the bot has with them alone."""
        return [(user, Place(user.id)) for user in self._settings().users]

    def turn_away(self, telegram_id: int, name: str) -> None:
        """Somebody wrote who may not: nothing is answered, and it is logged once."""
        if telegram_id in self._strangers or len(self._strangers) >= MOST_STRANGERS:
            return
        self._strangers.add(telegram_id)
        logger.warning(
            "ignored a message of %r (Telegram id %d), who is not in [[telegram.users]]", name[:64], telegram_id
        )
