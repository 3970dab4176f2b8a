"""Each run has one start and one end, whatever caused it and whatever happens to the process."""

from __future__ import annotations

from handrail.events.model import Completed, Prompt, Started
from handrail.events.translate import Translator

from .support import (
    assistant,
    check_bracketed,
    delta,
    events,
    frame,
    init,
    names,
    of,
    result,
    system,
    text,
    tool_result,
    tool_use,
    user,
)


def test_a_run_begins_with_init_and_ends_with_its_result() -> None:
    told = events(
        init(tools=["Bash"], output_style="default", mcp_servers=[{"name": "x", "status": "connected"}]),
        assistant(text("hello")),
        result(result="hello", duration_ms=12, num_turns=1),
    )
    assert names(told) == ["started", "text", "completed"]
    started, completed = of(Started, told)[0], of(Completed, told)[0]
    assert (started.run, started.engine, started.resume) == (1, "claude", "s1")
    assert started.meta is not None
    assert started.meta.cwd == "/home/dev/project"
    assert started.meta.model == "opus-9"
    assert started.meta.tools == ("Bash",)
    assert started.meta.permission_mode == "default"
    assert started.meta.output_style == "default"
    assert started.meta.cli_version == "2.1.325"
    assert started.meta.mcp_servers == ({"name": "x", "status": "connected"},)
    assert (completed.run, completed.ok, completed.answer, completed.resume) == (1, True, "hello", "s1")
    assert (completed.duration_ms, completed.num_turns, completed.error) == (12, 1, None)


def test_a_second_init_does_not_begin_a_second_run() -> None:
    told = events(init(), init(), result())
    assert names(told) == ["started", "completed"]


def test_runs_are_numbered_from_the_first() -> None:
    translator = Translator(first_run=7)
    told = events(init(), result(), init(), result(), translator=translator)
    assert [event.run for event in told] == [7, 7, 8, 8]
    assert translator.run is None


def test_what_follows_a_result_opens_the_next_run() -> None:
    for more in (assistant(text("more")), delta(0, "more"), user(tool_result())):
        translator = Translator()
        told = events(init(), result(), more, result(), translator=translator)
        assert check_bracketed(told) == 2
        assert of(Started, told)[1].cause == "unknown"


def test_what_a_background_subagent_does_after_a_result_belongs_to_the_session() -> None:
    told = events(
        init(),
        assistant(tool_use("a1", "Agent", description="look")),
        user(tool_result("a1"), tool_use_result={"isAsync": True, "status": "async_launched"}),
        result(),
        assistant(tool_use("b1"), id="m2", parent="a1"),
        user(tool_result("b1"), parent="a1"),
        system("session_state_changed", state="idle"),
        system("hook_started", hook_id="h1", hook_name="n", hook_event="Stop"),
        system("task_progress", task_id="x", description="working"),
    )
    assert check_bracketed(told) == 1
    after = told[[type(event) for event in told].index(Completed) + 1 :]
    assert names(after) == ["action", "action", "hook", "task"]
    assert {event.run for event in after} == {None}


def test_a_result_without_a_run_is_a_run_of_its_own() -> None:
    told = events(result(subtype="error_during_execution", is_error=True, errors=["No conversation found"]))
    assert names(told) == ["started", "completed"]
    assert of(Completed, told)[0].error == "No conversation found"


def test_ok_needs_success_without_error() -> None:
    cases = {
        (False, "success"): True,
        (True, "success"): False,
        (False, "error_during_execution"): False,  # as older CLIs send it
        (True, "error_max_turns"): False,
    }
    for (is_error, subtype), expected in cases.items():
        (completed,) = of(Completed, events(init(), result(is_error=is_error, subtype=subtype)))
        assert completed.ok is expected
        assert (completed.error is None) is expected


def test_the_error_is_what_the_cli_says_is_wrong() -> None:
    said = {"subtype": "error_during_execution", "errors": ["first", "second"], "result": "text"}
    assert of(Completed, events(init(), result(**said)))[0].error == "first; second"
    said["errors"] = []
    assert of(Completed, events(init(), result(**said)))[0].error == "text"
    said["result"] = ""
    assert of(Completed, events(init(), result(**said)))[0].error == "error_during_execution"


def test_the_answer_falls_back_to_the_last_text_of_the_main_conversation() -> None:
    told = events(
        init(),
        assistant(text("first")),
        assistant(text("last"), id="m2"),
        assistant(text("of a subagent"), id="m3", parent="a1"),
        result(result=None),
        init(),
        result(result=""),
    )
    assert [event.answer for event in of(Completed, told)] == ["last", ""]


def test_usage_is_passed_on_as_it_came() -> None:
    usage = {"input_tokens": 1, "something_new": {"x": [1]}}
    used = {"opus-9": {"inputTokens": 1, "costUSD": 0.5, "contextWindow": 200000, "new": 1}}
    (completed,) = of(Completed, events(init(), result(usage=usage, modelUsage=used, structured_output={"a": 1})))
    assert completed.usage == usage
    assert completed.model_usage == used
    assert completed.structured_output == {"a": 1}


