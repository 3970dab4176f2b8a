"""How a run ended: well, because somebody stopped it, or because something went wrong."""

from __future__ import annotations

from handrail.events.model import Completed

__all__ = ["run_error", "was_interrupted"]

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
