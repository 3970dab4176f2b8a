"""All tables of the bridge, inside one transaction."""

from __future__ import annotations

from handrail.telegram.state.answering import Answering
from handrail.telegram.state.buttons import Buttons
from handrail.telegram.state.chats import Chats
from handrail.telegram.state.deliveries import Deliveries
from handrail.telegram.state.follows import Follows
from handrail.telegram.state.messages import Messages
from handrail.telegram.state.moving import Moving
from handrail.telegram.state.notes import Notes
from handrail.telegram.state.updates import Updates
from handrail.telegram.state.upkeep import Upkeep

__all__ = ["Tables"]


class Tables(Messages, Deliveries, Buttons, Follows, Chats, Updates, Answering, Notes, Upkeep, Moving):
    """What a function given to `BridgeState.write` or `read` works on. Not to be kept beyond it."""
