"""What Claude does: each call with what came of it, below the subagent that made it; and the calls that run now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType

from handrail.cli.showing.calls import Call, call_of, label_of, render_call, render_outcome, render_running
from handrail.cli.showing.layout import Indented
from handrail.cli.showing.looks import Looks
from handrail.cli.showing.progress import Progress
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import DONE, FAILED, QUIET
from handrail.cli.showing.summary import FilesChanged
from handrail.events.model import Action, AskClosed, AskOpened

__all__ = ["Deeds"]

_ANSWERED = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
"""Calls whose result is the answer of a person."""
_LETS_RUN = frozenset({"allow", "answers", "approve_plan", "enter_plan"})


class Deeds:
    """Follows the tool calls of a session. With `whole`, nothing is folded."""

    def __init__(
        self, screen: Screen, progress: Progress, *, whole: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self.files = FilesChanged()
        self._screen = screen
        self._progress = progress
        self._whole = whole
        self._clock = clock
        self._calls: dict[str, Call] = {}
        self._open: dict[str, Call] = {}
        self._looks = Looks()
        self._inside: str | None = None
        self._last_call: str | None = None
        self._launched: set[str] = set()
        """Calls of subagents that go on in the background: their results say only that."""
        self._failed: set[str] = set()
        self._asked: dict[str, str] = {}
        self._refused: set[str] = set()

    def is_call(self, action: Action) -> bool:
        """Whether an action is a call, and not something that was said: some calls are notes too."""
        if action.kind == "note":
            return action.id in self._calls or action.phase != "completed"
        return action.kind not in ("warning", "telemetry")

    def has_failed(self, call: object) -> bool:
        """Whether the call with this id failed, which was shown."""
        return call in self._failed

    # ------------------------------------------------------------ what happens

    def receive(self, action: Action) -> None:
        """A call begins, or is over."""
        if action.phase == "started":
            self._begin(call_of(action))
        elif action.phase == "completed":
            self._finish(action)

    def asked(self, event: AskOpened | AskClosed) -> None:
        """Remember which calls a person refused: that is said where they did, and their result repeats it."""
        if isinstance(event, AskOpened):
            self._asked[event.ask_id] = str(event.ask.get("tool_use_id") or "")
            return
        call = self._asked.pop(event.ask_id, "")
        if event.outcome == "decided" and str((event.answer or {}).get("type")) not in _LETS_RUN:
            self._refused.add(call)

    def launched(self, call_id: str | None) -> bool:
        """A task goes on in the background: whether it is that of a subagent whose call was shown."""
        call = self._calls.get(call_id or "")
        if call is None or not call.is_agent:
            return False
        self._launched.add(call.id)
        return True

    def run_ended(self) -> None:
        """What is open still will not be finished, but for subagents in the background."""
        self._open = {id: call for id, call in self._open.items() if call.is_agent and self._progress.background}

    def _begin(self, call: Call) -> None:
        self._calls[call.id] = self._open[call.id] = call
        # Where nothing can change, and for a subagent, whose own calls come below it, the call is written at once.
        if call.is_agent or (not self._screen.can_change and not self._is_look(call)):
            self.show(call.parent, render_call(call, self._progress.cwd))
            self._last_call = call.id
            self._inside = call.id if call.is_agent else self._inside

    def _finish(self, action: Action) -> None:
        call = self._open.pop(action.id, None) or self._calls.get(action.id) or call_of(action)
        if action.ok:
            self._succeed(action, call)
            return
        self._failed.add(call.id)
        if call.id not in self._refused:
            self._tell(action, call)

    def _succeed(self, action: Action, call: Call) -> None:
        if isinstance(changes := action.detail.get("changes"), list):
            self.files.note(changes)
        if self._is_look(call):
            if not self._looks.fits(call):
                self.fold()
            self._looks.add(call)
        elif call.name not in _ANSWERED and call.id not in self._launched:
            # What was answered is said where it was, and what a subagent found when it comes back.
            self._tell(action, call)

    def _tell(self, action: Action, call: Call) -> None:
        if call.is_agent or not (self._screen.can_change or self._is_look(call)):
            label = "" if call.id == self._last_call else label_of(call, self._progress.cwd)
            shown = render_outcome(action, call, label=label, whole=self._whole)
        else:
            head = render_call(call, self._progress.cwd, colour=DONE if action.ok else FAILED)
            shown = Group(head, render_outcome(action, call, whole=self._whole))
        self.show(call.parent, shown)
        self._last_call = None

    def _is_look(self, call: Call) -> bool:
        return Looks.is_one(call) and not self._whole

    # ------------------------------------------------------------ for good

    def show(self, parent: str | None, renderable: RenderableType) -> None:
        """Show what a conversation did; a subagent's is set off, and named if something else came between."""
        self.fold()
        agent = self._calls.get(parent or "")
        if agent is not None and self._inside != parent:
            again = render_call(agent, self._progress.cwd, colour=QUIET)
            self._screen.show(self._indented(again, agent.parent), kind="tools")
        self._inside = parent
        self._screen.show(self._indented(renderable, parent), kind="tools")

    def fold(self) -> None:
        """Write the reads and searches so far as one line."""
        if self._looks:
            parent, line = self._looks.parent, self._looks.take(self._progress.cwd)
            self.show(parent, line)

    def make_room(self) -> None:
        """Something else is shown now."""
        self.fold()
        self._inside = self._last_call = None

    def _indented(self, renderable: RenderableType, parent: str | None) -> RenderableType:
        seen: set[str] = set()
        while parent and parent not in seen:
            seen.add(parent)
            agent = self._calls.get(parent)
            parent = agent.parent if agent is not None else None
        return Indented(renderable, len(seen)) if seen else renderable

    # ------------------------------------------------------------ now

    def __len__(self) -> int:
        return len(self._open)

    def running(self) -> RenderableType | None:
        """The calls that run, each below the subagent that makes it."""
        cwd, now = self._progress.cwd, self._clock()
        lines = [self._indented(self._looks.line(cwd), self._looks.parent)] if self._looks else []
        lines += [self._indented(render_running(call, cwd, now), call.parent) for call in self._nested()]
        return Group(*lines) if lines else None

    def _nested(self) -> Iterator[Call]:
        """The open calls, each followed by those that were made inside it."""
        inside: dict[str | None, list[Call]] = {}
        for call in self._open.values():
            inside.setdefault(call.parent if call.parent in self._open else None, []).append(call)
        waiting = inside.get(None, [])[::-1]
        while waiting:
            call = waiting.pop()
            yield call
            waiting += inside.get(call.id, [])[::-1]
