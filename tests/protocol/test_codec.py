"""Bytes in any chunking become the same frames, and whatever arrives has a defined outcome."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.protocol.codec import Codec, decode_line
from handrail.protocol.frames import Assistant, Init, KeepAlive, Malformed, Result, StreamEvent, UnknownFrame

KEEP_ALIVE = b'{"type":"keep_alive"}'
TEXT = b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a b"}]}}'
INIT = b'{"type":"system","subtype":"init","session_id":"s","tools":["Bash"]}'
NEW = b'{"type":"from_the_future","n":1}'
WRONG = b'{"type":"result","subtype":"success","is_error":"no"}'


def feed(*chunks: bytes, max_line: int = 1 << 20) -> list[object]:
    codec = Codec(max_line)
    return [frame for chunk in chunks for frame in codec.feed(chunk)] + codec.finish()


def test_an_object_split_over_three_reads_is_parsed_once() -> None:
    frames = feed(TEXT[:10], TEXT[10:40], TEXT[40:] + b"\n")
    assert [type(frame) for frame in frames] == [Assistant]


def test_two_objects_in_one_read_come_in_order() -> None:
    frames = feed(TEXT + b"\n" + KEEP_ALIVE + b"\n")
    assert [type(frame) for frame in frames] == [Assistant, KeepAlive]


def test_whitespace_at_a_seam_inside_a_string_is_kept() -> None:
    seam = TEXT.index(b"a b") + 2
    (frame,) = feed(TEXT[:seam], TEXT[seam:] + b"\n")
    assert isinstance(frame, Assistant)
    assert frame.message.text == "a b"


def test_a_last_line_without_newline_is_read_when_the_stream_ends() -> None:
    codec = Codec()
    assert codec.feed(KEEP_ALIVE) == []
    assert [type(frame) for frame in codec.finish()] == [KeepAlive]
    assert codec.finish() == []


@pytest.mark.parametrize(
    "noise",
    [b"\n", b"\r\n", b"  \t \n", b"\xef\xbb\xbf" + KEEP_ALIVE + b"\n", b"\0\0" + KEEP_ALIVE + b"\0\n"],
)
def test_blank_lines_byte_order_marks_and_nul_padding_are_ignored(noise: bytes) -> None:
    frames = feed(noise + TEXT + b"\r\n" + noise)
    assert {type(frame) for frame in frames} <= {Assistant, KeepAlive}
    assert sum(isinstance(frame, Assistant) for frame in frames) == 1


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"Debugger listening on ws://", "not_json"),
        (b'{"type":"assistant"', "not_json"),
        (b'{"type":"keep_alive"}}', "not_json"),
        (b'{"type":"keep_alive"} {"type":"keep_alive"', "not_json"),
        (b"[1,2]", "not_an_object"),
        (b"42", "not_an_object"),
        (b'{"subtype":"init"}', "no_type"),
        (b'{"type":7}', "no_type"),
        (b'{"type":"keep\0alive"}', "not_json"),
        (b'{"a":' * 100_000, "too_deep"),
    ],
)
def test_a_bad_line_is_a_value_and_the_stream_goes_on(line: bytes, kind: str) -> None:
    before, bad, after = feed(KEEP_ALIVE + b"\n" + line + b"\n" + TEXT + b"\n")
    assert isinstance(before, KeepAlive)
    assert isinstance(bad, Malformed)
    assert (bad.kind, bad.raw) == (kind, line)
    assert bad.reason
    assert isinstance(after, Assistant)


def test_invalid_utf8_is_replaced_and_said() -> None:
    line = TEXT.replace(b"a b", b"a\xff\xfeb")
    (frame,) = feed(line + b"\n")
    assert isinstance(frame, Assistant)
    assert frame.message.text == "a��b"
    assert "invalid UTF-8" in frame.problems[0]
    assert frame.raw == line


def test_a_bad_byte_where_nobody_reads_does_no_harm() -> None:
    first = b'{"type":"keep_alive","zz":"\xff"}'
    for newline in (b"\n", b"\r\n"):
        frames = feed(first + newline + INIT + newline)
        assert [type(frame) for frame in frames] == [KeepAlive, Init]
        assert frames[0].raw == first  # type: ignore[attr-defined]


def test_half_a_surrogate_pair_is_read_as_a_replacement() -> None:
    (frame,) = feed(TEXT.replace(b"a b", rb"a \ud83d b") + b"\n")
    assert isinstance(frame, Assistant)
    assert frame.message.text == "a � b"


@pytest.mark.parametrize("chunk", [1 << 20, 100, 7])
def test_a_line_beyond_the_limit_is_skipped_with_a_warning(chunk: int) -> None:
    long = b'{"type":"user","text":"' + b"x" * 5000 + b'"}'
    data = KEEP_ALIVE + b"\n" + long + b"\n" + KEEP_ALIVE + b"\n"
    frames = feed(*(data[n : n + chunk] for n in range(0, len(data), chunk)), max_line=1000)
    assert [type(frame) for frame in frames] == [KeepAlive, Malformed, KeepAlive]
    warning = frames[1]
    assert isinstance(warning, Malformed)
    assert (warning.kind, warning.size) == ("too_long", len(long))
    assert long.startswith(warning.raw)
    assert "1000" in warning.reason


def test_a_line_beyond_the_limit_at_the_end_of_the_stream_is_reported() -> None:
    (frame,) = feed(b"x" * 600, b"x" * 600, max_line=1000)
    assert isinstance(frame, Malformed)
    assert (frame.kind, frame.size) == ("too_long", 1200)


def test_raw_is_the_line_also_when_several_came_at_once() -> None:
    lines = [KEEP_ALIVE, INIT, TEXT, NEW, WRONG]
    frames = feed(b"\n".join(lines) + b"\n")
    assert [frame.raw for frame in frames] == lines  # type: ignore[attr-defined]
    fast = feed(b"\n".join([TEXT, INIT, KEEP_ALIVE]) + b"\n")
    assert [frame.raw for frame in fast] == [TEXT, INIT, KEEP_ALIVE]  # type: ignore[attr-defined]


def test_raw_is_right_for_objects_that_do_not_stand_one_on_a_line() -> None:
    for data in (KEEP_ALIVE + TEXT + INIT + b"\n\n", b"\n\n" + KEEP_ALIVE + TEXT + b" " + INIT + b"\r\n"):
        frames = feed(data)
        assert [frame.raw for frame in frames] == [KEEP_ALIVE, TEXT, INIT]  # type: ignore[attr-defined]
        assert isinstance(frames[2], Init)


def test_type_may_stand_last() -> None:
    frame = decode_line(b'{"uuid":"u","is_error":false,"subtype":"success","type":"result"}')
    assert isinstance(frame, Result)
    assert frame.uuid == "u"


@pytest.mark.slow
def test_time_is_linear_in_the_length_of_a_line() -> None:
    def seconds(size: int) -> float:
        line = b'{"type":"user","message":{"content":"' + b"x" * size + b'"}}\n'
        pieces = [line[n : n + 4096] for n in range(0, len(line), 4096)]
        codec = Codec()
        best = 1e9
        for _ in range(5):
            started = time.process_time()
            for piece in pieces:
                codec.feed(piece)
            best = min(best, time.process_time() - started)
        return best

    # Sixteen times the length: quadratic growth would make this a factor of 256, and noise does not.
    assert seconds(16 << 20) < 128 * max(seconds(1 << 20), 1e-3)


WIRE_LINES = st.lists(
    st.one_of(
        st.sampled_from([KEEP_ALIVE, TEXT, INIT, NEW, WRONG, b"", b"garbage", b"\r", b"[]"]),
        st.text(max_size=30).map(
            lambda text: json.dumps(
                {
                    "type": "stream_event",
                    "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
                },
                ensure_ascii=False,
            ).encode()
        ),
        st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(lines=WIRE_LINES, cuts=st.lists(st.integers(0, 400), max_size=8), newline=st.booleans())
@settings(max_examples=300, deadline=None)
def test_chunking_changes_nothing(lines: list[bytes], cuts: list[int], newline: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if newline else b"")
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunked = feed(*(data[a:b] for a, b in itertools.pairwise(edges)))
    whole = feed(data)

    def seen(frames: list[object]) -> list[tuple[str, bytes, tuple[str, ...]]]:
        return [(frame.type, frame.raw, frame.problems) for frame in frames]  # type: ignore[attr-defined]

    assert seen(chunked) == seen(whole)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_bytes_raise(data: bytes) -> None:
    for frame in feed(data, b"\n", data):
        assert frame.type is not None  # type: ignore[attr-defined]


def test_known_types_decode_to_their_structs() -> None:
    assert isinstance(decode_line(INIT), Init)
    assert isinstance(decode_line(NEW), UnknownFrame)
    assert isinstance(decode_line(b'{"type":"stream_event","event":{"type":"ping"}}'), StreamEvent)
