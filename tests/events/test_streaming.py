"""Deltas and whole blocks: the same id, and the same text, whatever is cut off."""

from __future__ import annotations

from handrail.events.model import Action, Completed, Delta, Text, Thinking, Usage
from handrail.events.translate import Translator

from .support import (
    assistant,
    block_start,
    block_stop,
    delta,
    events,
    init,
    message_start,
    names,
    of,
    result,
    streamed,
    text,
    thinking,
    tool_result,
    tool_use,
    translated,
    user,
)


def deltas(items: list[object]) -> list[Delta]:
    return [item for item in items if isinstance(item, Delta)]


def test_deltas_and_the_block_that_takes_their_place() -> None:
    told = translated(
        init(),
        message_start("m1"),
        block_start(0, thinking("")),
        delta(0, "h", kind="thinking"),
        delta(0, "m", kind="thinking"),
        assistant(thinking("hm"), id="m1"),
        block_stop(0),
        block_start(1, text("")),
        delta(1, "hel"),
        delta(1, "lo"),
        assistant(text("hello"), id="m1"),
        block_stop(1),
        streamed({"type": "message_stop"}),
        result(),
    )
    pieces = [(item.block, item.kind, item.offset, item.text) for item in told if isinstance(item, Delta)]
    assert pieces == [
        ("m1:0", "thinking", 0, "h"),
        ("m1:0", "thinking", 1, "m"),
        ("m1:1", "text", 0, "hel"),
        ("m1:1", "text", 3, "lo"),
    ]
    assert [(event.block, event.text) for event in told if isinstance(event, Thinking)] == [("m1:0", "hm")]
    assert [(event.block, event.text, event.partial) for event in told if isinstance(event, Text)] == [
        ("m1:1", "hello", False)
    ]


def test_input_of_a_tool_is_live_and_its_action_names_the_block() -> None:
    told = translated(
        init(), message_start("m1"), block_start(0, tool_use()), delta(0, '{"a"', kind="input"), assistant(tool_use())
    )
    assert [(item.block, item.kind, item.text) for item in told if isinstance(item, Delta)] == [
        ("m1:0", "input", '{"a"')
    ]
    assert [event.detail["block"] for event in told if isinstance(event, Action)] == ["m1:0"]


def test_what_was_only_streamed_is_kept_when_the_run_is_interrupted() -> None:
    told = events(
        init(),
        message_start("m1"),
        delta(0, "thinking…", kind="thinking"),
        delta(1, "half a sen"),
        result(subtype="error_during_execution", is_error=True, result=None),
    )
    assert names(told) == ["started", "thinking", "text", "completed"]
    assert [(event.block, event.partial) for event in of(Thinking, told)] == [("m1:0", True)]
    assert [(event.text, event.partial) for event in of(Text, told)] == [("half a sen", True)]
    assert of(Completed, told)[0].answer == "half a sen"


def test_a_block_that_was_streamed_to_its_end_is_whole() -> None:
    told = events(init(), message_start("m1"), delta(0, "all of it"), block_stop(0), result())
    assert [(event.text, event.partial) for event in of(Text, told)] == [("all of it", False)]


def test_a_message_that_was_begun_anew_leaves_its_first_attempt() -> None:
    told = events(init(), message_start("m1"), delta(0, "one"), message_start("m2"), delta(0, "two"), result())
    assert [(event.block, event.text) for event in of(Text, told)] == [("m1:0", "one"), ("m2:0", "two")]


def test_a_whole_block_of_another_message_ends_what_was_streamed() -> None:
    told = events(init(), message_start("m1"), delta(0, "one"), assistant(text("two"), id="m2"), result())
    assert [(event.block, event.text, event.partial) for event in of(Text, told)] == [
        ("m1:0", "one", True),
        ("m2:0", "two", False),
    ]


def test_blocks_without_deltas_are_counted() -> None:
    told = events(init(), *(assistant(text(said), id="m1") for said in "abc"))
    assert [event.block for event in of(Text, told)] == ["m1:0", "m1:1", "m1:2"]


def test_a_stream_whose_beginning_was_missed() -> None:
    told = translated(init(), delta(3, "lo"), assistant(text("hello"), id="m1"), delta(3, "!"))
    (piece,) = [item for item in told if isinstance(item, Delta)]
    (said,) = [item for item in told if isinstance(item, Text)]
    assert piece.block == said.block
    assert (piece.offset, said.message_id) == (0, "m1")


def test_conversations_of_subagents_do_not_mix() -> None:
    translator = Translator()
    told = translated(
        init(),
        assistant(tool_use("a1", "Task", description="look")),
        message_start("m2"),
        message_start("m3", parent="a1"),
        delta(0, "main"),
        delta(0, "sub", parent="a1"),
        translator=translator,
    )
    assert [(item.block, item.parent) for item in told if isinstance(item, Delta)] == [("m2:0", None), ("m3:0", "a1")]
    assert [(item.block, item.offset, item.text) for item in translator.open_blocks()] == [
        ("m2:0", 0, "main"),
        ("m3:0", 0, "sub"),
    ]
    ended = events(user(tool_result("a1")), translator=translator)
    assert [(event.text, event.parent, event.partial) for event in of(Text, ended)] == [("sub", "a1", True)]
    assert [item.block for item in translator.open_blocks()] == ["m2:0"]


def test_a_background_subagent_goes_on_writing_after_the_result() -> None:
    translator = Translator()
    events(init(), delta(0, "sub", parent="gone"), delta(0, "main"), translator=translator)
    told = events(result(), translator=translator)
    assert [event.text for event in of(Text, told)] == ["main"]
    assert [item.text for item in translator.open_blocks()] == ["sub"]


def test_a_delta_of_another_kind_or_of_a_whole_block_says_nothing() -> None:
    told = translated(
        init(),
        message_start("m1"),
        delta(0, "text"),
        delta(0, "thought", kind="thinking"),
        assistant(text("text"), id="m1"),
        delta(0, "late"),
        streamed({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}}),
        streamed({"type": "ping"}),
        streamed({"type": "news"}),
    )
    assert [item.text for item in told if isinstance(item, Delta)] == ["text"]


def test_the_end_of_a_message_says_how_long_it_became() -> None:
    ended = streamed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 42}})
    told = of(Usage, events(init(), message_start("m1", input_tokens=10, cache_read_input_tokens=5), ended))
    assert [(event.context_tokens, event.output_tokens, event.model) for event in told] == [(15, 42, "opus-9")]


def test_a_block_that_the_cli_broke_off_is_partial() -> None:
    told = of(Text, events(init(), assistant(text("half a sen"), aborted=True), assistant(text("whole"), id="m2")))
    assert [(event.text, event.partial) for event in told] == [("half a sen", True), ("whole", False)]


def test_what_was_said_comes_before_the_word_that_it_was_broken_off() -> None:
    told = events(init(), message_start("m1"), delta(0, "half"), user(text("[Request interrupted by user]")), result())
    assert names(told) == ["started", "text", "action", "completed"]
