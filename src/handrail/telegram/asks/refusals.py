"""Why an answer was not taken, in words for the person who gave it."""

from __future__ import annotations

from handrail.errors import (
    AlreadyDecided,
    AskClosed,
    DecisionRefused,
    HandrailError,
    HostAway,
    OutcomeUnknown,
    StaleDigest,
    UnfitAnswer,
)
from handrail.remote.errors import HubUnreachable
from handrail.telegram.asks.showing import CHANGED
from handrail.telegram.asks.words import ended, in_short, sentence

__all__ = ["refusal"]

NOT_TAKEN = "Your answer was not taken"


def refusal(error: HandrailError) -> str:
    """A sentence or two."""
    said = in_short(str(error))
    match error:
        case AlreadyDecided(actor=actor):
            return f"{sentence(in_short(f'already decided by {actor}'))} {NOT_TAKEN}."
        case AskClosed():
            return f"{sentence(said)} {NOT_TAKEN}."
        case StaleDigest():
            return f"{CHANGED} {NOT_TAKEN}."
        case UnfitAnswer():
            return f"{NOT_TAKEN}, and the ask waits: {ended(said)}"
        case HubUnreachable() | OutcomeUnknown():  # it may have been taken, and only the word of that was lost
            return f"Your answer may not have been taken: {ended(said)} If the ask waits when it is back, answer again."
        case HostAway():
            return f"{NOT_TAKEN}, and the ask waits: {ended(said)} Answer again when it is back."
        case DecisionRefused():
            return f"{NOT_TAKEN}: {ended(said)}"
    return f"{NOT_TAKEN}; it could not be sent: {ended(said)}"
