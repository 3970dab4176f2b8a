"""What owners and links say to each other survives the way, whatever it is."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import errors
from handrail.error_records import ErrorRecord, error_of, record_of
from handrail.errors import HandrailError, SessionError, StaleDigest
from handrail.sessions.owning import owner_wire as wire

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ids = st.integers(0, 2**53)
params = st.dictionaries(st.text(), json_values, max_size=3)
raws = json_values.map(wire.encode_value)
records = st.builds(
    ErrorRecord,
    kind=st.sampled_from(errors.__all__) | st.text(),
    message=st.text(),
    fields=st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), max_size=3),
)
to_owner = st.one_of(
    st.builds(wire.Hello, version=ids, handrail=st.text(), pid=ids),
    st.builds(wire.Call, id=ids, session=st.text(), method=st.text(), params=params),
    st.builds(wire.Open, id=ids, session=st.text(), method=st.text(), params=params, credit=ids),
    st.builds(wire.More, id=ids, credit=ids),
    st.builds(wire.Cancel, id=ids),
)
from_owner = st.one_of(
    st.builds(wire.Answer, id=ids, result=raws),
    st.builds(wire.Item, id=ids, item=raws),
    st.builds(wire.End, id=ids),
    st.builds(wire.Failed, id=ids, error=records),
    st.builds(wire.Refused, error=records),
)


def is_one_line(line: bytes) -> bool:
    return line.endswith(b"\n") and line.count(b"\n") == 1


@given(to_owner)
def test_whatever_is_asked_arrives_as_it_was(message: wire.ToOwner) -> None:
    line = wire.encode(message)
    assert is_one_line(line)
    assert wire.decode_to_owner(line) == message


@given(from_owner)
def test_whatever_is_answered_arrives_as_it_was(message: wire.FromOwner) -> None:
    line = wire.encode(message)
    assert is_one_line(line)
    assert wire.decode_from_owner(line) == message


@given(json_values, st.integers(0, 4))
def test_a_value_that_was_written_elsewhere_stays_one_line(value: Any, indent: int) -> None:
    pretty = msgspec.json.format(msgspec.json.encode(value), indent=indent)
    line = wire.encode(wire.Item(id=1, item=msgspec.Raw(pretty)))
    assert is_one_line(line)
    item = wire.decode_from_owner(line)
    assert isinstance(item, wire.Item)
    assert msgspec.json.decode(item.item) == value


@given(st.binary())
def test_any_bytes_are_a_message_or_a_clear_error(line: bytes) -> None:
    for decode in (wire.decode_to_owner, wire.decode_from_owner):
        with suppress(SessionError):
            decode(line)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_survives_the_way(name: str) -> None:
    kind = getattr(errors, name)
    error = kind.__new__(kind, "words")
    error.detail = 3
    error.not_plain = object()
    copy = error_of(record_of(error))
    assert type(copy) is kind
    assert str(copy) == "words"
    assert vars(copy) == {"detail": 3}


def test_an_error_that_is_more_special_arrives_as_what_everybody_knows() -> None:
    class Special(StaleDigest):
        pass

    assert type(error_of(record_of(Special("look")))) is StaleDigest
    assert type(error_of(ErrorRecord(kind="FromTheFuture", message="x"))) is HandrailError
    assert type(error_of(ErrorRecord(kind="annotations", message="x"))) is HandrailError