def test_the_cost_of_a_run_is_how_much_the_total_grew() -> None:
    told = events(
        init(), result(total_cost_usd=0.25), init(), result(total_cost_usd=0.75), init(), result(total_cost_usd=0.125)
    )
    costs = of(Completed, told)
    assert [event.cost_usd for event in costs] == [0.25, 0.5, 0.125], "a total that falls began anew"
    assert [event.total_cost_usd for event in costs] == [0.25, 0.75, 0.125]


def test_a_cli_that_says_what_the_run_cost_is_believed() -> None:
    since = {"opus-9": {"costUSD": 0.5}, "haiku-9": {"costUSD": 0.25}, "odd": {"costUSD": None}}
    (completed,) = of(Completed, events(init(), result(total_cost_usd=9.0, model_usage_since_last_result=since)))
    assert completed.cost_usd == 0.75, "the total of a resumed session has what it cost before"


def test_a_run_knows_the_messages_that_caused_it() -> None:
    translator = Translator()
    for uuid in ("u1", "u2", "u3"):
        translator.expect(uuid)
    told = events(
        frame(type="command_lifecycle", command_uuid="u1", state="queued"),
        frame(type="command_lifecycle", command_uuid="u1", state="started"),
        init(),
        frame(type="command_lifecycle", command_uuid="u2", state="queued"),
        assistant(text("hi"), user_message_uuids=["u1"]),
        result(user_message_uuid="u1", user_message_uuids=["u1"]),
        frame(type="command_lifecycle", command_uuid="u1", state="completed"),
        frame(type="command_lifecycle", command_uuid="u2", state="started"),
        frame(type="command_lifecycle", command_uuid="u3", state="cancelled"),
        init(),
        result(),
        translator=translator,
    )
    assert [(event.cause, event.messages) for event in of(Started, told)] == [
        ("message", ("u1",)),
        ("message", ("u2",)),
    ]
    assert [event.messages for event in of(Completed, told)] == [("u1",), ("u2",)]
    states = [(event.uuid, event.state) for event in of(Prompt, told)]
    assert states == [("u1", "started"), ("u2", "started"), ("u3", "dropped")]


def test_a_message_that_was_begun_is_not_dropped() -> None:
    translator = Translator()
    translator.expect("u1")
    begun = frame(type="command_lifecycle", command_uuid="u1", state="started")
    told = events(begun, frame(type="command_lifecycle", command_uuid="u1", state="cancelled"), translator=translator)
    assert [event.state for event in of(Prompt, told)] == ["started"]


def test_where_the_cli_does_not_say_only_what_is_certain_is_told() -> None:
    translator = Translator()
    translator.expect("u1")
    told = events(init(), translator=translator)
    translator.expect("u2")
    translator.expect("u3")
    told += events(result(), init(), result(), init(), result(), translator=translator)
    assert [event.cause for event in of(Started, told)] == ["message", "message", "message"]
    assert [event.messages for event in of(Started, told)] == [("u1",), (), ("u3",)]


def test_work_in_the_background_causes_a_run() -> None:
    ended = system("task_notification", task_id="x", status="completed", summary="done")
    told = events(init(), result(), ended, init(), result(), init(), result())
    assert [event.cause for event in of(Started, told)] == ["unknown", "background", "unknown"]


def test_a_message_counts_more_than_work_that_ended() -> None:
    translator = Translator()
    ended = system("task_notification", task_id="x", status="completed")
    told = events(init(), result(), ended, translator=translator)
    translator.expect("u1")
    told += events(init(), translator=translator)
    assert of(Started, told)[1].cause == "message"


def test_a_message_that_a_run_may_have_taken_is_forgotten_when_the_cli_is_idle() -> None:
    translator = Translator()
    events(init(), translator=translator)
    translator.expect("u1")
    events(result(), system("session_state_changed", state="idle"), translator=translator)
    assert names(translator.exited(exit_code=0, reason="", expected=True)) == ["process_exited"]


def test_a_repeated_frame_says_nothing() -> None:
    once = [init(uuid="1"), assistant(text("hi"), uuid="2"), result(uuid="3")]
    translator = Translator()
    told = events(*once, *once, translator=translator)
    assert names(told) == ["started", "text", "completed"]


def test_an_echo_of_an_answered_message_causes_nothing() -> None:
    translator = Translator()
    translator.expect("u1")
    echo = user("hello", uuid="u1", isReplay=True)
    told = events(init(), result(user_message_uuids=["u1"]), echo, init(), result(), translator=translator)
    assert [(event.cause, event.messages) for event in of(Started, told)] == [("message", ("u1",)), ("unknown", ())]
    assert names(translator.exited(exit_code=0, reason="")) == ["process_exited"]
