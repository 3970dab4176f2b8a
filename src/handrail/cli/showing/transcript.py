"""A session as a transcript: what was said and done stays, what goes on now is below it and changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from rich.console import Console, RenderableType

from handrail.cli.showing.deeds import Deeds
from handrail.cli.showing.messages import Messages
from handrail.cli.showing.progress import Progress
from handrail.cli.showing.remarks import notice, remark, remark_of_action, render_started
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.speech import Speech
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET, RUNNING
from handrail.cli.showing.summary import Ending, render_ending, render_footer, render_resume
from handrail.events import model as e
from handrail.events.endings import run_error, was_interrupted

__all__ = ["Style", "TerminalView"]


@dataclass(frozen=True, slots=True)
class Style:
    """How much is shown. `verbose`: tool output whole, and a line for every event."""

    verbose: bool = False
    markdown: bool = True
    thinking: bool = False
    """Whether what Claude thinks stays in the transcript; while it thinks, it is always to be seen."""


class TerminalView:
    """Implements `handrail.cli.surface.View`."""

    def __init__(
        self,
        console: Console,
        style: Style | None = None,
        *,
        hints: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        style = style or Style()
        self.progress = Progress(hints=hints, clock=clock)
        self.screen = Screen(console, status=lambda: self.progress.line(len(self._deeds)), running=self._running)
        self._deeds = Deeds(self.screen, self.progress, whole=style.verbose, clock=clock)
        self._speech = Speech(
            self.screen, self._deeds.make_room, kept=style.thinking or style.verbose, formatted=style.markdown
        )
        self._messages = Messages()
        self._verbose = style.verbose
        self._header = ""
        self._error = ""
        self._tasks_told: set[str] = set()

    # ------------------------------------------------------------ as a View

    @property
    def said(self) -> str:
        return self._speech.last

    @property
    def files(self) -> list[str]:
        return self._deeds.files.in_words(self.progress.cwd)

    def show(self, item: e.Event | e.Delta) -> None:
        self.progress.receive(item)
        match item:
            case e.Delta():
                self._speech.grow(item)
            case e.Text() | e.Thinking():
                self._written(item)
            case e.Action():
                self._action(item)
            case e.Prompt():
                self._message(item)
            case e.Task():
                self._task(item)
            case e.Started():
                self._started(item)
            case e.Completed():
                self._completed(item)
            case e.AskOpened() | e.AskClosed():
                self._deeds.asked(item)  # it is shown where it is answered
            case e.ProcessExited(reason=reason) if reason and reason == self._error:
                pass  # the end of the run said so
            case _:
                self._remark(remark(item, verbose=self._verbose))

    def notice(self, colour: str, text: str) -> None:
        self._remark(notice(colour, text))

    def hide_prompt(self, uuid: str) -> None:
        self._messages.hide(uuid)

    def draw(self) -> None:
        self.screen.draw()

    def stop(self) -> None:
        self._settle()
        self.screen.stop()

    def run_ended(self, event: e.Completed) -> None:
        error = run_error(event)
        ending = Ending(
            ok=event.ok,
            error=error,
            interrupted=was_interrupted(event),
            said=bool(error) and error.strip() == self.said.strip(),
            duration_ms=event.duration_ms,
            turns=event.num_turns,
            cost_usd=event.cost_usd,
        )
        self._remark(render_ending(ending))

    def end(self, ending: Ending, *, resume: Collection[str] = ()) -> None:
        self._settle()
        for message in self._messages.left():
            self.notice(NEEDS_YOU, f"not taken up: {message}")
        self.screen.close()
        self.screen.show(render_ending(ending), kind="end")
        for line in render_resume(list(resume)):
            self.screen.show_for_copying(line)
        footer = render_footer(self.progress.model, self.progress.mode)
        if footer is not None:
            self.screen.show(footer, kind="end")

    # ------------------------------------------------------------ event by event

    def _running(self) -> RenderableType | None:
        return self._deeds.running()

    def _written(self, event: e.Text | e.Thinking) -> None:
        if event.parent is None:
            self._speech.finish(event)
            if event.partial:
                self.notice(QUIET, "(cut off here)")
        elif isinstance(event, e.Text) and event.text.strip():
            self._deeds.show(event.parent, self._speech.words("text", event.text))

    def _action(self, action: e.Action) -> None:
        if self._deeds.is_call(action):
            self._deeds.receive(action)
        elif not self._deeds.has_failed(action.detail.get("tool_use_id")):
            self._remark(remark_of_action(action, verbose=self._verbose))

    def _message(self, event: e.Prompt) -> None:
        shown = self._messages.receive(event)
        if shown is not None:
            self._settle()
            self._deeds.make_room()
            self.screen.show(shown, kind="prompt")
        self.screen.put("queued", self._messages.waiting())

    def _task(self, event: e.Task) -> None:
        """Work in the background. That of a subagent was called where it began."""
        if event.detail.get("ambient") or not event.background:
            return
        if event.phase == "completed":
            self.notice(DONE if event.ok else QUIET if event.ok is None else FAILED, _end_of_task(event))
        elif event.id not in self._tasks_told:
            self._tasks_told.add(event.id)
            if not self._deeds.launched(event.tool_use_id):
                self.notice(RUNNING, f"in the background: {event.title or 'a task'}")

    def _started(self, event: e.Started) -> None:
        """The CLI says the same at the start of every run; only news are shown."""
        meta = event.meta
        if meta is None:
            return
        header = f"{meta.model} {meta.permission_mode} {meta.cwd}"
        if header != self._header:
            self._header = header
            self._remark(render_started(meta))

    def _completed(self, event: e.Completed) -> None:
        self._settle()
        self._error = event.error or ""
        self._deeds.run_ended()
        if event.ok and event.answer.strip() and event.answer.strip() != self.said.strip():
            self._speech.add(event.answer)

    def _remark(self, rendered: RenderableType | None) -> None:
        if rendered is not None:
            self._deeds.make_room()
            self.screen.show(rendered, kind="notice")

    def _settle(self) -> None:
        """Nothing that was begun will be finished."""
        self._speech.settle()
        self._deeds.fold()


def _end_of_task(event: e.Task) -> str:
    if event.title and event.title in event.summary:
        return event.summary
    ended = event.status if event.status != "running" else ""
    return f"{event.title or 'a task'}: {event.summary or ended or 'ended'}"
