"""What a session came to while it was followed: for the summary, and for the exit code."""

from __future__ import annotations

from handrail.cli.showing.summary import Ending
from handrail.cli.surface import View
from handrail.events.endings import run_error, was_interrupted
from handrail.events.model import Completed, Event, Prompt, Started

__all__ = ["Account"]

_NOT_ANSWERED = {
    "dropped": "Claude Code dropped the message without answering it",
    "lost": "the message was lost: Claude Code ended before it was done with it",
}


class Account:
    """Adds up what its events say."""

    def __init__(self) -> None:
        self.last: Completed | None = None
        """The end of the last run."""
        self.trouble = ""
        """What went wrong outside of a run."""
        self._first: Started | None = None
        self._turns = 0

    @property
    def ok(self) -> bool:
        """Whether the last run went well."""
        return self.last is not None and self.last.ok

    def receive(self, event: Event) -> None:
        """Take an event into account."""
        match event:
            case Started():
                self._first = self._first or event
            case Completed():
                self.last = event
                self._turns += event.num_turns
            case Prompt(state="dropped" | "lost" as state, reason=reason):
                self.trouble = reason or _NOT_ANSWERED[state]

    def ending(self, view: View, *, stopped: bool, denied: int) -> Ending:
        """All of it, with what the view has seen."""
        error = run_error(self.last) if self.last is not None else ""
        return Ending(
            ok=self.ok,
            error=error,
            stopped=stopped,
            interrupted=self.last is not None and was_interrupted(self.last),
            said=bool(error) and error.strip() == view.said.strip(),
            duration_ms=self._duration_ms(),
            turns=self._turns,
            cost_usd=view.progress.cost_usd,
            context_tokens=view.progress.context_tokens,
            context_window=view.progress.context_window,
            files=tuple(view.files),
            denied=denied,
        )

    def _duration_ms(self) -> float:
        if self.last is None or self._first is None:
            return 0.0
        if self.last.run == self._first.run and self.last.duration_ms:
            return self.last.duration_ms
        return max(0.0, self.last.at - self._first.at) * 1000
