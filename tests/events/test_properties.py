"""Any frames, in any order, cut anywhere: runs are bracketed, nothing raises, and no text is lost."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events.codec import decode_item, encode_event
from handrail.events.model import Action, Delta, Event, Task, Text, Thinking
from handrail.events.reduce import view_of
from handrail.events.translate import Translator
from handrail.protocol import frames
from handrail.protocol.codec import decode_line
from handrail.protocol.frames import Frame
from handrail.protocol.frames.wire import SystemFrame, WireFrame

from .support import (
    assistant,
    block_start,
    block_stop,
    check_bracketed,
    delta,
    frame,
    init,
    message_start,
    numbered,
    result,
    system,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
)

PARENTS = st.sampled_from([None, None, None, "t1", "t2"])
CALLS = st.sampled_from(["t1", "t2", "t3"])
MESSAGES = st.sampled_from(["m1", "m2", "m3"])
WORDS = st.sampled_from(["a", "bc", "def", "é𝄞"])
INDEXES = st.integers(0, 2)
UUIDS = st.sampled_from(["u1", "u2"])
KINDS = st.sampled_from(["text", "thinking", "input"])

FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(init, st.sampled_from(["s1", "s1", "s2"])),
    st.builds(result, is_error=st.booleans(), total_cost_usd=st.floats(0, 9), user_message_uuids=st.lists(UUIDS)),
    st.builds(lambda said, id, parent: assistant(text(said), id=id, parent=parent), WORDS, MESSAGES, PARENTS),
    st.builds(lambda said, id, parent: assistant(thinking(said), id=id, parent=parent), WORDS, MESSAGES, PARENTS),
    st.builds(lambda call, id, parent: assistant(tool_use(call), id=id, parent=parent), CALLS, MESSAGES, PARENTS),
    st.builds(lambda call, parent: user(tool_result(call), parent=parent), CALLS, PARENTS),
    st.builds(lambda call: user(tool_result(call), tool_use_result={"isAsync": True}), CALLS),
    st.builds(lambda said, replay: user(said, isReplay=replay, uuid="u1"), WORDS, st.booleans()),
    st.builds(message_start, MESSAGES, PARENTS),
    st.builds(lambda index, parent: block_start(index, text(""), parent), INDEXES, PARENTS),
    st.builds(delta, INDEXES, WORDS, PARENTS, KINDS),
    st.builds(delta, INDEXES, WORDS, PARENTS, KINDS),
    st.builds(block_stop, INDEXES, PARENTS),
    st.builds(lambda call: system("task_started", task_id="x", tool_use_id=call, description="d"), CALLS),
    st.builds(lambda call: system("task_notification", task_id="x", tool_use_id=call, status="completed"), CALLS),
    st.builds(lambda ids: system("background_tasks_changed", tasks=[{"task_id": id} for id in ids]), st.lists(UUIDS)),
    st.builds(lambda phase: system(f"hook_{phase}", hook_id="h"), st.sampled_from(["started", "response"])),
    st.builds(lambda state: system("session_state_changed", state=state), st.sampled_from(["idle", "running"])),
    st.builds(
        lambda uuid, state: frame(type="command_lifecycle", command_uuid=uuid, state=state),
        UUIDS,
        st.sampled_from(["queued", "started", "completed", "cancelled"]),
    ),
    st.just(system("status", status="compacting", permissionMode="plan")),
    st.just(frame(type="something_new", x=1)),
    st.just(decode_line(b"not json")),
)
STEPS = st.lists(st.one_of(FRAMES, FRAMES, FRAMES, UUIDS), max_size=40)


def follow(translator: Translator, steps: list[Frame | str]) -> list[Event | Delta]:
    """Frames from the CLI, and messages of ours between them; then the process ends."""
    told: list[Event | Delta] = []
    for step in steps:
        if isinstance(step, str):
            translator.expect(step)
        else:
            told += translator.receive(step)
    return [*told, *translator.exited(exit_code=1, reason="gone")]


@given(STEPS, st.sampled_from([{}, {"resume": "s1"}, {"resume": "s0"}, {"resume": "s0", "fork": True}, {"asks": True}]))
@settings(max_examples=80)
def test_runs_are_bracketed_and_everything_that_began_ends(steps: list[Frame | str], options: dict[str, Any]) -> None:
    translator = Translator(**options)
    told = follow(translator, steps)
    check_bracketed(told)
    assert translator.run is None
    assert translator.open_blocks() == []
    for kind in (Action, Task):
        state: dict[str, str] = {}
        for event in told:
            if isinstance(event, kind):
                state[event.id] = event.phase if event.phase != "updated" else state.get(event.id, "completed")
        assert set(state.values()) <= {"completed"}


@given(STEPS)
@settings(max_examples=80)
def test_no_text_is_lost(steps: list[Frame | str]) -> None:
    told = follow(Translator(), steps)
    pieces: dict[str, str] = {}
    whole: Counter[str] = Counter()
    for item in told:
        if isinstance(item, Delta):
            assert item.offset == len(pieces.get(item.block, ""))
            assert not whole[item.block], "a piece of a block that came whole"
            pieces[item.block] = pieces.get(item.block, "") + item.text
        elif isinstance(item, Text | Thinking):
            whole[item.block] += 1
            if item.partial:
                assert item.text == pieces[item.block]
    assert set(whole.values()) <= {1}, "two blocks of one name"
    prose = {item.block for item in told if isinstance(item, Delta) and item.kind != "input"}
    assert prose <= set(whole)


@given(st.lists(FRAMES, max_size=30), st.data())
@settings(max_examples=40)
def test_what_a_reader_that_joins_is_given_fits_what_follows(steps: list[Frame], data: st.DataObject) -> None:
    translator = Translator()
    cut = data.draw(st.integers(0, len(steps)))
    for step in steps[:cut]:
        translator.receive(step)
    written = {item.block: item.text for item in translator.open_blocks()}
    for step in steps[cut:]:
        for item in translator.receive(step):
            if isinstance(item, Delta):
                assert item.offset == len(written.get(item.block, ""))
                written[item.block] = written.get(item.block, "") + item.text


@given(STEPS)
@settings(max_examples=40)
def test_a_view_can_be_made_of_whatever_happened(steps: list[Frame | str]) -> None:
    told = [item for item in follow(Translator(), steps) if isinstance(item, Event)]
    view = view_of(numbered(told))
    assert view.run is None
    assert not view.live
    assert not view.now
    assert view.status in ("stopped", "failed")


MEMBERS = sorted(
    {
        field.encode_name
        for name in frames.__all__
        if isinstance(kind := getattr(frames, name), type) and issubclass(kind, msgspec.Struct)
        for field in msgspec.structs.fields(kind)
        if not field.encode_name.startswith("(")
    }
)
TYPES = sorted({str(kind.__struct_config__.tag) for kind in WireFrame.__args__} | {"system", "news"})
SUBTYPES = sorted({str(kind.__struct_config__.tag) for kind in SystemFrame.__args__})
NAMES = st.sampled_from(["type", "content", "id", "text", "event", "delta", *MEMBERS])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-1, 1) | st.sampled_from(["", "t1", "text", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "content", "id", "text", "event", "delta", *MEMBERS]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
ANY_FRAME = st.builds(
    lambda kind, subtype, members: {**members, "type": kind, **({"subtype": subtype} if kind == "system" else {})},
    st.sampled_from([*TYPES, "system", "system"]),
    st.sampled_from(SUBTYPES),
    st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=5),
)


@pytest.mark.slow
@given(st.lists(ANY_FRAME, max_size=6))
@settings(max_examples=80)
def test_whatever_a_frame_holds_it_is_told(given_frames: list[dict[str, Any]]) -> None:
    translator = Translator(asks=True)
    told: list[Event | Delta] = []
    for each in given_frames:
        line = decode_line(json.dumps(each).encode())
        told += [*translator.receive(line), *translator.sent(line)]
    told += translator.exited(exit_code=None, reason="")
    check_bracketed(told)
    for item in told:
        assert encode_event(decode_item(encode_event(item))) == encode_event(item)
