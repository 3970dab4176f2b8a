"""What is said and done: texts, thoughts, tool calls and their results, subagents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.events.model import Action, Completed, Prompt, Text, Thinking, Unknown, Usage
from handrail.events.translate import Translator

from .support import (
    assistant,
    events,
    frame,
    init,
    names,
    of,
    result,
    streamed,
    system,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
)


def actions(*told: Any) -> list[Action]:
    return of(Action, events(init(), *told))


def test_texts_and_thoughts() -> None:
    told = events(init(), assistant(thinking("hm"), id="m1"), assistant(text("hello"), id="m1"))
    (thought,), (said,) = of(Thinking, told), of(Text, told)
    assert (thought.text, thought.block, thought.message_id, thought.partial) == ("hm", "m1:0", "m1", False)
    assert (said.text, said.block, said.message_id, said.parent) == ("hello", "m1:1", "m1", None)


def test_thoughts_that_are_not_shown() -> None:
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    told = of(Thinking, events(init(), assistant(hidden), assistant(thinking(""))))
    assert [(event.redacted, event.text) for event in told] == [(True, ""), (True, "")]


def test_a_tool_call_from_start_to_end() -> None:
    started, completed = actions(
        assistant(tool_use("t1", "Bash", command="ls -l", description="list"), parent="a1"),
        user(tool_result("t1", [{"type": "text", "text": "a.txt", "new": 1}]), uuid="u7", parent="a1"),
    )
    assert (started.id, started.kind, started.title, started.phase) == ("t1", "command", "ls -l", "started")
    assert started.detail == {
        "tool_name": "Bash",
        "tool_input": {"command": "ls -l", "description": "list"},
        "message_id": "m1",
        "parent_tool_use_id": "a1",
        "block": "m1:0",
    }
    assert (completed.id, completed.title, completed.phase, completed.ok) == ("t1", "ls -l", "completed", True)
    assert completed.detail["tool_use_id"] == "t1"
    assert completed.detail["content"] == [{"type": "text", "text": "a.txt", "new": 1}], "as it was on the wire"
    assert completed.detail["message_id"] == "u7"
    assert completed.parent == started.parent == "a1"


def test_a_failed_call() -> None:
    (_, completed) = actions(assistant(tool_use()), user(tool_result(content="no", is_error=True)))
    assert completed.ok is False


def test_a_call_is_told_once() -> None:
    assert len(actions(assistant(tool_use()), assistant(tool_use(), id="m2"))) == 1


def test_a_result_whose_call_was_not_seen() -> None:
    (completed,) = actions(user(tool_result("t9", "out")))
    assert (completed.id, completed.kind, completed.ok) == ("t9", "tool", True)


def test_a_file_that_was_new_was_added() -> None:
    write = assistant(tool_use("t1", "Write", file_path="/p/a.py", content="x"))
    made = {"type": "create", "filePath": "/p/a.py", "structuredPatch": [], "content": "x"}
    started, completed = actions(write, user(tool_result("t1"), tool_use_result=made))
    assert started.detail["changes"] == [{"path": "/p/a.py", "kind": "update"}]
    assert completed.detail["changes"] == [{"path": "/p/a.py", "kind": "add"}]
    changed = {**made, "type": "update"}
    assert actions(write, user(tool_result("t1"), tool_use_result=changed))[1].detail["changes"][0]["kind"] == "update"


def test_structured_output_is_kept_where_it_is_small_or_a_patch() -> None:
    patch = {"filePath": "/p", "structuredPatch": [{"lines": ["+x"]}], "originalFile": "x" * 20_000}
    for given, kept in (
        ({"stdout": "x"}, {"stdout": "x"}),
        ({"stdout": "x" * 20_000}, None),
        (patch, {"filePath": "/p", "structuredPatch": [{"lines": ["+x"]}]}),
        (None, None),
    ):
        completed = actions(assistant(tool_use()), user(tool_result(), tool_use_result=given))[1]
        assert completed.detail.get("tool_use_result") == kept


def test_structured_output_of_several_results_belongs_to_none_for_certain() -> None:
    both = user(tool_result("t1"), tool_result("t2"), tool_use_result={"stdout": "x"})
    told = actions(assistant(tool_use("t1")), assistant(tool_use("t2")), both)
    assert [event.id for event in told if event.phase == "completed"] == ["t1", "t2"]
    assert not any("tool_use_result" in event.detail for event in told)


def test_progress_of_a_call() -> None:
    progress = frame(type="tool_progress", tool_use_id="t1", tool_name="Bash", elapsed_time_seconds=3.5)
    updated = actions(assistant(tool_use()), progress)[1]
    assert (updated.id, updated.phase, updated.title) == ("t1", "updated", "ls")
    assert updated.detail == {"elapsed_time_seconds": 3.5}
    alone = actions(progress)[0]
    assert (alone.kind, alone.title) == ("command", "Bash")


def test_calls_without_a_result_fail_with_the_run() -> None:
    told = actions(assistant(tool_use()), result(subtype="error_during_execution", is_error=True))
    assert [(event.phase, event.ok) for event in told] == [("started", None), ("completed", False)]
    assert told[1].detail["reason"] == "the run ended before this had a result"


def test_a_call_that_was_put_off() -> None:
    put_off = result(stop_reason="tool_deferred", deferred_tool_use={"id": "t1", "name": "Bash", "input": {}})
    told = events(init(), assistant(tool_use()), put_off)
    assert "resumed" in of(Action, told)[1].detail["reason"]
    assert of(Completed, told)[0].detail["deferred_tool_use"]["id"] == "t1"
    assert of(Completed, told)[0].stop_reason == "tool_deferred"


def test_calls_on_the_server() -> None:
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "hand rails"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "x"}]}
    failed = {**found, "content": {"type": "web_search_tool_result_error", "error_code": "max"}}
    started, completed = actions(assistant(call), assistant(found))
    assert (started.kind, started.title) == ("web_search", "hand rails")
    assert (completed.ok, completed.detail["content"]) == (True, [{"title": "x"}])
    assert actions(assistant(call), assistant(failed))[1].ok is False


def test_denials_are_warnings_before_the_end() -> None:
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm -rf /"}}
    told = events(init(), result(permission_denials=[denial]))
    assert names(told) == ["started", "action", "completed"]
    (warning,) = of(Action, told)
    assert (warning.kind, warning.title, warning.ok) == ("warning", "Denied: rm -rf /", False)
    assert warning.detail["tool_input"] == {"command": "rm -rf /"}


def test_a_denial_that_was_told_when_it_happened_is_not_told_again() -> None:
    happened = system("permission_denied", tool_name="Bash", tool_use_id="t1", message="no", decision_reason="rule")
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}}
    told = actions(
        assistant(tool_use()), happened, user(tool_result(is_error=True)), result(permission_denials=[denial])
    )
    denied = [event for event in told if event.kind == "warning"]
    assert [(event.title, event.detail["message"]) for event in denied] == [("Denied: ls", "no")]


def test_a_failure_of_the_api_is_a_warning_with_a_hint() -> None:
    failed = assistant(text("API Error: 401"), error="authentication_failed", api_error_status=401, uuid="u1")
    told = events(init(), failed, result(is_error=True, result="API Error: 401"))
    assert names(told) == ["started", "action", "completed"]
    (warning,) = of(Action, told)
    assert (warning.kind, warning.title, warning.ok) == ("warning", "API Error: 401", False)
    assert "/login" in warning.detail["hint"]
    assert of(Completed, told)[0].error == "API Error: 401"


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [("rate_limit", None, "limit"), ("unknown", 529, "again"), ("unknown", 413, "compact"), ("unknown", None, None)],
)
def test_hints(error: str, status: int | None, word: str | None) -> None:
    (warning,) = actions(assistant(text("failed"), error=error, api_error_status=status))
    assert (word is None and "hint" not in warning.detail) or str(word) in warning.detail["hint"]


def test_an_error_in_the_stream_is_a_warning() -> None:
    broken = streamed({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    (warning,) = actions(broken)
    assert (warning.kind, warning.title) == ("warning", "Overloaded")
    assert "again" in warning.detail["hint"]


def test_an_unknown_block_is_kept() -> None:
    (unknown,) = of(Unknown, events(init(), assistant({"type": "hologram", "depth": 3})))
    assert (unknown.frame_type, unknown.frame) == ("assistant/hologram", {"type": "hologram", "depth": 3})


def test_a_field_that_does_not_fit_keeps_the_whole_frame() -> None:
    odd = frame(type="assistant", message="not a message")
    (unknown,) = of(Unknown, events(init(), odd))
    assert (unknown.frame_type, unknown.frame) == ("assistant", {"type": "assistant", "message": "not a message"})


def test_what_the_cli_says_in_the_users_place_is_a_note() -> None:
    (note,) = actions(user(text("[Request interrupted by user]"), uuid="u1"))
    assert (note.kind, note.title, note.phase) == ("note", "[Request interrupted by user]", "completed")
    long = "This session is being continued\nfrom before"
    (note,) = actions(user(long, isSynthetic=True))
    assert note.title == "This session is being continued"
    assert note.detail == {"role": "user", "synthetic": True, "text": long}


def test_a_subagents_prompt_is_not_told_twice() -> None:
    call = assistant(tool_use("a1", "Agent", description="look", prompt="look around"))
    assert [event.kind for event in actions(call, user(text("look around"), parent="a1"))] == ["subagent"]


def test_echoes_of_our_messages_are_not_messages() -> None:
    translator = Translator()
    translator.expect("u1")
    echo = user("hello", uuid="u1", isReplay=True)
    told = events(init(), echo, echo, translator=translator)
    assert [(event.uuid, event.state, event.content) for event in of(Prompt, told)] == [("u1", "started", None)]
    output = user("<local-command-stdout>x</local-command-stdout>", uuid="z", isReplay=True)
    assert of(Action, events(output, translator=translator))[0].kind == "note"


def test_an_echo_alone_begins_no_run() -> None:
    translator = Translator()
    translator.expect("u1")
    assert names(events(user("hello", uuid="u1", isReplay=True), translator=translator)) == ["prompt"]
    assert translator.run is None


def test_context_is_what_the_last_request_had_with_caches() -> None:
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 7}
    said = frame(
        type="assistant",
        message={"id": "m1", "role": "assistant", "model": "opus-9", "content": [text("hi")], "usage": usage},
    )
    told = of(Usage, events(init(), said, said, result(modelUsage={"opus-9": {"contextWindow": 200000}})))
    assert [(event.context_tokens, event.output_tokens, event.context_window) for event in told] == [
        (115, 7, None),
        (115, 7, 200000),
    ]


def test_messages_that_the_cli_made_up_say_nothing_of_the_context() -> None:
    said = json.dumps({"input_tokens": 0, "output_tokens": 0})
    made_up = frame(
        type="assistant",
        message={"id": "m1", "model": "<synthetic>", "content": [text("hi")], "usage": json.loads(said)},
    )
    assert of(Usage, events(init(), made_up, result())) == []


def test_an_interrupted_subagent_takes_its_calls_with_it() -> None:
    told = actions(
        assistant(tool_use("a1", "Task", description="look")),
        assistant(tool_use("b1"), id="m2", parent="a1"),
        user(tool_result("a1", "interrupted", is_error=True)),
    )
    assert [(event.id, event.phase, event.ok) for event in told[2:]] == [
        ("b1", "completed", False),
        ("a1", "completed", False),
    ]


def test_a_subagent_in_the_background_goes_on_after_the_result() -> None:
    translator = Translator()
    launched = {"isAsync": True, "status": "async_launched"}
    told = events(
        init(),
        assistant(tool_use("a1", "Agent", description="look")),
        user(tool_result("a1"), tool_use_result=launched),
        assistant(tool_use("b1"), id="m2", parent="a1"),
        result(),
        translator=translator,
    )
    assert [event.id for event in of(Action, told) if event.phase == "completed"] == ["a1"]
    ended = system("task_notification", task_id="x", tool_use_id="a1", status="completed")
    (cut,) = of(Action, events(ended, translator=translator))
    assert (cut.id, cut.ok) == ("b1", False)
