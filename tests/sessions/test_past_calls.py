"""What people were asked and answered, read back from stored asks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.sessions.past_calls import past_calls
from handrail.store.base import AskRow


def ask(**fields: Any) -> AskRow:
    body = {"tool_name": "Bash", "input": {"command": "make"}, "cwd": "/p", "kind": "permission"}
    given = {"session_id": "s", "id": "a", "kind": "permission", "digest": "d", "title": "make", "opened_at": 5.0}
    return AskRow(**{**given, "body": json.dumps(body).encode(), "surface": "web", **fields})


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ({"answer": b'{"type":"allow"}', "state": "sent"}, "allowed"),
        ({"answer": b'{"type":"deny","message":"no"}', "state": "sent"}, "denied"),
        ({"state": "cancelled"}, "cancelled"),
        ({"state": "expired"}, "unanswered"),
        ({"state": "lost"}, "unanswered"),
    ],
)
def test_what_became_of_a_call(fields: dict[str, Any], then: str) -> None:
    (found,) = past_calls([ask(**fields)])
    assert (found.call.tool, found.call.input, found.call.cwd) == ("Bash", {"command": "make"}, "/p")
    assert (found.call.then, found.call.asked, found.at) == (then, True, 5.0)


def test_another_input_and_new_rules_are_remembered() -> None:
    rules = [{"type": "addRules"}]
    answer = {"type": "allow", "updated_input": {"command": "make -n"}, "updated_permissions": rules}
    (found,) = past_calls([ask(answer=json.dumps(answer).encode(), state="sent")])
    assert (found.call.changed, found.call.updated_permissions) == (True, tuple(rules))


@pytest.mark.parametrize("surface", ["policy", "hook", "callback", "unattended"])
def test_what_nobody_looked_at_does_not_count(surface: str) -> None:
    assert list(past_calls([ask(surface=surface, answer=b'{"type":"allow"}')])) == []


@pytest.mark.parametrize("fields", [{"kind": "question"}, {"body": b'{"tool_name": 1}'}, {"body": b"{"}])
def test_what_is_no_call_is_left_out(fields: dict[str, Any]) -> None:
    assert list(past_calls([ask(**fields)])) == []
