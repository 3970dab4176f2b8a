"""Recorded sessions as events: what the real CLI's traffic means, on every version."""

from __future__ import annotations

import json
from pathlib import Path

from handrail.events.model import (
    Action,
    ApiRetry,
    AskClosed,
    AskOpened,
    Compacting,
    Completed,
    Delta,
    Event,
    ProcessExited,
    Prompt,
    SessionRekeyed,
    Started,
    Task,
    Text,
    Thinking,
)
from handrail.events.recording import events_of_recording, items_of_recording

from .support import FIXTURES, lines_of, of


def told(name: str) -> list[Event]:
    return list(events_of_recording(lines_of(FIXTURES / f"{name}.jsonl")))


def test_events_are_numbered_and_bear_the_time_of_their_line() -> None:
    path = FIXTURES / "2.1.325/06h_partial_messages_std.jsonl"
    items = list(items_of_recording(lines_of(path)))
    events = [item for item in items if isinstance(item, Event)]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.at for event in events] == sorted(event.at for event in events)
    deltas = [item for item in items if isinstance(item, Delta)]
    assert [item.text for item in deltas] == ["All ", "done, ", "from ", "the ", "mock. "]
    (text,) = of(Text, events)
    assert {item.after for item in deltas} == {text.seq - 1}
    assert {item.block for item in deltas} == {text.block}
    assert text.text == "".join(item.text for item in deltas)
    assert events == list(events_of_recording(lines_of(path)))


def test_streams_and_an_interruption() -> None:
    for version in ("2.1.325", "2.1.62"):
        items = list(items_of_recording(lines_of(FIXTURES / version / "streamed_then_interrupted.jsonl")))
        written: dict[str, str] = {}
        for item in items:
            if isinstance(item, Delta):
                assert item.offset == len(written.get(item.block, ""))
                written[item.block] = written.get(item.block, "") + item.text
        whole = {item.block: item.text for item in items if isinstance(item, Text | Thinking)}
        calls = [item for item in items if isinstance(item, Action) and item.phase == "started"]
        assert {block: written[block] for block in whole} == whole
        assert [json.loads(written[call.detail["block"]]) for call in calls] == [
            call.detail["tool_input"] for call in calls
        ]
        assert [(item.partial, item.run) for item in items if isinstance(item, Text) and item.partial] == [(True, 2)]
        assert [item.ok for item in items if isinstance(item, Completed)] == [True, False, True]


def test_a_turn_in_the_background() -> None:
    events = told("2.1.325/p5g_bg_agent_finish")
    first, second = of(Started, events)
    assert (first.cause, second.cause) == ("message", "background")
    end = of(Completed, events)[0].seq
    outside = [event for event in events if event.run is None and end < event.seq < second.seq]
    assert {type(event) for event in outside} >= {Action, Task, Text, AskOpened, AskClosed}
    assert of(Task, events)[0].phase == "started"
    assert of(Task, events)[-1].summary == "sub final"
    calls = {event.id: event for event in of(Action, events) if event.phase == "completed"}
    assert all(event.ok for event in calls.values())


def test_old_clis_tell_less_of_background_work_but_it_begins_and_ends() -> None:
    for name in ("2.1.62/p5g_bg_agent_finish", "2.1.120/p5g_bg_agent_stop", "2.1.62/p5c_bg_bash_finish"):
        phases = [task.phase for task in of(Task, told(name))]
        assert phases[0] == "started"
        assert phases.count("started") == phases.count("completed") == 1
        assert phases[-1] == "completed"


def test_several_messages_and_their_runs() -> None:
    newest = told("2.1.325/06a_user_during_turn_std")
    assert [len(run.messages) for run in of(Started, newest)] == [1, 2]
    assert [event.state for event in of(Prompt, newest)].count("started") == 3
    oldest = told("2.1.62/06a_user_during_turn_ws")
    assert len(of(Started, oldest)) == 3


