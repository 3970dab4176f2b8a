"""However the process ends, what was open is closed and the run is over."""

from __future__ import annotations

from handrail.events.model import Action, AskClosed, Compacting, Completed, Hook, ProcessExited, Started, Task, Text
from handrail.events.translate import Translator

from .support import (
    assistant,
    check_bracketed,
    delta,
    events,
    frame,
    init,
    message_start,
    names,
    of,
    result,
    system,
    text,
    tool_use,
)


def test_everything_open_is_closed_before_the_run_and_the_run_before_the_process() -> None:
    translator = Translator()
    told = events(
        init(),
        system("hook_started", hook_id="h", hook_name="guard", hook_event="Stop"),
        system("status", status="compacting"),
        assistant(tool_use("t1", command="make")),
        system("task_started", task_id="x", description="build", task_type="local_bash"),
        message_start("m2"),
        delta(0, "so f"),
        delta(0, "ar"),
        translator=translator,
    )
    end = translator.exited(exit_code=137, reason="killed", stderr="Terminated\n")
    assert check_bracketed([*told, *end]) == 1
    assert names(end) == ["text", "action", "task", "hook", "compacting", "completed", "process_exited"]
    assert of(Text, end)[0].partial
    assert of(Text, end)[0].text == "so far"
    (cut,) = of(Action, end)
    assert (cut.id, cut.phase, cut.ok, cut.title) == ("t1", "completed", False, "make")
    assert "killed" in cut.detail["reason"]
    assert (of(Task, end)[0].phase, of(Task, end)[0].ok, of(Task, end)[0].status) == ("completed", False, "lost")
    assert of(Hook, end)[0].ok is False
    assert of(Compacting, end)[0].phase == "failed"
    (completed,) = of(Completed, end)
    assert (completed.ok, completed.error, completed.resume) == (False, "killed: Terminated", "s1")
    assert completed.answer == "so far"
    assert of(ProcessExited, end)[0] == ProcessExited(exit_code=137, reason="killed", stderr="Terminated\n")
    assert translator.run is None


def test_a_message_that_nothing_answered_is_a_run_that_failed() -> None:
    translator = Translator()
    translator.expect("u1")
    end = translator.exited(exit_code=1, reason="", stderr="boom: no such thing")
    assert names(end) == ["started", "completed", "process_exited"]
    assert (of(Started, end)[0].resume, of(Started, end)[0].messages) == (None, ("u1",))
    (completed,) = of(Completed, end)
    assert completed.error == "the CLI exited with code 1: boom: no such thing"
    assert completed.resume is None
    assert completed.messages == ("u1",)


def test_a_resumed_session_that_dies_early_keeps_its_token() -> None:
    translator = Translator(resume="s0")
    translator.expect("u1")
    end = translator.exited(exit_code=None, reason="")
    assert of(Started, end)[0].resume == "s0"
    assert of(Completed, end)[0].error == "the CLI exited"


def test_an_end_that_was_asked_for_between_runs_is_only_told() -> None:
    translator = Translator()
    events(init(), result(), translator=translator)
    end = translator.exited(exit_code=0, reason="stopped", expected=True)
    assert end == [ProcessExited(exit_code=0, expected=True, reason="stopped")]


def test_a_queued_message_is_a_run_of_its_own_only_if_no_run_took_it() -> None:
    translator = Translator()
    events(init(), translator=translator)
    translator.expect("u2")
    assert names(translator.exited(exit_code=1, reason="")) == ["completed", "process_exited"]


def test_asks_of_a_recording_are_lost_with_the_process() -> None:
    translator = Translator(asks=True)
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
    events(init(), frame(type="control_request", request_id="r1", request=request), translator=translator)
    end = translator.exited(exit_code=1, reason="")
    assert [(event.ask_id, event.outcome) for event in of(AskClosed, end)] == [("r1", "lost")]


def test_after_the_end_no_run_begins() -> None:
    translator = Translator()
    translator.exited(exit_code=0, reason="")
    told = events(init(), assistant(text("late")), result(), translator=translator)
    assert names(told) == ["unknown", "text", "unknown"]
    assert {event.run for event in told} == {None}
