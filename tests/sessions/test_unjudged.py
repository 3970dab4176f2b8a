"""Calls that a Claude Code elsewhere makes without asking are noticed, and others are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.codec import Codec
from handrail.protocol.frames import Frame
from handrail.sessions.unjudged import REMEMBERED, UnjudgedCalls


def frames(*lines: dict[str, Any]) -> list[Frame]:
    return list(Codec().feed("".join(json.dumps(line) + "\n" for line in lines).encode()))


def call(number: int = 1, tool: str = "Bash") -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"call-{number}", "name": tool, "input": {}}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def asked(number: int = 1, how: str = "hook_callback") -> dict[str, Any]:
    request = {"subtype": how, "callback_id": "h", "input": {}, "tool_use_id": f"call-{number}"}
    return {"type": "control_request", "request_id": f"r-{number}-{how}", "request": request}


def result(number: int = 1, *, is_error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": "x", "is_error": is_error}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def told_of(*lines: dict[str, Any]) -> list[str]:
    told: list[str] = []
    watch = UnjudgedCalls(told.append)
    for frame in frames(*lines):
        watch.receive(frame)
    return told


def test_a_call_with_a_result_that_was_never_asked_about_is_told_of_once() -> None:
    (told,) = told_of(call(tool="Write"), result(), call(2), result(2))
    assert told.startswith("Claude Code made a call (Write) without asking Handrail")


@pytest.mark.parametrize("how", ["hook_callback", "can_use_tool"])
def test_one_that_was_asked_about_is_not(how: str) -> None:
    assert told_of(call(), asked(how=how), result()) == []


@pytest.mark.parametrize(
    "lines",
    [
        [call(), result(is_error=True)],
        [result()],
        [{"type": "user", "message": {"role": "user", "content": "said"}}],
    ],
    ids=["refused", "of a call before us", "said"],
)
def test_nor_is_what_is_no_such_call(lines: list[dict[str, Any]]) -> None:
    assert told_of(*lines) == []


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_whatever_the_order_one_is_told_of_if_and_only_if_it_was_not_asked_about(
    order: list[int], unasked: set[int]
) -> None:
    lines = [call(number) for number in range(6)]
    lines += [asked(number) for number in order if number not in unasked]
    lines += [result(number) for number in reversed(order)]
    assert bool(told_of(*lines)) is bool(unasked)


def test_what_never_ends_is_forgotten_in_time() -> None:
    assert told_of(*(call(number) for number in range(REMEMBERED + 1)), result(0)) == []