def test_slash_commands() -> None:
    events = told("2.1.325/p8a_slash_commands")
    assert len(of(Completed, events)) == 9
    assert [event.phase for event in of(Compacting, events)] == ["started", "completed"]
    (rekeyed,) = of(SessionRekeyed, events)
    assert rekeyed.reason == "clear"
    costs = [round(event.cost_usd, 6) for event in of(Completed, events)]
    assert costs == [0.00044, 0.00088, 0, 0, 0, 0.00044, 0.00044, 0, 0]
    assert of(SessionRekeyed, told("2.1.120/p8a_slash_commands"))


def test_a_resumed_session_whose_total_has_earlier_costs() -> None:
    costs = of(Completed, told("2.1.325/p7d_concurrent_A"))
    assert [round(event.total_cost_usd, 6) for event in costs] == [0.00088, 0.00132]
    assert [round(event.cost_usd, 6) for event in costs] == [0.00044, 0.00044]


def test_forks_and_sessions_that_do_not_exist() -> None:
    (rekeyed,) = of(SessionRekeyed, told("2.1.325/06e_resume_fork_std"))
    assert rekeyed.reason == "fork"
    assert of(SessionRekeyed, told("2.1.325/06d_resume_std")) == []
    (failed,) = of(Completed, told("2.1.325/06g_resume_unknown_std"))
    assert failed.error is not None
    assert failed.error.startswith("No conversation found")


def test_failures_of_the_api() -> None:
    events = told("2.1.325/p8e_api_401")
    warnings = [event for event in of(Action, events) if event.kind == "warning"]
    assert len(warnings) == len(of(Completed, events)) == 2
    assert all("/login" in event.detail["hint"] for event in warnings)
    assert not any(event.ok for event in of(Completed, events))
    assert [event.attempt for event in of(ApiRetry, told("2.1.325/p8e_api_529x2_ok"))] == [1, 2]


def test_a_call_that_was_put_off_and_resumed() -> None:
    for version in ("2.1.120", "2.1.325"):
        events = told(f"{version}/p3d_defer_resume")
        assert [event.ok for event in of(Action, events) if event.phase == "completed" and event.kind == "tool"] == [
            True
        ]
        assert [event.ok for event in of(Completed, events)] == [True]


def test_a_connection_that_sends_everything_again() -> None:
    events = told("2.1.120/03_close_1000_pending_permission")
    assert len(of(Started, events)) == 1
    blocks = [event.block for event in of(Text, events)]
    assert len(blocks) == len(set(blocks))


def test_an_interrupted_subagent() -> None:
    events = told("2.1.325/p5h_subagent_interrupt")
    assert of(AskClosed, events)[0].outcome == "cancelled"
    ended = {event.id: event.ok for event in of(Action, events) if event.phase == "completed" and event.kind != "note"}
    assert set(ended.values()) == {False}
    assert of(Completed, events)[0].detail["terminal_reason"] == "aborted_tools"


def test_a_process_that_was_killed() -> None:
    events = told("2.1.325/p7a_kill_midtool")
    (completed,) = of(Completed, events)
    assert (completed.ok, completed.error) == (False, "the CLI exited with code -9")
    assert isinstance(events[-1], ProcessExited)
    assert [event.ok for event in of(Action, events) if event.phase == "completed"] == [False]


def test_a_recording_without_an_end(tmp_path: Path) -> None:
    lines = [line for line in lines_of(FIXTURES / "2.1.325/07e_eof_midturn.jsonl") if b'"exit"' not in line[1]]
    (exited,) = of(ProcessExited, events_of_recording(lines))
    assert (exited.exit_code, exited.reason) == (None, "the recording ends here")


def test_a_recording_of_nothing() -> None:
    assert [type(event) for event in events_of_recording([])] == [ProcessExited]
    assert [type(event) for event in events_of_recording([("in", b"not json", 1.0)])] == [Action, ProcessExited]
