"""Frames: every type of the wire is modelled, nothing unmodelled is lost, and a wrong field only degrades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.protocol import frames as f
from handrail.protocol import lenient
from handrail.protocol.blocks import (
    Document,
    Image,
    Message,
    ServerToolUse,
    Source,
    Text,
    ToolResult,
    ToolUse,
    Unknown,
)
from handrail.protocol.codec import _FRAME_TYPES, _SYSTEM_TYPES, decode_line
from handrail.protocol.frames.base import NO_LINES
from handrail.protocol.stream import ContentBlockDelta, TextDelta

FIXTURES = Path(__file__).parent.parent / "fixtures"
WIRE = sorted((FIXTURES / "wire").glob("*.jsonl"))
SEEDS = sorted((FIXTURES / "seeds").glob("*.jsonl"))
WIRE_LINES = [line for path in WIRE for line in path.read_bytes().splitlines()]


def decode(value: Any) -> f.Frame:
    return decode_line(json.dumps(value).encode())


@pytest.mark.parametrize("path", WIRE, ids=lambda path: path.stem)
def test_everything_recorded_decodes_typed_and_back_to_the_same_json(path: Path) -> None:
    for line in path.read_bytes().splitlines():
        frame = decode_line(line)
        assert not isinstance(frame, f.UnknownFrame | f.Malformed), line[:200]
        assert frame.problems == (), line[:200]
        assert json.loads(f.encode(frame)) == json.loads(line)
        assert frame.data == json.loads(line)


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_every_example_of_the_seeds_decodes_typed(path: Path) -> None:
    for line in path.read_bytes().splitlines():
        example = json.loads(line)
        if example["type"] in {"text", "image"}:  # content blocks, shown on their own
            frame = decode({"type": "user", "message": {"content": [example]}})
        else:
            frame = decode(example)
        assert not isinstance(frame, f.UnknownFrame | f.Malformed), line
        assert frame.problems == (), line


def test_every_field_of_the_wire_is_modelled() -> None:
    known: dict[str, type[f.Frame]] = {
        **_FRAME_TYPES,
        **{f"system/{name}": cls for name, cls in _SYSTEM_TYPES.items()},
    }
    for name, fields in json.loads((FIXTURES / "wire" / "fields.json").read_text()).items():
        cls = known[name.split("/")[0] if name.startswith("result/") else name]
        assert set(fields) <= set(cls.__struct_encode_fields__), name


def test_only_the_discriminators_are_required() -> None:
    for name in _FRAME_TYPES:
        if name != "system":
            assert type(decode({"type": name})) is _FRAME_TYPES[name]
    for name in _SYSTEM_TYPES:
        frame = decode({"type": "system", "subtype": name})
        assert type(frame) is _SYSTEM_TYPES[name]
        assert (frame.type, frame.subtype) == ("system", name)  # type: ignore[attr-defined]


def test_an_unknown_type_keeps_everything() -> None:
    value = {"type": "novelty", "subtype": "x", "uuid": "u", "deep": {"a": [1, None]}}
    frame = decode(value)
    assert isinstance(frame, f.UnknownFrame)
    assert (frame.type, frame.subtype, frame.uuid) == ("novelty", "x", "u")
    assert frame.data == value
    assert frame.extra == {"uuid": "u", "deep": {"a": [1, None]}}
    assert json.loads(f.encode(frame)) == value


def test_an_unknown_system_subtype_keeps_everything() -> None:
    frame = decode({"type": "system", "subtype": "novelty", "x": 1})
    assert isinstance(frame, f.UnknownFrame)
    assert (frame.type, frame.subtype, frame.extra) == ("system", "novelty", {"x": 1})


def test_an_unknown_block_leaves_its_neighbours_typed() -> None:
    novelty = {"type": "hologram", "depth": 3}
    frame = decode({"type": "assistant", "message": {"content": [{"type": "text", "text": "hi"}, novelty]}})
    assert isinstance(frame, f.Assistant)
    text, unknown = frame.message.blocks
    assert isinstance(text, Text)
    assert isinstance(unknown, Unknown)
    assert (unknown.type, unknown.data) == ("hologram", novelty)
    assert frame.problems == ()


def test_an_unknown_stream_event_and_delta_are_kept() -> None:
    event = decode({"type": "stream_event", "event": {"type": "novelty", "n": 1}})
    assert isinstance(event, f.StreamEvent)
    assert isinstance(event.event, Unknown)
    delta = decode({"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "sound_delta"}}})
    assert isinstance(delta, f.StreamEvent)
    assert isinstance(delta.event, ContentBlockDelta)
    assert isinstance(delta.event.delta, Unknown)


def test_unmodelled_fields_are_reachable() -> None:
    frame = decode({"type": "result", "subtype": "success", "carbon_grams": 3})
    assert frame.extra == {"carbon_grams": 3}


def test_a_field_of_the_wrong_type_degrades_the_frame_and_says_so() -> None:
    frame = decode({"type": "assistant", "uuid": "u", "message": {"content": 7, "model": "m"}})
    assert isinstance(frame, f.Assistant)
    assert frame.degraded
    assert frame.problems == ("message.content: expected a string or an array, got a number",)
    assert (frame.message.content, frame.message.model, frame.uuid) == ((), "m", "u")
    assert frame.data["message"]["content"] == 7


def test_a_degraded_result_is_still_a_result() -> None:
    frame = decode({"type": "result", "subtype": 1, "num_turns": "three", "result": "done"})
    assert isinstance(frame, f.Result)
    assert frame.result == "done"
    assert len(frame.problems) == 2
    assert not frame.ok


@pytest.mark.parametrize(
    ("fields", "ok", "error"),
    [
        ({"subtype": "success", "result": "hi"}, True, None),
        ({"subtype": "success", "is_error": True, "result": "API Error: 529"}, False, "API Error: 529"),
        ({"subtype": "error_max_turns", "is_error": False}, False, "error_max_turns"),
        ({"subtype": "error_during_execution", "errors": ["a", "b"], "is_error": True}, False, "a; b"),
    ],
)
def test_whether_a_result_is_an_error(fields: dict[str, Any], ok: bool, error: str | None) -> None:
    frame = decode({"type": "result", **fields})
    assert isinstance(frame, f.Result)
    assert (frame.ok, frame.error) == (ok, error)


def test_frames_made_here_encode_with_wire_names_and_unknown_parts() -> None:
    block = Unknown(data={"type": "hologram", "depth": 3})
    frame = f.User(message=Message(role="user", content=(Text(text="hi"), block)), is_synthetic=True, uuid="u")
    assert json.loads(f.encode(frame)) == {
        "type": "user",
        "uuid": "u",
        "isSynthetic": True,
        "message": {
            "role": "user",
            "content": [{"type": "text", "text": "hi"}, {"type": "hologram", "depth": 3}],
        },
    }
    assert json.loads(f.encode(f.Status(status="compacting"))) == {
        "type": "system",
        "subtype": "status",
        "status": "compacting",
    }


def test_content_blocks_of_every_kind() -> None:
    content = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "document", "title": "t", "source": {"type": "text", "data": "x"}},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "text", "text": "out"}],
            "is_error": False,
        },
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    ]
    frame = decode({"type": "user", "message": {"role": "user", "content": content}})
    assert isinstance(frame, f.User)
    assert [type(block) for block in frame.message.blocks] == [
        Image,
        Document,
        ToolUse,
        ToolResult,
        ServerToolUse,
    ]
    image, _, _, result, _ = frame.message.blocks
    assert isinstance(image, Image)
    assert image.source == Source(type="base64", media_type="image/png", data="aGk=")
    assert isinstance(result, ToolResult)
    assert result.text == "out"


def test_a_tools_own_output_is_decoded_when_it_is_looked_at() -> None:
    for content in ("fine", 7):  # 7: the frame is read leniently
        frame = decode({"type": "user", "message": {"content": content}, "tool_use_result": {"stdout": "ä"}})
        assert isinstance(frame, f.User)
        assert frame.tool_use_result == {"stdout": "ä"}
    bare = decode({"type": "user"})
    assert isinstance(bare, f.User)
    assert bare.tool_use_result is None


def test_text_deltas_are_typed() -> None:
    frame = decode(
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "text_delta", "text": "x"},
            },
        }
    )
    assert isinstance(frame, f.StreamEvent)
    assert frame.event == ContentBlockDelta(index=2, delta=TextDelta(text="x"))


def test_the_lenient_reader_agrees_with_the_fast_one() -> None:
    for line in WIRE_LINES:
        fast = decode_line(line)
        slow, problems = lenient.convert(json.loads(line), type(fast))
        fast.line_source = NO_LINES
        assert problems == ()
        assert json.loads(msgspec.json.encode(slow)) == json.loads(msgspec.json.encode(fast))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.sampled_from(WIRE_LINES), st.data())
@settings(max_examples=400, deadline=None)
def test_no_replaced_field_loses_the_frame(line: bytes, data: st.DataObject) -> None:
    value = json.loads(line)
    field = data.draw(st.sampled_from([name for name in value if name not in {"type", "subtype"}] or ["x"]))
    value[field] = data.draw(JSON)
    frame = decode(value)
    assert type(frame) is type(decode_line(line))
    assert frame.data == value
