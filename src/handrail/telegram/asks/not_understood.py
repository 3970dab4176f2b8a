"""What was written cannot be read as what it is meant for."""

from __future__ import annotations

from handrail.errors import HandrailError

__all__ = ["NotUnderstood"]


class NotUnderstood(HandrailError):
    """A reply is not what was asked for; the message says what to write instead."""
