"""Frames → events: what the lines between Handrail and one CLI process mean.

    translator = Translator()
    for item in translator.receive(frame):
        ...                                    # an event to store, or a delta to show
    translator.exited(exit_code=0, reason="")  # the process is gone: whatever was open is closed

A translator follows one process from its start to its end. Each run has one `Started` and one `Completed`, its last
event; what happens between runs belongs to the session. Whatever a frame holds, it has its place: what no rule covers
becomes `Unknown`, with all of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import to_builtins
from msgspec.structs import force_setattr

from handrail.events.conversation import Conversation
from handrail.events.facts import Facts
from handrail.events.hooks import Hooks
from handrail.events.messages import Messages
from handrail.events.model import Action, Completed, Delta, Event, ProcessExited, Unknown
from handrail.events.notices import NOTICES, telemetry, warning
from handrail.events.recorded_asks import RecordedAsks
from handrail.events.runs import Runs, meta_of
from handrail.events.tools import describe_call
from handrail.protocol import frames
from handrail.protocol.frames import Frame

__all__ = ["SILENT", "Translator"]

REMEMBERED_FRAMES = 4096
NO_RESULT = "the run ended before this had a result"
PUT_OFF = "put off until the session is resumed"

SILENT: tuple[type[Frame], ...] = (frames.KeepAlive, frames.ThinkingTokens, frames.TranscriptMirror)
"""Frames that say nothing new: signs of life, estimates, copies of other frames."""


class Translator:
    """What the frames of one CLI process mean.

    `resume` is the session that the process was asked to go on with; without `fork`, another id in its first `init` is
    fatal. `asks` is for recordings: asks and messages are taken from the frames themselves, where a live session has
    an ask book and a journal that know more. `first_run` is the number of the first run; `mode` and `model` are what
    was last known of the session.
    """

    def __init__(
        self,
        *,
        resume: str | None = None,
        fork: bool = False,
        asks: bool = False,
        first_run: int = 1,
        mode: str | None = None,
        model: str | None = None,
    ) -> None:
        self._resume = resume
        self._first_run = first_run
        self._facts = Facts(resume=resume, fork=fork, mode=mode, model=model)
        self._runs = Runs(first_run)
        self._messages = Messages(self._runs, prefix=f"sent-{first_run}", told=asks)
        self._conversation = Conversation()
        self._hooks = Hooks()
        self._recorded = RecordedAsks() if asks else None
        self._denied: set[str] = set()
        self._described = False
        self._fatal: str | None = None
        self._named = 0
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._out: list[Event | Delta] = []
        self._handlers = self._table()

    # ------------------------------------------------------------ what is known now

    @property
    def run(self) -> int | None:
        """The number of the open run."""
        return self._runs.number

    @property
    def session_id(self) -> str | None:
        """The CLI's id of the session: the resume token."""
        return self._facts.session_id

    @property
    def fatal(self) -> str | None:
        """Why the process must be stopped: it does not run the session that it was asked for."""
        return self._fatal

    def open_blocks(self) -> list[Delta]:
        """The text so far of each block that is being written."""
        return self._conversation.open_blocks()

    # ------------------------------------------------------------ what happens

    def expect(self, uuid: str) -> None:
        """A message was written to the CLI: a run answers it, or its end is told when the process ends."""
        self._runs.expect(uuid)

    def receive(self, frame: Frame) -> list[Event | Delta]:
        """What a frame from the CLI means. Never raises."""
        if self._is_repeated(frame):
            return []
        try:
            self._handlers.get(type(frame), self._on_unknown)(frame)
        except RecursionError:  # a value nested so deeply that it cannot be looked at
            self._on_unknown(frame)
        if frame.problems:
            self._on_unknown(frame)
        return self._taken()

    def sent(self, frame: Frame) -> list[Event]:
        """What a frame that was written to the CLI means."""
        if isinstance(frame, frames.User):
            self._emit(self._messages.sent(frame))
        elif isinstance(frame, frames.ControlResponse) and self._recorded is not None:
            self._emit(self._recorded.answered(frame))
        return self._taken_events()

    def goes_on(self) -> list[Event]:
        """The CLI is in the middle of a run whose beginning was told to somebody else."""
        if self._runs.number is None and not self._runs.over:
            self._emit([self._runs.begin(resume=self.session_id)])
        return self._taken_events()

    def exited(self, *, exit_code: int | None, reason: str, stderr: str = "", expected: bool = False) -> list[Event]:
        """The process is gone: everything that was open is closed, and the open run is over."""
        why = reason or _exit_words(exit_code)
        if self._runs.number is None and not self._runs.over and (messages := self._runs.unanswered()):
            self._emit([self._runs.begin(resume=self.session_id, messages=messages)])
        self._emit(self._conversation.process_ended(f"the process ended: {why}"))
        self._emit(self._hooks.cut(f"the process ended: {why}"))
        self._emit(self._facts.process_ended(why))
        if self._recorded is not None:
            self._emit(self._recorded.lose())
        if self._runs.number is not None:
            error = why if expected else _with_last_line(why, stderr)
            answer = self._conversation.take_answer()
            self._tell_end(self._runs.fail(error, resume=self.session_id, answer=answer))
        self._runs.over = True
        self._emit([ProcessExited(exit_code=exit_code, expected=expected, reason=reason, stderr=stderr)])
        return self._taken_events()

    # ------------------------------------------------------------ the table

    def _table(self) -> dict[type[Frame], Callable[[Any], None]]:
        """What each frame means. A type that is in none of the tables is unknown."""
        conversation, facts, messages = self._conversation, self._facts, self._messages
        told: dict[type[Frame], Callable[[Any], Iterable[Event]]] = {
            frames.Status: facts.status,
            frames.CompactBoundary: facts.compacted,
            frames.ConversationReset: facts.reset,
            frames.ModelRefusalFallback: facts.refused,
            frames.CommandLifecycle: messages.lifecycle,
            frames.ToolProgress: conversation.progress,
            frames.TaskStarted: conversation.task_started,
            frames.TaskProgress: conversation.tasks.progressed,
            frames.TaskUpdated: conversation.tasks.updated,
            frames.BackgroundTasksChanged: conversation.tasks.listed,
            frames.HookStarted: self._hooks.receive,
            frames.HookProgress: self._hooks.receive,
            frames.HookResponse: self._hooks.receive,
            **NOTICES,
        }
        return {
            **{kind: self._telling(make) for kind, make in told.items()},
            **dict.fromkeys(SILENT, _say_nothing),
            frames.StreamEvent: self._on_stream_event,
            frames.Assistant: self._on_assistant,
            frames.User: self._on_user,
            frames.Result: self._on_result,
            frames.Init: self._on_init,
            frames.PermissionDenied: self._on_denied,
            frames.SessionStateChanged: self._on_state,
            frames.TaskNotification: self._on_task_notification,
            frames.ControlRequest: self._on_control_request,
            frames.ControlResponse: self._on_control_response,
            frames.ControlCancelRequest: self._on_control_cancel,
        }

    def _telling(self, make: Callable[[Any], Iterable[Event]]) -> Callable[[Any], None]:
        return lambda frame: self._emit(make(frame))

    # ------------------------------------------------------------ runs

    def _on_init(self, frame: frames.Init) -> None:
        first, self._described = not self._described, True
        if self._runs.over:
            self._on_unknown(frame)
        elif first and self._facts.is_another(frame):
            self._refuse(frame)
        else:
            self._emit(self._facts.described(frame, first=first))
            self._begin_or_go_on(frame, first=first)
            self._emit(self._facts.mode_is(frame.permission_mode))
            self._emit(self._facts.model_is(frame.model))

    def _begin_or_go_on(self, frame: frames.Init, *, first: bool) -> None:
        if self._runs.number is None:
            meta, messages = meta_of(frame), frame.user_message_uuids
            self._emit([self._runs.begin(resume=self.session_id, meta=meta, messages=messages)])
            self._facts.assume(frame.permission_mode, frame.model)
        elif first:  # the run began without a word of what the session is
            self._emit([telemetry("init", id=frame.uuid, meta=to_builtins(meta_of(frame)))])

    def _refuse(self, frame: frames.Init) -> None:
        """The process runs another session than it was asked for: going on would split the history."""
        self._fatal = (
            f"the CLI was asked to resume session {self._resume} but runs {frame.session_id}; it has to be stopped"
        )
        if self._runs.number is None:
            self._emit([self._runs.begin(resume=self._resume, meta=meta_of(frame))])
        self._emit(self._conversation.run_ended(self._fatal))
        hint = "Resume the session again, or fork it if you want a new one."
        ids = {"resume": self._resume, "session_id": frame.session_id}
        self._emit([warning(self._fatal, id="fatal", hint=hint, parent=None, fatal=True, **ids)])
        self._runs.over = True
        self._tell_end(self._runs.fail(self._fatal, resume=self._resume))

    def _on_result(self, frame: frames.Result) -> None:
        if not self._in_a_run(frame):
            self._on_unknown(frame)
            return
        why = PUT_OFF if frame.deferred_tool_use is not None else NO_RESULT
        self._emit(self._conversation.run_ended(why, frame.model_usage))
        for denial in frame.permission_denials:
            self._deny(denial.tool_use_id, denial.tool_name, tool_input=denial.tool_input)
        self._emit(self._facts.run_ended())
        answer = self._conversation.take_answer()
        self._tell_end(self._runs.finish(frame, resume=self.session_id, answer=answer))

    def _in_a_run(self, frame: Frame) -> bool:
        """Whether a run is open, now that the main conversation goes on; False if none can begin any more."""
        if self._runs.number is None and not self._runs.over:
            if self._facts.session_id is None:
                self._facts.session_id = frame.session_id
            self._emit([self._runs.begin(resume=self.session_id)])
        return self._runs.number is not None

    def _tell_end(self, completed: Completed) -> None:
        """The end of a run is part of it, though none is open any more."""
        force_setattr(completed, "run", self._runs.last)
        self._out.append(completed)

    # ------------------------------------------------------------ the conversation

    def _on_stream_event(self, frame: frames.StreamEvent) -> None:
        if frame.parent_tool_use_id is None:
            self._in_a_run(frame)
        self._emit(self._conversation.streaming(frame))

    def _on_assistant(self, frame: frames.Assistant) -> None:
        if frame.parent_tool_use_id is None:
            self._in_a_run(frame)
            self._emit(self._messages.named(frame.user_message_uuids))
        self._emit(self._conversation.assistant(frame))

    def _on_user(self, frame: frames.User) -> None:
        echo = self._messages.echo(frame) if frame.is_replay else None
        if echo is not None:
            self._emit(echo)
            return
        if frame.parent_tool_use_id is None and not frame.is_replay:
            self._in_a_run(frame)
        self._emit(self._conversation.user(frame))

    def _on_state(self, frame: frames.SessionStateChanged) -> None:
        if frame.state == "idle":
            self._runs.idle()

    def _on_task_notification(self, frame: frames.TaskNotification) -> None:
        self._runs.work_ended()
        self._emit(self._conversation.notified(frame))

    def _on_denied(self, frame: frames.PermissionDenied) -> None:
        self._deny(
            frame.tool_use_id or frame.uuid or "",
            frame.tool_name,
            message=frame.message,
            reason=frame.decision_reason,
            reason_type=frame.decision_reason_type,
            agent_id=frame.agent_id,
        )

    def _deny(self, tool_use_id: str, tool_name: str, **detail: Any) -> None:
        """A call was denied. The result repeats what was told when it happened."""
        if tool_use_id in self._denied:
            return
        self._denied.add(tool_use_id)
        asked = detail.get("tool_input") or self._conversation.input_of(tool_use_id)
        title = f"Denied: {describe_call(tool_name, asked).title}"
        detail |= {"tool_name": tool_name, "tool_use_id": tool_use_id}
        self._emit([warning(title, id=f"denied:{tool_use_id}", **detail)])

    # ------------------------------------------------------------ the control channel

    def _on_control_request(self, frame: frames.ControlRequest) -> None:
        if self._recorded is not None:
            call = frame.request.get("tool_use_id")
            asked = self._conversation.input_of(call if isinstance(call, str) else None)
            self._emit(self._recorded.asked(frame, asked.get("plan")))

    def _on_control_response(self, frame: frames.ControlResponse) -> None:
        if self._recorded is not None:
            self._emit(self._recorded.listed(frame))

    def _on_control_cancel(self, frame: frames.ControlCancelRequest) -> None:
        if self._recorded is not None:
            self._emit(self._recorded.cancelled(frame.request_id))

    # ------------------------------------------------------------ telling

    def _on_unknown(self, frame: Frame) -> None:
        subtype = getattr(frame, "subtype", None)
        name = f"{frame.type}/{subtype}" if subtype else frame.type
        self._emit([Unknown(frame_type=name, frame=frame.data)])

    def _emit(self, items: Iterable[Event | Delta]) -> None:
        """Tell what happened, in the run that is open now."""
        for item in items:
            if isinstance(item, Event):
                force_setattr(item, "run", self._runs.number)
                if isinstance(item, Action) and not item.id:
                    self._named += 1
                    force_setattr(item, "id", f"{item.kind}-{self._first_run}.{self._named}")
            self._out.append(item)

    def _taken(self) -> list[Event | Delta]:
        out, self._out = self._out, []
        return out

    def _taken_events(self) -> list[Event]:
        return [item for item in self._taken() if isinstance(item, Event)]

    def _is_repeated(self, frame: Frame) -> bool:
        """Whether the CLI sends a frame again, as some do after a reconnect. Echoes of messages bear our own uuids."""
        if frame.uuid is None or (isinstance(frame, frames.User) and frame.is_replay):
            return False
        if frame.uuid in self._seen:
            return True
        self._seen[frame.uuid] = None
        if len(self._seen) > REMEMBERED_FRAMES:
            self._seen.popitem(last=False)
        return False


def _say_nothing(frame: Frame) -> None:
    pass


def _exit_words(exit_code: int | None) -> str:
    return "the CLI exited" if exit_code is None else f"the CLI exited with code {exit_code}"


def _with_last_line(why: str, stderr: str) -> str:
    """The reason, with what the CLI said last."""
    lines = stderr.strip().splitlines()
    return f"{why}: {lines[-1].strip()}" if lines and lines[-1].strip() not in why else why
