"""Events as JSON: everything comes back, nothing raises, and what is new stays readable."""

from __future__ import annotations

import json
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events import model
from handrail.events.codec import decode_event, decode_item, encode_event, searchable_text
from handrail.events.model import (
    Action,
    AnyEvent,
    AskClosed,
    AskOpened,
    Completed,
    Delta,
    Event,
    Meta,
    Prompt,
    Started,
    Text,
    Thinking,
    Unknown,
)
from handrail.events.recording import items_of_recording

from .support import RECORDINGS, lines_of

EVENT_TYPES: tuple[type[Event], ...] = get_args(AnyEvent)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, width=32) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    JSON | st.integers() | st.text(st.characters(exclude_categories=[])) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


def test_every_event_has_a_name_of_its_own() -> None:
    classes = [cls for cls in vars(model).values() if isinstance(cls, type) and issubclass(cls, Event) and cls != Event]
    assert set(classes) == set(EVENT_TYPES)
    tags = [cls.__struct_config__.tag for cls in EVENT_TYPES]
    assert len(set(tags)) == len(tags)


def fields_of(kind: type[Event]) -> st.SearchStrategy[dict[str, Any]]:
    """Something for every field of an event."""
    plain = {
        int: st.integers(0, 2**53),
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: st.text(),
        bool: st.booleans(),
        dict: st.dictionaries(st.text(), JSON, max_size=2),
        tuple: st.just([]),
        Meta: st.just({"cwd": "/p", "permissionMode": "plan"}),
        type(None): st.none(),
    }

    def values(wanted: Any) -> st.SearchStrategy[Any]:
        if get_origin(wanted) is Literal:
            return st.sampled_from(get_args(wanted))
        if get_origin(wanted) in (Union, UnionType):
            return st.one_of([values(part) for part in get_args(wanted)])
        return plain.get(get_origin(wanted) or wanted, JSON)

    named = {field.encode_name: values(field.type) for field in msgspec.structs.fields(kind)}
    return st.fixed_dictionaries({**named, "type": st.just(kind.__struct_config__.tag)})


@pytest.mark.slow
@given(
    st.one_of([fields_of(kind).map(lambda fields, kind=kind: msgspec.convert(fields, kind)) for kind in EVENT_TYPES])
)
@settings(max_examples=60)
def test_events_come_back(event: Event) -> None:
    line = encode_event(event)
    assert b"\n" not in line
    assert json.loads(line)["type"] == event.__struct_config__.tag
    assert encode_event(decode_event(line)) == line


@pytest.mark.parametrize("path", RECORDINGS[::12], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recorded_events_come_back(path: Any) -> None:
    for item in items_of_recording(lines_of(path)):
        assert encode_event(decode_item(encode_event(item))) == encode_event(item)


def test_a_delta_comes_back() -> None:
    delta = Delta(block="m:0", kind="text", offset=3, text="hé", after=7, parent="a")
    assert decode_item(encode_event(delta)) == delta
    assert isinstance(decode_event(encode_event(delta)), Unknown)


def test_a_type_from_a_newer_version_is_kept_whole() -> None:
    event = decode_event(b'{"type": "hologram", "seq": 4, "at": 1.5, "run": 2, "depth": {"x": 1}}')
    assert isinstance(event, Unknown)
    assert (event.seq, event.at, event.run, event.frame_type) == (4, 1.5, 2, "hologram")
    assert event.frame["depth"] == {"x": 1}


def test_a_new_field_is_passed_over_and_an_unfit_one_has_its_default() -> None:
    event = decode_event(b'{"type": "started", "seq": 4, "resume": 7, "cause": "moon", "meta": [], "new": 1}')
    assert event == Started(seq=4)


def test_an_ask_that_ended_in_a_way_of_a_newer_version_is_over() -> None:
    ended = decode_event(b'{"type": "ask_closed", "seq": 4, "ask_id": "a", "outcome": "delegated"}')
    assert ended == AskClosed(seq=4, ask_id="a", outcome="delegated")
    prompt = decode_event(b'{"type": "prompt", "seq": 5, "uuid": "u", "state": "translated"}')
    assert prompt == Prompt(seq=5, uuid="u", state="translated")


def test_an_event_that_lacks_what_it_needs_is_kept_whole() -> None:
    event = decode_event(b'{"type": "action", "seq": 4, "id": "a", "kind": "ritual", "title": "t", "phase": "started"}')
    assert isinstance(event, Unknown)
    assert (event.seq, event.frame_type, event.frame["kind"]) == (4, "action", "ritual")
    assert decode_event(b'{"type": "text", "seq": "x"}').seq == 0


@pytest.mark.slow
@given(st.binary(max_size=40) | JSON.map(lambda value: msgspec.json.encode(value)))
def test_whatever_is_decoded_gives_an_event(data: bytes) -> None:
    assert isinstance(decode_event(data), Event)


@pytest.mark.slow
@given(st.sampled_from(EVENT_TYPES), st.dictionaries(st.text() | st.sampled_from(["seq", "run", "id", "ok"]), JSON))
def test_whatever_a_known_type_holds_gives_an_event(kind: type[Event], fields: dict[str, Any]) -> None:
    given_fields = {**fields, "type": kind.__struct_config__.tag}
    assert isinstance(decode_event(msgspec.json.encode(given_fields)), Event)


@pytest.mark.slow
@given(ANYTHING)
def test_whatever_an_event_holds_can_be_encoded(value: Any) -> None:
    line = encode_event(Unknown(frame_type="x", frame=value, seq=3, run=1))
    event = decode_event(line)
    assert isinstance(event, Unknown)
    assert (event.seq, event.run, event.frame_type) == (3, 1, "x")


def test_what_json_cannot_hold() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"x": deep}
    action = Action(id="a", kind="note", title="half \ud83d", phase="completed", detail={"n": 2**70, "d": deep})
    back = decode_event(encode_event(action))
    assert isinstance(back, Action)
    assert (back.id, back.title, back.detail["n"]) == ("a", "half �", float(2**70))
    meta = Started(resume="\ud83d", meta=Meta(permission_mode="plan"))
    assert decode_event(encode_event(meta)) == Started(resume="�", meta=Meta(permission_mode="plan"))


def test_what_a_search_finds() -> None:
    call = {"command": "make stairs", "description": "Build"}
    ask = AskOpened(ask_id="r", kind="permission", digest="d", title="Run make?", ask={"x": "hidden"})
    cases: list[tuple[Event, str]] = [
        (Text(block="b", text="A handrail."), "A handrail."),
        (Thinking(block="b", text="secret"), ""),
        (Prompt(uuid="u", content="Build stairs"), "Build stairs"),
        (Prompt(uuid="u", content=[{"type": "text", "text": "one"}, {"type": "image"}]), "one"),
        (Prompt(uuid="u", state="started"), ""),
        (
            Action(id="t", kind="command", title="make stairs", phase="started", detail={"tool_input": call}),
            "make stairs\nBuild",
        ),
        (Action(id="t", kind="command", title="make", phase="completed", detail={"tool_use_id": "t"}), ""),
        (
            Action(id="t", kind="note", title="first", phase="completed", detail={"text": "first\nrest"}),
            "first\nfirst\nrest",
        ),
        (ask, "Run make?"),
        (Completed(ok=False, error="boom", answer="text"), "boom"),
        (Completed(ok=True, answer="text"), ""),
        (Started(resume="s"), ""),
    ]
    for event, words in cases:
        assert searchable_text(event) == words
    assert len(searchable_text(Text(block="b", text="x" * 1_000_000))) < 100_000
