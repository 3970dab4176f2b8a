"""A tool call that nobody asked about is noticed, unless it waits for another one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.ingress import IngressLink
from handrail.protocol.ingress_calls import ToolCalls


def told(calls: ToolCalls, *frames: dict[str, Any]) -> frozenset[str]:
    for frame in frames:
        calls.receive(frame["type"], msgspec.json.encode(frame))
    return calls.unheard


def assistant(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": each, "name": "Bash", "input": {}} for each in ids]
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}, *blocks]}}


def asked(id: str, subtype: str = "hook_callback") -> dict[str, Any]:
    return {"type": "control_request", "request_id": "r", "request": {"subtype": subtype, "tool_use_id": id}}


def result_of(id: str) -> dict[str, Any]:
    return {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "done"}]}}


END = {"type": "result", "subtype": "success", "note": "tool_use"}


def test_a_call_that_nobody_asked_about_is_unheard() -> None:
    assert told(ToolCalls(), assistant("a")) == {"a"}


@pytest.mark.parametrize("subtype", ["hook_callback", "can_use_tool"])
def test_one_that_was_asked_about_is_not(subtype: str) -> None:
    assert told(ToolCalls(), assistant("a"), asked("a", subtype)) == frozenset()
    assert told(ToolCalls(), asked("a", subtype), assistant("a")) == frozenset()  # the question may overtake the call


def test_one_that_waits_for_another_is_not() -> None:
    calls = ToolCalls()
    assert told(calls, assistant("a", "b"), asked("a")) == frozenset()
    assert told(calls, result_of("a")) == {"b"}
    assert told(calls, asked("b"), result_of("b")) == frozenset()


def test_the_end_of_the_turn_ends_its_calls() -> None:
    assert told(ToolCalls(), assistant("a"), END) == frozenset()


@given(st.sampled_from(["assistant", "user", "control_request"]), st.binary(max_size=40))
def test_lines_of_any_shape_are_taken(kind: str, garbage: bytes) -> None:
    calls = ToolCalls()
    calls.receive(kind, b'{"message": {"content": ["tool_use", 1]}, "request": "tool_use"}')
    calls.receive(kind, b"tool_use" + garbage)
    assert calls.unheard == frozenset()


@pytest.mark.parametrize(
    ("hooks", "unheard"),
    [
        ({"PreToolUse": [{"hookCallbackIds": ["h"]}]}, {"a"}),
        ({"PreToolUse": [{"matcher": "Write", "hookCallbackIds": ["h"]}]}, set()),
        ({"Stop": [{"hookCallbackIds": ["h"]}]}, set()),
        (None, set()),
    ],
)
def test_it_matters_only_where_a_hook_sees_every_call(hooks: Any, unheard: set[str]) -> None:
    link = IngressLink()
    request = {"subtype": "initialize", **({"hooks": hooks} if hooks is not None else {})}
    link.connected(None, now=0.0)
    link.send(msgspec.json.encode({"type": "control_request", "request_id": "i", "request": request}) + b"\n", now=0.0)
    link.receive(msgspec.json.encode({**assistant("a"), "uuid": "u"}).decode() + "\n", now=0.0)
    assert link.unheard == unheard
