"""Where the bridge keeps what it remembers: one file for each bot, since Telegram numbers everything by bot."""

from __future__ import annotations

import os

from handrail.places import Places
from handrail.telegram.lease import BotLease

__all__ = ["bridge_database", "bridge_lease"]


def bridge_database(places: Places, bot_id: int) -> str:
    """The file with what the bridge of a bot remembers."""
    return os.path.join(places.state, f"telegram-{bot_id}.db")


def bridge_lease(places: Places, bot_id: int) -> BotLease:
    """The right to speak for a bot, as the bridge takes it."""
    return BotLease(os.path.dirname(bridge_database(places, bot_id)), bot_id)
