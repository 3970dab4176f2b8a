"""Brings messages to what they are to show, at Telegram's pace."""

from __future__ import annotations

from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.outbox.worker import Outbox

__all__ = ["Outbox", "Pace"]
