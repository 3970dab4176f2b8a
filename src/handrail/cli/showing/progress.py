"""What goes on in a session now, on one line: what it does, for how long, and what it has used."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from handrail.cli.showing.amounts import context, cost, count, short_duration
from handrail.cli.showing.style import MARKS, NEEDS_YOU, QUIET, RUNNING, exact
from handrail.events import model as e

__all__ = ["Progress"]

STARTING = "starting Claude Code"
WAITING = "waiting for Claude"
SHORTEST_ACTIVITY = 24
_GAP = "  "


class Progress:
    """Follows a session's events. `hints` is what the person can do meanwhile."""

    def __init__(self, *, hints: str = "", clock: Callable[[], float] = time.time) -> None:
        self.hints = hints
        self.waiting_asks = 0
        self.model = ""
        self.mode = ""
        self.cwd = ""
        self.cost_usd = 0.0
        self.context_tokens = 0
        self.context_window: int | None = None
        self.is_running = False
        self.background: dict[str, str] = {}
        """What runs in the background, by its id, in words."""
        self._clock = clock
        self._activity = STARTING
        self._since = clock()
        self._cost_known = False

    # ------------------------------------------------------------ following

    def receive(self, item: e.Event | e.Delta) -> None:
        """Learn from an event or a delta."""
        match item:
            case e.Delta(parent=None, kind=kind):
                self._activity = {"text": "writing", "thinking": "thinking"}.get(kind, "preparing a call")
            case e.Started():
                self._started(item)
            case e.Completed():
                self._completed(item)
            case e.Usage(parent=None):
                self.context_tokens = item.context_tokens
                self.context_window = item.context_window or self.context_window
            case e.Task():
                self._task(item)
            case e.ModeChanged(mode=mode):
                self.mode = mode
            case e.ModelChanged(model=model):
                self.model = model
            case e.ApiRetry(attempt=attempt, max_retries=most):
                self._activity = f"retrying ({attempt} of {most})"
            case e.Compacting(phase="started"):
                self._activity = "compacting"
            case e.Text() | e.Thinking() | e.Action() | e.Compacting():
                self._activity = WAITING

    def _started(self, event: e.Started) -> None:
        self.is_running = True
        self._activity = WAITING
        self._since = event.at or self._clock()
        if event.meta is not None:
            self.model = event.meta.model or self.model
            self.mode = event.meta.permission_mode or self.mode
            self.cwd = event.meta.cwd or self.cwd

    def _completed(self, event: e.Completed) -> None:
        self.is_running = False
        self._activity = "idle"
        self._since = event.at or self._clock()
        self.cost_usd += event.cost_usd
        self._cost_known = True
        for usage in (event.model_usage or {}).values():
            window = usage.get("contextWindow") if isinstance(usage, dict) else None
            if isinstance(window, int) and self.context_window is None:
                self.context_window = window

    def _task(self, event: e.Task) -> None:
        if event.phase == "completed":
            self.background.pop(event.id, None)
        elif event.background:
            self.background[event.id] = event.title or self.background.get(event.id) or "a task"

    # ------------------------------------------------------------ showing

    def line(self, running: int = 0) -> RenderableType:
        """The line; `running` is how many calls run."""
        hints = "" if self.waiting_asks else self.hints  # at an ask, keys are for the ask
        return _StatusLine(self._doing(running), self._used(), hints)

    def _doing(self, running: int) -> Text:
        if self.waiting_asks:
            waiting = "an answer" if self.waiting_asks == 1 else f"{self.waiting_asks} answers"
            return Text(f"{MARKS[NEEDS_YOU]} waits for {waiting}", NEEDS_YOU)
        if self.is_running and running:
            said = f"working, {count(running, 'call')}" if running > 1 else "working"
        elif not self.is_running and self.background:
            said = f"in the background: {', '.join(self.background.values())}"
        else:
            said = self._activity
        return Text(f"{MARKS[RUNNING]} ", RUNNING).append_text(exact(said, RUNNING))

    def _used(self) -> list[str]:
        """What it has taken so far, the most telling last."""
        parts = [short_duration(max(0.0, self._clock() - self._since))]
        if self.context_tokens:
            parts.append(context(self.context_tokens, self.context_window))
        if self._cost_known:
            parts.append(cost(self.cost_usd))
        return parts


class _StatusLine:
    """What goes on at the left, what was used behind it; where there is little room, the hints go first."""

    def __init__(self, doing: Text, used: list[str], hints: str) -> None:
        self._doing = doing
        self._used = used
        self._hints = hints

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        tail = self._tail([*self._used, self._hints] if self._hints else self._used)
        if self._doing.cell_len + len(tail) > width:
            used = self._used
            while used and min(self._doing.cell_len, SHORTEST_ACTIVITY) + len(self._tail(used)) > width:
                used = used[:-1]
            tail = self._tail(used)
        doing = self._doing.copy()
        doing.truncate(max(1, width - len(tail)), overflow="ellipsis")
        yield Text.assemble(doing, (tail, QUIET), no_wrap=True)

    @staticmethod
    def _tail(parts: list[str]) -> str:
        return _GAP + " · ".join(parts) if parts else ""
