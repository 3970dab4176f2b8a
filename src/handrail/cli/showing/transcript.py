"""A session as a transcript: what was said and done stays, what goes on now is below it and changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.text import Text

from handrail.cli.showing.calls import Call, call_of, label_of, render_call, render_outcome, render_running
from handrail.cli.showing.layout import Hanging, Indented, Tail
from handrail.cli.showing.looks import Looks
from handrail.cli.showing.progress import Progress
from handrail.cli.showing.remarks import notice, remark, remark_of_action, render_started
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.streamed import StreamedText
from handrail.cli.showing.style import DONE, FAILED, QUIET, RUNNING, markdown, prose
from handrail.cli.showing.summary import Ending, FilesChanged, render_ending, render_footer, render_resume
from handrail.events import model as e
from handrail.events.view import content_text

__all__ = ["TerminalView"]

PROMPT_MARK = "› "
_SHOWN_THOUGHTS = 4
_ANSWERED = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
"""Calls whose result is the answer of a person."""
_LETS_RUN = frozenset({"allow", "answers", "approve_plan", "enter_plan"})


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
        self.progress = Progress(hints=hints, clock=clock)
        self.screen = Screen(console, status=self._status, running=self._running)
        self._style = style or Style()
        self._clock = clock
        self._streamed: dict[str, tuple[str, StreamedText]] = {}
        self._calls: dict[str, Call] = {}
        self._open: dict[str, Call] = {}
        self._looks = Looks()
        self._files = FilesChanged()
        self._prompts: dict[str, str] = {}
        self._hidden: set[str] = set()
        self._inside: str | None = None
        self._last_call: str | None = None
        self._header = ""
        self._said = ""
        self._error = ""
        self._launched: set[str] = set()
        """Calls of subagents that go on in the background: their results say only that."""
        self._failed: set[str] = set()
        self._asked: dict[str, str] = {}
        self._refused: set[str] = set()
        self._tasks_told: set[str] = set()

    # ------------------------------------------------------------ as a View

    def show(self, item: e.Event | e.Delta) -> None:
        self.progress.receive(item)
        if isinstance(item, e.Delta):
            self._grow(item)
            return
        match item:
            case e.Text() | e.Thinking():
                self._written(item)
            case e.Action():
                self._action(item)
            case e.Prompt():
                self._prompt(item)
            case e.Task():
                self._task(item)
            case e.Started():
                self._started(item)
            case e.Completed():
                self._completed(item)
            case e.ProcessExited(reason=reason) if reason and reason == self._error:
                pass  # the end of the run said so
            case e.AskOpened() | e.AskClosed():
                self._ask(item)  # it is shown where it is answered
            case _:
                self._remark(remark(item, verbose=self._style.verbose))

    def notice(self, colour: str, text: str) -> None:
        self._remark(notice(colour, text))

    def draw(self) -> None:
        self.screen.draw()

    def stop(self) -> None:
        self._settle()
        self.screen.stop()

    def run_ended(self, event: e.Completed) -> None:
        error = event.error or ""
        said = bool(error) and error.strip() == self._said.strip()
        ending = Ending(
            ok=event.ok,
            error=error,
            said=said,
            duration_ms=event.duration_ms,
            turns=event.num_turns,
            cost_usd=event.cost_usd,
        )
        self._remark(render_ending(ending))

    def end(self, ending: Ending, *, resume: Collection[str] = ()) -> None:
        self._settle()
        self.screen.close()
        self.screen.show(render_ending(ending), kind="end")
        for line in render_resume(list(resume)):
            self.screen.show_for_copying(line)
        footer = render_footer(self.progress.model, self.progress.mode)
        if footer is not None:
            self.screen.show(footer, kind="end")

    @property
    def said(self) -> str:
        """What Claude said last."""
        return self._said

    @property
    def files(self) -> list[str]:
        """The files that were changed, in words."""
        return self._files.in_words(self.progress.cwd)

    # ------------------------------------------------------------ the part that changes

    def _status(self) -> RenderableType:
        return self.progress.line(len(self._open))

    def _running(self) -> RenderableType | None:
        """The calls that run, each below the subagent that makes it."""
        now = self._clock()
        lines: list[RenderableType] = []
        if self._looks:
            lines.append(self._indented(self._looks.line(self.progress.cwd), self._looks.parent))
        lines += [self._indented(render_running(call, self.progress.cwd, now), call.parent) for call in self._nested()]
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

    # ------------------------------------------------------------ what Claude says

    def _grow(self, delta: e.Delta) -> None:
        """Only the main conversation is shown as it is written: subagents write at the same time."""
        if delta.parent is not None or delta.kind == "input":
            return
        _, text = self._streamed.setdefault(delta.block, (delta.kind, StreamedText()))
        finished = text.place(delta.offset, delta.text)
        if finished:
            self._say(delta.kind, finished)
        self.screen.put("preview", self._preview(delta.kind, text))

    def _written(self, event: e.Text | e.Thinking) -> None:
        kind = "text" if isinstance(event, e.Text) else "thinking"
        if event.parent is not None:
            if kind == "text" and event.text.strip():
                self._show_inside(event.parent, markdown(event.text))
            return
        _, text = self._streamed.pop(event.block, (kind, StreamedText()))
        if kind == "text":
            self._said = event.text
        self._say(kind, text.finish(event.text))
        if event.partial:
            self.notice(QUIET, "(cut off here)")
        self._preview_the_rest()

    def _say(self, kind: str, text: str) -> None:
        if text.strip() and (kind == "text" or self._shows_thinking):
            self._fold()
            self._inside = self._last_call = None
            self.screen.show(self._words(kind, text.strip("\n")), kind=kind)

    def _preview_the_rest(self) -> None:
        growing = next(iter(self._streamed.values()), None)
        self.screen.put("preview", None if growing is None else self._preview(*growing))

    def _preview(self, kind: str, text: StreamedText) -> RenderableType:
        """What is being written; of thoughts that will not stay, the end."""
        shown = self._words(kind, text.preview())
        return shown if kind == "text" or self._shows_thinking else Tail(shown, _SHOWN_THOUGHTS)

    def _words(self, kind: str, text: str) -> RenderableType:
        if kind == "thinking":
            return markdown(text, "dim italic")
        return markdown(text) if self._style.markdown else prose(text)

    @property
    def _shows_thinking(self) -> bool:
        return self._style.thinking or self._style.verbose

    def _settle(self) -> None:
        """Nothing that was begun will be finished."""
        for block, (kind, text) in list(self._streamed.items()):
            del self._streamed[block]
            self._say(kind, text.finish())
        self.screen.put("preview", None)
        self._fold()

    # ------------------------------------------------------------ what Claude does

    def _action(self, action: e.Action) -> None:
        if self._is_remark(action):
            if action.detail.get("tool_use_id") not in self._failed:
                self._remark(remark_of_action(action, verbose=self._style.verbose))
        elif action.phase == "started":
            self._begin(call_of(action))
        elif action.phase == "completed":
            self._finish(action)

    def _is_remark(self, action: e.Action) -> bool:
        """Whether it is something that was said, and not a call: some calls are notes too."""
        called = action.id in self._calls or action.phase != "completed"
        return action.kind in ("warning", "telemetry") or (action.kind == "note" and not called)

    def _ask(self, event: e.AskOpened | e.AskClosed) -> None:
        """Remember which calls a person refused: that is said where they did, and their result repeats it."""
        if isinstance(event, e.AskOpened):
            self._asked[event.ask_id] = str(event.ask.get("tool_use_id") or "")
            return
        call = self._asked.pop(event.ask_id, "")
        if event.outcome == "decided" and str((event.answer or {}).get("type")) not in _LETS_RUN:
            self._refused.add(call)

    def _begin(self, call: Call) -> None:
        self._calls[call.id] = self._open[call.id] = call
        # Where nothing can change, and for a subagent, whose own calls come below it, the call is written at once.
        if call.is_agent or (not self.screen.can_change and not self._is_look(call)):
            self._show_inside(call.parent, render_call(call, self.progress.cwd))
            self._last_call = call.id
            if call.is_agent:
                self._inside = call.id

    def _finish(self, action: e.Action) -> None:
        call = self._open.pop(action.id, None) or self._calls.get(action.id) or call_of(action)
        if action.ok and isinstance(changes := action.detail.get("changes"), list):
            self._files.note(changes)
        if not action.ok:
            self._failed.add(call.id)
            if call.id in self._refused:
                return
        elif self._is_look(call):
            self._look(call)
            return
        elif call.name in _ANSWERED or call.id in self._launched:
            return  # what was answered is said where it was, and what a subagent found when it comes back
        if call.is_agent or not (self.screen.can_change or self._is_look(call)):
            label = "" if call.id == self._last_call else label_of(call, self.progress.cwd)
            shown = render_outcome(action, call, label=label, whole=self._style.verbose)
        else:
            shown = Group(
                render_call(call, self.progress.cwd, colour=DONE if action.ok else FAILED),
                render_outcome(action, call, whole=self._style.verbose),
            )
        self._show_inside(call.parent, shown)
        self._last_call = None

    def _is_look(self, call: Call) -> bool:
        return Looks.is_one(call) and not self._style.verbose

    def _look(self, call: Call) -> None:
        if not self._looks.fits(call):
            self._fold()
        self._looks.add(call)

    def _fold(self) -> None:
        """Write the reads and searches so far as one line."""
        if self._looks:
            parent = self._looks.parent
            self._show_inside(parent, self._looks.take(self.progress.cwd))

    def _show_inside(self, parent: str | None, renderable: RenderableType) -> None:
        """Show what a conversation did; a subagent's is set off, and named if something else came between."""
        if self._looks:
            self._fold()
        agent = self._calls.get(parent or "")
        if agent is not None and self._inside != parent:
            self.screen.show(
                self._indented(render_call(agent, self.progress.cwd, colour=QUIET), agent.parent), kind="tools"
            )
        self._inside = parent
        self.screen.show(self._indented(renderable, parent), kind="tools")

    def _indented(self, renderable: RenderableType, parent: str | None) -> RenderableType:
        depth = 0
        seen: set[str] = set()
        while parent and parent not in seen:
            seen.add(parent)
            depth += 1
            agent = self._calls.get(parent)
            parent = agent.parent if agent is not None else None
        return Indented(renderable, depth) if depth else renderable

    # ------------------------------------------------------------ everything else

    def _started(self, event: e.Started) -> None:
        """The CLI says the same at the start of every run; only news are shown."""
        meta = event.meta
        if meta is None:
            return
        header = f"{meta.model} {meta.permission_mode} {meta.cwd}"
        if header != self._header:
            self._header = header
            self.screen.show(render_started(meta), kind="notice")

    def _completed(self, event: e.Completed) -> None:
        self._settle()
        self._error = event.error or ""
        self._open = {id: call for id, call in self._open.items() if call.is_agent and self.progress.background}
        if event.ok and event.answer.strip() and event.answer.strip() != self._said.strip():
            self._said = event.answer
            self.screen.show(self._words("text", event.answer), kind="text")

    def _prompt(self, event: e.Prompt) -> None:
        """A message: below, while Claude has not taken it up; then in its place."""
        if event.uuid in self._hidden:
            return
        if event.content is not None:
            self._prompts[event.uuid] = content_text(event.content)
        if event.uuid in self._prompts and event.state not in ("queued", "sent"):
            text = self._prompts.pop(event.uuid)
            if event.state in ("dropped", "lost"):
                self.notice(FAILED, f"not taken up{f': {event.reason}' if event.reason else ''}: {text}")
            else:
                self._show_prompt(text)
        self._show_queued()

    def hide_prompt(self, uuid: str) -> None:
        """This message need not be shown: whoever wrote it has it before their eyes."""
        self._hidden.add(uuid)

    def _show_prompt(self, text: str) -> None:
        self._settle()
        self.screen.show(_prompt_line(text), kind="prompt")

    def _show_queued(self) -> None:
        waiting = [_prompt_line(text, waits=True) for text in self._prompts.values()]
        self.screen.put("queued", Group(*waiting) if waiting else None)

    def _task(self, event: e.Task) -> None:
        """Work in the background. That of a subagent was called where it began."""
        if event.detail.get("ambient") or not event.background:
            return
        if event.phase == "completed":
            colour = DONE if event.ok else QUIET if event.ok is None else FAILED
            self.notice(colour, _end_of_task(event))
        elif event.id not in self._tasks_told:
            self._tasks_told.add(event.id)
            call = self._calls.get(event.tool_use_id or "")
            if call is not None and call.is_agent:
                self._launched.add(call.id)
            else:
                self.notice(RUNNING, f"in the background: {event.title or 'a task'}")

    def _remark(self, rendered: RenderableType | None) -> None:
        if rendered is not None:
            self._fold()
            self._inside = None
            self.screen.show(rendered, kind="notice")


def _end_of_task(event: e.Task) -> str:
    if event.title and event.title in event.summary:
        return event.summary
    return f"{event.title or 'a task'}: {event.summary or event.status or 'ended'}"


def _prompt_line(text: str, *, waits: bool = False) -> RenderableType:
    shown = prose(text, QUIET if waits else "bold")
    if waits:
        shown = prose(text.replace("\n", " ⏎ ") + "  (waits for its turn)", QUIET)
        shown.no_wrap, shown.overflow = True, "ellipsis"
    return Hanging(Text(PROMPT_MARK, style=QUIET if waits else RUNNING), shown)
