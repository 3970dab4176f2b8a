"""What Claude Code says that tells a reader nothing, because it is so in every case."""

from __future__ import annotations

from handrail.protocol.descriptions import Reason

__all__ = ["is_any_hook"]


def is_any_hook(reason: Reason) -> bool:
    """Whether it only says that a hook of some settings asks. Handrail's own is one, so each ask would say it."""
    return reason.code == "decision_reason_hook_source" and reason.words == "settings"
