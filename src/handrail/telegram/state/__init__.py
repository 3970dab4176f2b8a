"""What the bridge remembers: chats, messages and what they are to show, buttons, and updates, in one SQLite file."""

from __future__ import annotations

from handrail.telegram.state.bridge_state import BridgeState
from handrail.telegram.state.chats import Chat, PlanMode, Prefs, QueueMode
from handrail.telegram.state.deliveries import Delivery
from handrail.telegram.state.follows import Follow, FollowMode
from handrail.telegram.state.tables import Tables
from handrail.telegram.state.updates import KeptUpdate

__all__ = [
    "BridgeState",
    "Chat",
    "Delivery",
    "Follow",
    "FollowMode",
    "KeptUpdate",
    "PlanMode",
    "Prefs",
    "QueueMode",
    "Tables",
]
