"""What is suggested for "always allow" covers the call, and next to nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.policy import Policy
from handrail.policy.always import suggest_always
from handrail.policy.grants import Grants

CWD = "/home/dev/project"


def judged(tool: str, call: dict[str, Any], suggestion: dict[str, Any]) -> str:
    """What the careful policy says about a call once the suggestion was taken."""
    grants = Grants().updated([suggestion], project=CWD, actor="alice", at=0.0)
    mode = suggestion["mode"] if suggestion["type"] == "setMode" else "default"
    return Policy.of().judge(tool, call, cwd=CWD, home="/home/dev", mode=mode, grants=grants).behavior


CALLS = [
    ("Bash", {"command": "npm test -- --watch"}, {"command": "npm publish"}),
    ("Write", {"file_path": f"{CWD}/a.txt", "content": "x"}, {"file_path": "/etc/a.txt", "content": "x"}),
    ("Edit", {"file_path": "/srv/site/a.txt", "old_string": "a", "new_string": "b"}, {"file_path": "/srv/b.txt"}),
    ("Read", {"file_path": "/srv/site/a.txt"}, {"file_path": "/srv/secret.txt"}),
    ("WebFetch", {"url": "https://docs.example.com/a", "prompt": "x"}, {"url": "https://evil.example", "prompt": "x"}),
    ("WebSearch", {"query": "x"}, None),
    ("mcp__db__query", {"sql": "select 1"}, None),
]


@pytest.mark.parametrize(("tool", "call", "other"), CALLS, ids=[f"{tool}" for tool, _, _ in CALLS])
def test_a_suggestion_covers_the_call_and_not_another(tool: str, call: Any, other: Any) -> None:
    suggestions = suggest_always(tool, call, cwd=CWD)
    assert suggestions
    for suggestion in suggestions:
        assert judged(tool, call, suggestion) == "allow"
        if other is not None:
            assert judged(tool, other, suggestion) == "ask"


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ("Bash", {"command": "rm *"}),
        ("Bash", {"command": "make\nrm -rf /"}),
        ("Bash", {"command": "echo \u202e"}),
        ("Bash", {"command": "x" * 501}),
        ("Bash", {}),
        ("Read", {"file_path": "/top.txt"}),
        ("WebFetch", {"url": "https://[::1"}),
        ("WebFetch", {"url": "https://еxample.com"}),
        ("Task", {"prompt": "x"}),
        ("SomethingNew", {}),
    ],
)
def test_what_is_not_plain_gets_no_suggestion(tool: str, call: dict[str, Any]) -> None:
    assert suggest_always(tool, call, cwd=CWD) == ()


@pytest.mark.slow
@given(command=st.text(min_size=1, max_size=40), other=st.text(min_size=1, max_size=40))
def test_a_rule_for_a_command_allows_no_other(command: str, other: str) -> None:
    for suggestion in suggest_always("Bash", {"command": command}, cwd=CWD):
        untouched = Policy.of().judge("Bash", {"command": other}, cwd=CWD, home="/home/dev").behavior
        if other.split() != command.split() and untouched != "allow":
            assert judged("Bash", {"command": other}, suggestion) != "allow" or command.strip() in other
