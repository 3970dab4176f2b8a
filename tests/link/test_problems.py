"""A hub's own words are told from those of others who answer in its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.link.problems import Told, told_by


def test_what_a_hub_says_is_understood() -> None:
    body = json.dumps({"type": "urn:x", "status": 401, "code": "not_authenticated", "detail": "who are you?"})
    assert told_by(body.encode()) == Told("not_authenticated", "who are you?")


@pytest.mark.parametrize("body", [b"", b"<html>401</html>", b'{"message": "log in"}', b'{"code": 16}', b"[]", b"\xff"])
def test_what_others_say_is_not(body: bytes) -> None:
    assert told_by(body) == Told()


@given(st.binary(max_size=60))
def test_whatever_is_answered_is_taken(body: bytes) -> None:
    assert isinstance(told_by(body), Told)
