"""Where an object ends is found in any pieces."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.json_nesting import Nesting

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.sampled_from('ab"\\{}[]\n\u00fc'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=4), ANYTHING, max_size=4), st.booleans(), st.data())
def test_an_object_is_closed_at_its_end_and_nowhere_before(
    value: dict[str, Any], ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    places = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=8)))
    nesting = Nesting()
    for start, end in itertools.pairwise([0, *places, len(text)]):
        nesting.add(text[start:end])
        assert nesting.is_closed == (end == len(text))


@given(st.lists(st.binary(max_size=10), max_size=8))
def test_pieces_and_the_whole_are_nested_alike(pieces: list[bytes]) -> None:
    bit_by_bit, at_once = Nesting(), Nesting()
    for piece in pieces:
        bit_by_bit.add(piece)
    at_once.add(b"".join(pieces))
    assert bit_by_bit.is_closed == at_once.is_closed


def test_a_long_beginning_of_a_string_is_looked_at_once() -> None:
    """With a time that grows with the square of its length, this would take longer than anybody waits."""
    nesting = Nesting()
    nesting.add(b'{"text": "' + b'\\"quoted\\" ' * 200_000)
    nesting.add(b'\\"quoted\\" ' * 200_000)
    assert not nesting.is_closed
    nesting.add(b'"}')
    assert nesting.is_closed
