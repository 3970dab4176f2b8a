"""How long the bridge remembers what, in seconds: long enough for whoever comes back to it, and nothing for ever.

What grows only with people, chats and the hub's own sessions has no end: chats, follows, chats that take nothing, and
where sessions put their files.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ANSWERED_ASKS",
    "BEGINNINGS",
    "BUTTONS",
    "CONTENTS",
    "DRAFTS",
    "MESSAGES",
    "PROMPTS",
    "SENT_FILES",
    "UNSENT",
    "UPDATES",
    "WAITING_ASKS",
]

DAY: Final = 24 * 3600.0

MESSAGES: Final = 180 * DAY
"""How long a reply to a message finds its session. Answers are found after that, too: they say how to resume it."""
CONTENTS: Final = 30 * DAY
"""What a message shows: until then, wanting the same again changes nothing in the chat."""
UNSENT: Final = 30 * DAY
"""What waits for a chat that takes nothing."""
BUTTONS: Final = 30 * DAY
"""Those of an ask that can be answered stay as long as it can be."""
DRAFTS: Final = 365 * DAY
"""Answers that were begun: they go with their ask, as a rule."""
UPDATES: Final = 8 * DAY
"""Longer than Telegram keeps, and could repeat, an update (a day), and than it goes on numbering them (a week)."""
WAITING_ASKS: Final = 365 * DAY
"""What a chat shows of an ask that can be answered, since anything about it changed."""
ANSWERED_ASKS: Final = 30 * DAY
"""Of one that is over: who presses a button late hears what became of it."""
PROMPTS: Final = 180 * DAY
"""Which message in a chat a message to Claude was, if it is never answered."""
BEGINNINGS: Final = 365 * DAY
"""Where a session is to put its files, if it never runs. Of one that has run, it is known as long as it is there."""
SENT_FILES: Final = 365 * DAY
"""Which files were sent, since its last run: one that is still in the outbox is not sent again."""
