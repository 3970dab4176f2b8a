"""Lines from messages in any framing."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.ingress_lines import LineCutter, head_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=3)
)
FRAMES = st.lists(st.dictionaries(st.text(max_size=8), JSON, min_size=1, max_size=3), max_size=8)


def cut(messages: list[str | bytes], limit: int = 1 << 20) -> list[bytes]:
    cutter = LineCutter(limit)
    return [line for message in messages for line in cutter.feed(message)]


@pytest.mark.slow
@given(FRAMES, st.data())
def test_lines_survive_any_framing(frames: list[dict[str, Any]], data: st.DataObject) -> None:
    """Split anywhere, joined, text or binary: the same lines come out."""
    stream = b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    edges = [0, *places, len(stream)]
    pieces: list[str | bytes] = [stream[a:b] for a, b in itertools.pairwise(edges)]
    as_text = data.draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
    messages = [piece.decode() if text else piece for piece, text in zip(pieces, as_text, strict=True)]  # type: ignore[union-attr]
    assert [json.loads(line) for line in cut(messages)] == frames


@pytest.mark.slow
@given(FRAMES)
def test_a_message_without_a_newline_is_a_line(frames: list[dict[str, Any]]) -> None:
    assert [json.loads(line) for line in cut([json.dumps(frame) for frame in frames])] == frames


def test_half_an_object_waits_for_its_other_half() -> None:
    assert cut(['{"a": "}', '"}']) == [b'{"a": "}"}']
    assert cut(['{"a": "\\', '"}', '"}', '{"b": 1} ']) == [b'{"a": "\\"}"}', b'{"b": 1} '.strip()]


@pytest.mark.slow
@given(FRAMES, st.data())
def test_objects_without_newlines_are_found_in_any_pieces(frames: list[dict[str, Any]], data: st.DataObject) -> None:
    messages: list[str | bytes] = []
    for frame in frames:
        text = json.dumps(frame, ensure_ascii=data.draw(st.booleans())).encode()
        places = sorted(data.draw(st.lists(st.integers(1, len(text) - 1), max_size=6, unique=True)))
        messages += [text[a:b] for a, b in itertools.pairwise([0, *places, len(text)])]
    assert [json.loads(line) for line in cut(messages)] == frames


def test_what_can_never_be_whole_waits_for_its_newline() -> None:
    assert cut(['{"a": 1},', "{}", "{}", '\n{"b": 2}']) == [b'{"a": 1},{}{}', b'{"b": 2}']


@pytest.mark.parametrize("end", [",{}", "}", '"}', "{"])
def test_many_small_pieces_of_a_long_line_cost_little(end: str) -> None:
    cutter = LineCutter(1 << 26)
    assert list(cutter.feed('{"a": "' + "x" * 2_000_000 + '", "b": [{}')) == []
    begun = time.process_time()
    for _ in range(2_000):
        list(cutter.feed(end))
    assert time.process_time() - begun < 2.0  # some milliseconds for each piece if all of it were read again


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40), max_size=10))
def test_nothing_that_arrives_breaks_it(messages: list[str | bytes]) -> None:
    for line in cut(messages, limit=30):
        assert b"\n" not in line
        head_of(line)


def test_a_line_over_the_limit_is_skipped_and_the_next_one_is_not() -> None:
    cutter = LineCutter(10)
    assert list(cutter.feed('{"a": "far too long')) == []
    assert list(cutter.feed(' for this"}\n{"b":1}\n')) == [b'{"b":1}']
    assert cutter.too_long == 1


def test_blank_lines_and_carriage_returns_are_nothing() -> None:
    assert cut(['\r\n\n {"a":1}\r\n\n']) == [b'{"a":1}']


def test_a_head_says_what_a_line_is() -> None:
    asked = head_of(b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":{}}}')
    assert (asked.type, asked.request_id, asked.asks) == ("control_request", "r", "can_use_tool")
    reply = head_of(
        b'{"type":"control_response","response":{"subtype":"error","request_id":"i","error":"Already initialized",'
        b'"pending_permission_requests":[{"type":"control_request","request_id":"p","request":{}}]}}'
    )
    assert reply.response is not None
    assert reply.response.waits_for == {"p"}
    assert head_of(b"no json").type == ""
    assert head_of(b'{"type": 7, "uuid": {}}').type == ""
