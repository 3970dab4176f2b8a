"""What Claude Code says that tells a reader nothing: words for its developers, and what is so in every case."""

from __future__ import annotations

from handrail.events.model import Completed
from handrail.protocol.descriptions import Reason

__all__ = ["is_any_hook", "run_error", "was_interrupted"]

DIAGNOSTIC = "[ede_diagnostic]"
"""What a run that was stopped has in place of an error."""
STOPPED = frozenset({"aborted_streaming", "aborted_tools"})


def was_interrupted(event: Completed) -> bool:
    """Whether somebody stopped the run, and nothing else went wrong with it."""
    stopped = event.detail.get("terminal_reason") in STOPPED
    return not event.ok and stopped and (event.error or DIAGNOSTIC).startswith(DIAGNOSTIC)


def run_error(event: Completed) -> str:
    """What went wrong in a run, in the CLI's words; nothing for one that was stopped."""
    return "" if was_interrupted(event) else event.error or ""


def is_any_hook(reason: Reason) -> bool:
    """Whether it only says that a hook of some settings asks. Handrail's own is one, so each ask would say it."""
    return reason.code == "decision_reason_hook_source" and reason.words == "settings"
