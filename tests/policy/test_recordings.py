"""Recordings read and replayed: real transcripts, and small ones made for each outcome."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.policy import Policy
from handrail.policy.recordings import Recorded, RecordedCall, read_recording, replay

TRANSCRIPTS = Path(__file__).parent.parent / "fixtures" / "transcripts"
CWD = "/home/dev/project"


class Tape:
    """Writes a recording."""

    def __init__(self, mode: str = "default") -> None:
        self.lines: list[bytes] = []
        self.add("in", {"type": "system", "subtype": "init", "cwd": CWD, "permissionMode": mode})

    def add(self, direction: str, raw: Any) -> None:
        self.lines.append(json.dumps({"t": 0, "dir": direction, "raw": raw}).encode())

    def call(self, key: str, tool: str, given: dict[str, Any], *, ran: bool = True) -> None:
        block = {"type": "tool_use", "id": key, "name": tool, "input": given}
        self.add("in", {"type": "assistant", "message": {"content": [block]}})
        if ran:
            self.result(key)

    def result(self, key: str) -> None:
        self.add("in", {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": key}]}})

    def ask(self, key: str, tool: str, given: dict[str, Any], answer: dict[str, Any] | None) -> None:
        self.call(key, tool, given, ran=False)
        request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": key}
        self.add("in", {"type": "control_request", "request_id": f"r-{key}", "request": request})
        if answer is not None:
            response = {"subtype": "success", "request_id": f"r-{key}", "response": answer}
            self.add("out", {"type": "control_response", "response": response})

    def read(self) -> Recorded:
        return read_recording(self.lines)


SEARCH = {"query": "q"}


def test_what_became_of_each_call() -> None:
    tape = Tape()
    tape.ask("1", "WebSearch", SEARCH, {"behavior": "allow", "updatedInput": SEARCH})
    tape.ask("2", "WebSearch", SEARCH, {"behavior": "deny", "message": "no"})
    tape.ask("3", "WebSearch", SEARCH, None)
    tape.add("in", {"type": "control_cancel_request", "request_id": "r-3"})
    tape.ask("4", "WebSearch", SEARCH, None)
    tape.ask("5", "WebSearch", SEARCH, {"behavior": "allow", "updatedInput": {"query": "other"}})
    tape.call("6", "Read", {"file_path": "x"})
    tape.call("7", "Read", {"file_path": "y"}, ran=False)
    tape.call("8", "Read", {"file_path": "z"})
    tape.add("in", {"type": "result", "permission_denials": [{"tool_use_id": "8"}]})
    calls = tape.read().calls
    assert [call.then for call in calls] == [
        *("allowed", "denied", "cancelled", "unanswered", "allowed"),
        *("ran", "unfinished", "refused"),
    ]
    assert [call.asked for call in calls] == [True] * 5 + [False] * 3
    assert [call.changed for call in calls] == [False] * 4 + [True] + [False] * 3
    assert {call.cwd for call in calls} == {CWD}


def test_the_mode_is_followed() -> None:
    tape = Tape("plan")
    tape.call("1", "Read", {})
    tape.add("in", {"type": "system", "subtype": "status", "permissionMode": "acceptEdits"})
    tape.call("2", "Read", {})
    assert [call.mode for call in tape.read().calls] == ["plan", "acceptEdits"]


def test_lines_that_are_no_recording_are_counted() -> None:
    recorded = read_recording([b"", b"nonsense", b"[]", b'{"dir": "up", "raw": {}}', b'{"dir": "in", "raw": "text"}'])
    assert (recorded.calls, recorded.frames, recorded.unreadable) == ((), 1, 3)


@pytest.mark.parametrize(
    ("answer", "rules", "difference"),
    [
        ({"behavior": "allow"}, {}, "same"),
        ({"behavior": "allow"}, {"allow": ["WebSearch"]}, "saved"),
        ({"behavior": "allow"}, {"deny": ["WebSearch"]}, "denied"),
        ({"behavior": "deny"}, {}, "same"),
        ({"behavior": "deny"}, {"deny": ["WebSearch"]}, "saved"),
        ({"behavior": "deny"}, {"allow": ["WebSearch"]}, "allowed"),
        (None, {"allow": ["WebSearch"]}, "allowed"),
    ],
)
def test_how_a_policy_differs_from_what_was_answered(answer: Any, rules: dict[str, list[str]], difference: str) -> None:
    tape = Tape()
    tape.ask("1", "WebSearch", SEARCH, answer)
    (replayed,) = replay(Policy.of(**rules), tape.read().calls, home="/home/dev")
    assert replayed.difference == difference


@pytest.mark.parametrize(
    ("rules", "difference"), [({"allow": ["WebSearch"]}, "same"), ({}, "asks"), ({"deny": ["WebSearch"]}, "denied")]
)
def test_how_a_policy_differs_from_what_ran_unasked(rules: dict[str, list[str]], difference: str) -> None:
    tape = Tape()
    tape.call("1", "WebSearch", SEARCH)
    (replayed,) = replay(Policy.of(**rules), tape.read().calls, home="/home/dev")
    assert replayed.difference == difference


def test_what_was_allowed_for_good_counts_from_then_on() -> None:
    tape = Tape()
    always = [{"type": "addRules", "rules": [{"toolName": "WebSearch"}], "behavior": "allow", "destination": "session"}]
    tape.ask("1", "WebSearch", SEARCH, {"behavior": "allow", "updatedPermissions": always})
    tape.call("2", "WebSearch", {"query": "more"})
    replayed = replay(Policy.of(), tape.read().calls, home="/home/dev")
    assert [each.ruling.behavior for each in replayed] == ["ask", "allow"]
    assert [each.difference for each in replayed] == ["same", "same"]


@pytest.mark.slow
def test_every_recorded_ask_is_found(subtests: pytest.Subtests) -> None:
    for path in sorted(TRANSCRIPTS.glob("*/*.jsonl")):
        with subtests.test(f"{path.parent.name}/{path.stem}"):
            assert_every_ask_is_found(path.read_bytes().splitlines())


def assert_every_ask_is_found(lines: list[bytes]) -> None:
    frames = [json.loads(line)["raw"] for line in lines]
    asks = {
        frame["request"].get("tool_use_id") or frame["request_id"]
        for frame in frames
        if isinstance(frame, dict)
        and frame.get("type") == "control_request"
        and frame["request"].get("subtype") == "can_use_tool"
    }
    recorded = read_recording(lines)
    assert sum(call.asked for call in recorded.calls) == len(asks)
    assert recorded.unreadable == 0
    for each in replay(Policy.of(), recorded.calls, home="/home/dev"):
        assert each.ruling.reason


def test_the_transcripts_hold_every_kind_of_outcome() -> None:
    found: Counter[str] = Counter()
    for path in TRANSCRIPTS.glob("*/*.jsonl"):
        found.update(call.then for call in read_recording(path.read_bytes().splitlines()).calls)
    assert {"allowed", "denied", "ran"} <= set(found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "request", "message", "content", "id", "request_id", "response", "subtype", "input"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["in", "out", "meta"]), json_values), max_size=5))
def test_no_recording_breaks_the_reader(entries: list[tuple[str, Any]]) -> None:
    lines = [json.dumps({"dir": direction, "raw": raw}).encode() for direction, raw in entries]
    assert all(isinstance(call, RecordedCall) for call in read_recording(lines).calls)
