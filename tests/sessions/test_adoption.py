"""Sessions that Claude Code ran by itself: listed quickly, and read as if Handrail had been there."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.errors import SessionError
from handrail.events import model as e
from handrail.events.codec import decode_event, encode_event
from handrail.sessions.adoption import READ_WHOLE, Adoptable, adoptable, find_adoptable, history

FIXTURES = Path(__file__).parent.parent / "fixtures" / "claude_projects"
VERSIONS = ["2.1.37", "2.1.120", "2.1.325"]
CWD = "/home/ada/weather"
FIRST = "Fix the rounding in weather.py"
SECOND = "Do something slow"
THIRD = "This fails"


def recorded(version: str, title: str) -> Adoptable:
    found = adoptable("/nowhere", environ={"CLAUDE_CONFIG_DIR": str(FIXTURES / version)})
    return next(session for session in found if session.title == title)


def project(home: Path, cwd: str = CWD) -> Path:
    directory = home / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", cwd)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def message(kind: str, text: str, at: str = "2026-01-01T10:00:00.000Z", **more: Any) -> dict[str, Any]:
    content: Any = text if kind == "user" else [{"type": "text", "text": text}]
    told = {"role": kind, "content": content, "model": "claude-opus", "id": f"msg_{text}"}
    line = {"type": kind, "message": told, "uuid": f"{kind} {text}", "timestamp": at, "cwd": CWD, "version": "2.1.325"}
    return {**line, "sessionId": "s", "isSidechain": False, "gitBranch": "main", **more}


def write(path: Path, *lines: Any, end: str = "\n") -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)[:-1] + end)
    return path


# ---------------------------------------------------------------- which there are


@pytest.mark.parametrize("version", VERSIONS)
def test_the_sessions_of_the_real_cli_are_listed_latest_first(version: str) -> None:
    found = adoptable("/nowhere", environ={"CLAUDE_CONFIG_DIR": str(FIXTURES / version)})
    assert [session.title for session in found] == [THIRD, SECOND, FIRST]
    oldest = found[-1]
    assert oldest.session_id == Path(oldest.path).stem
    assert oldest.cwd == CWD
    assert oldest.cli_version == version
    assert oldest.git_branch == "main"
    assert oldest.model.startswith("claude-")
    assert oldest.messages is not None
    assert oldest.messages > 20
    assert oldest.size == os.path.getsize(oldest.path)
    assert 0 < oldest.updated_at - oldest.created_at < 600


def test_the_sessions_of_a_home_and_of_one_directory(tmp_path: Path) -> None:
    write(project(tmp_path) / "a.jsonl", message("user", "Here"))
    write(project(tmp_path, "/home/ada/weather-old") / "b.jsonl", message("user", "There", cwd="/home/ada/weather-old"))
    # Another directory whose name the CLI writes in the same way.
    write(project(tmp_path) / "c.jsonl", message("user", "Elsewhere", cwd="/home/ada-weather"))
    assert {session.title for session in adoptable(str(tmp_path))} == {"Here", "There", "Elsewhere"}
    assert [session.title for session in adoptable(str(tmp_path), CWD)] == ["Here"]


def test_a_directory_that_is_reached_by_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    write(project(tmp_path, str(real)) / "a.jsonl", message("user", "Here", cwd=str(real)))
    assert [session.title for session in adoptable(str(tmp_path), str(link))] == ["Here"]


def test_what_is_no_session_is_not_listed(tmp_path: Path) -> None:
    directory = project(tmp_path)
    write(directory / "agent-1.jsonl", message("user", "A subagent", isSidechain=True))
    write(directory / "side.jsonl", message("user", "A subagent", isSidechain=True))
    write(directory / "summary.jsonl", {"type": "summary", "summary": "Old", "leafUuid": "x"})
    write(directory / "meta.jsonl", message("user", "Caveat", isMeta=True))
    write(directory / "broken.jsonl", "{not json", "[]", "7")
    (directory / "empty.jsonl").write_bytes(b"")
    (directory / "notes.txt").write_text("no transcript")
    (directory / "directory.jsonl").mkdir()
    assert adoptable(str(tmp_path)) == []


def test_no_home_at_all(tmp_path: Path) -> None:
    assert adoptable(str(tmp_path)) == []
    assert adoptable(str(tmp_path), CWD) == []


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    directory = project(tmp_path)
    write(directory / "a.jsonl", message("user", "Fine"))
    (directory / "loop.jsonl").symlink_to(directory / "loop.jsonl")
    (directory.parent / "broken").symlink_to(directory.parent / "broken")
    said: list[str] = []
    assert [session.title for session in adoptable(str(tmp_path), complain=said.append)] == ["Fine"]
    assert sorted(Path(text.split(" cannot be read")[0]).name for text in said) == ["broken", "loop.jsonl"]


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([message("user", "  Two\n lines ")], "Two ⏎ lines"),
        ([message("user", "x" * 500)], "x" * 118 + " …"),
        ([message("user", "hidden\u202etext")], "hidden<U+202E>text"),
        ([message("user", "A"), {"type": "summary", "summary": "What it was about"}], "What it was about"),
        (
            [message("user", "A"), {"type": "ai-title", "aiTitle": "B"}, {"type": "custom-title", "customTitle": "C"}],
            "C",
        ),
        ([message("user", "<command-name>/clear</command-name>"), message("user", "After it")], "After it"),
        ([message("user", "<command-name>/review</command-name><command-args>42</command-args>")], "/review 42"),
        ([message("user", "<local-command-stdout>x</local-command-stdout>"), message("user", "B")], "B"),
        ([message("assistant", "Hello")], ""),
    ],
)
def test_what_a_session_is_called(tmp_path: Path, lines: list[Any], title: str) -> None:
    write(project(tmp_path) / "a.jsonl", *lines)
    assert [session.title for session in adoptable(str(tmp_path))] == [title]


def test_only_the_ends_of_a_large_file_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filler = {"type": "api-request-blob", "message": "x" * 100_000}
    path = write(
        project(tmp_path) / "large.jsonl",
        {"type": "queue-operation", "timestamp": "2026-01-01T09:00:00.000Z"},
        message("user", "The question"),
        *[filler] * 100,
        message("assistant", "The answer", at="2026-01-02T10:00:00.000Z"),
        {"type": "atis-latch"},
        '{"type":"assistant","message":{"con',
        end="",
    )
    read = 0
    pread = os.pread

    def counting(file: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = pread(file, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(os, "pread", counting)
    (session,) = adoptable(str(tmp_path))
    assert read < 1_000_000 < path.stat().st_size
    assert session.title == "The question"
    assert session.updated_at - session.created_at == 25 * 3600
    assert session.messages is None
    assert session.model == "claude-opus"


def test_a_first_message_behind_and_below_long_lines_is_found(tmp_path: Path) -> None:
    filler = {"type": "api-request-blob", "message": "x" * 700_000}
    write(project(tmp_path) / "a.jsonl", filler, message("user", "The question"), filler)
    (session,) = adoptable(str(tmp_path))
    assert session.title == "The question"


def test_hundreds_of_sessions_are_listed(tmp_path: Path) -> None:
    directory = project(tmp_path)
    for number in range(300):
        write(
            directory / f"{number:03}.jsonl",
            message("user", f"Number {number}", at=f"2026-01-01T10:{number % 60:02}:00Z"),
        )
    found = adoptable(str(tmp_path))
    assert len(found) == 300
    assert [session.updated_at for session in found] == sorted((s.updated_at for s in found), reverse=True)


def test_one_session_is_found_by_its_id(tmp_path: Path) -> None:
    write(project(tmp_path) / "abc.jsonl", message("user", "Here"))
    found = find_adoptable(str(tmp_path), "abc")
    assert found is not None
    assert found.title == "Here"
    for other in ("ab", "../abc", "agent-1", "", "/abc"):
        assert find_adoptable(str(tmp_path), other) is None


def test_a_session_that_was_just_written_to_may_be_running(tmp_path: Path) -> None:
    path = write(project(tmp_path) / "a.jsonl", message("user", "Here"))
    os.utime(path, (1000.0, 1000.0))
    (session,) = adoptable(str(tmp_path))
    assert session.may_be_running(1030.0)
    assert not session.may_be_running(1061.0)


def test_the_guide_says_up_to_where_messages_are_counted() -> None:
    guide = (FIXTURES.parent.parent.parent / "docs" / "guides" / "sessions.md").read_text()
    assert f"not counted in files of more than {READ_WHOLE // 1024} KB" in guide


# ---------------------------------------------------------------- what happened in them


def check_brackets(events: Iterable[e.Event]) -> None:
    """Each run has one beginning and one end, in order, and what belongs to it stands between them."""
    open_run, last = None, 0
    for event in events:
        if isinstance(event, e.Started):
            assert open_run is None
            open_run = event.run
            assert open_run == last + 1
            last = open_run
        elif isinstance(event, e.Completed):
            assert event.run == open_run is not None
            open_run = None
        else:
            assert event.run in (None, open_run)
    assert open_run is None


def texts(events: Iterable[e.Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, e.Text) and event.parent is None]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_history_of_a_real_session(version: str) -> None:
    session = recorded(version, FIRST)
    events = list(history(session.path))
    check_brackets(events)
    assert [event.content for event in events if isinstance(event, e.Prompt)][:2] == [
        FIRST,
        "How many files are there?",
    ]
    assert texts(events)[:3] == ["I'll look at it first.", "Done: `weather.py` is **fixed**.", "Let me delegate."]
    assert next(event.text for event in events if isinstance(event, e.Thinking)) == "The conversion divides by 1.8."
    first = next(event for event in events if isinstance(event, e.Started))
    assert first.resume == session.session_id
    assert first.cause == "message"
    assert first.meta is not None
    assert (first.meta.cwd, first.meta.cli_version, first.meta.permission_mode) == (CWD, version, "default")
    assert first.meta.model == session.model
    assert not [event for event in events if isinstance(event, e.Unknown)]
    assert all(session.created_at <= event.at <= session.updated_at for event in events)
    assert all(event.seq == 0 for event in events)


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_are_told_as_a_live_session_tells_them(version: str) -> None:
    events = list(history(recorded(version, FIRST).path))
    actions = [event for event in events if isinstance(event, e.Action) and "tool_use_id" in event.detail]
    assert [(action.detail["tool_name"], action.ok) for action in actions if action.parent is None] == [
        ("Bash", True),
        ("Write", True),
        ("Edit", True),
        ("Bash", False),
        ("AskUserQuestion", True),
        ("Task" if version == "2.1.37" else "Agent", True),
        ("Bash", False),
    ]
    phases = Counter(event.phase for event in events if isinstance(event, e.Action) and "tool_name" in event.detail)
    assert phases["started"] == phases["completed"] == 8
    edit = actions[2]
    assert (edit.kind, edit.title) == ("file_change", f"{CWD}/weather.py")
    assert edit.detail["tool_use_result"]["structuredPatch"][0]["lines"][1:] == [
        "-    return (f - 32) / 1.8",
        "+    return (f - 32) * 5 / 9",
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_subagent_is_told_inside_of_its_call(version: str) -> None:
    events = list(history(recorded(version, FIRST).path))
    call = next(event for event in events if isinstance(event, e.Action) and event.kind == "subagent")
    inside = [event for event in events if getattr(event, "parent", None) == call.id]
    assert [event.text for event in inside if isinstance(event, e.Text)] == ["Counting.", "1 file"]
    assert [event.title for event in inside if isinstance(event, e.Action)] == ["ls", "ls"]
    ended = next(event for event in events if isinstance(event, e.Action) and event.id == call.id and event.ok)
    assert events.index(inside[-1]) < events.index(ended)


@pytest.mark.parametrize("version", VERSIONS)
def test_compaction_commands_and_interruptions(version: str) -> None:
    events = list(history(recorded(version, FIRST).path))
    (compacted,) = [event for event in events if isinstance(event, e.Compacting)]
    assert (compacted.phase, compacted.trigger, compacted.run) == ("completed", "manual", None)
    assert "/compact" in [event.content for event in events if isinstance(event, e.Prompt)]
    ends = [event for event in events if isinstance(event, e.Completed)]
    assert [end.ok for end in ends] == [True, True, True, True, False]
    assert ends[-1].error == "stopped by the user"
    assert ends[0].answer == "Done: `weather.py` is **fixed**."
    assert ends[0].num_turns == 6
    assert 0 < ends[0].duration_ms < 60_000


@pytest.mark.parametrize("version", ["2.1.120", "2.1.325"])
def test_messages_during_a_run_and_runs_that_nobody_asked_for(version: str) -> None:
    events = list(history(recorded(version, SECOND).path))
    check_brackets(events)
    steering = next(event for event in events if isinstance(event, e.Prompt) and event.content == "And be quick")
    assert steering.run == 1
    assert [event.cause for event in events if isinstance(event, e.Started)] == ["message", "message", "background"]
    (task,) = [event for event in events if isinstance(event, e.Task)]
    assert task.ok is True
    assert texts(events) == ["Steered.", "Started it.", "It has finished."]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_of_the_api(version: str) -> None:
    events = list(history(recorded(version, THIRD).path))
    (end,) = [event for event in events if isinstance(event, e.Completed)]
    assert not end.ok
    assert "The request is not valid." in (end.error or "")


def test_subagents_in_the_same_file(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Task", "input": {"prompt": "Look", "description": "Look"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Seen"}
    delegating = message("assistant", "x", message={"role": "assistant", "content": [call], "id": "m1"})
    path = write(
        tmp_path / "a.jsonl",
        message("user", "Go"),
        delegating,
        message("user", "Look", uuid="side1", parentUuid=None, isSidechain=True),
        message("assistant", "Looking", uuid="side2", parentUuid="side1", isSidechain=True),
        message("user", "r", message={"role": "user", "content": [result]}),
        message("assistant", "Done"),
    )
    events = list(history(str(path)))
    check_brackets(events)
    (inside,) = [event for event in events if isinstance(event, e.Text) and event.text == "Looking"]
    assert inside.parent == "toolu_1"
    assert [event.content for event in events if isinstance(event, e.Prompt)] == ["Go"]


def test_lines_that_are_repeated_are_told_once(tmp_path: Path) -> None:
    lines = [message("user", "Go"), message("assistant", "Gone")]
    events = list(history(str(write(tmp_path / "a.jsonl", *lines, *lines))))
    assert texts(events) == ["Gone"]
    assert len([event for event in events if isinstance(event, e.Prompt)]) == 1


def test_a_session_that_was_killed(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "sleep 9"}}
    lines = [
        message("user", "Go"),
        message("assistant", "x", message={"role": "assistant", "content": [call], "id": "m"}),
        message("user", "Still there?"),
        message("assistant", "Yes."),
        '{"type":"assistant","mess',
    ]
    events = list(history(str(write(tmp_path / "a.jsonl", *lines, end=""))))
    check_brackets(events)
    ends = [event for event in events if isinstance(event, e.Completed)]
    assert [(end.ok, end.error) for end in ends] == [
        (False, "the transcript does not say how this ended"),
        (True, None),
    ]
    assert [event.ok for event in events if isinstance(event, e.Action) and event.id == "toolu_1"] == [None, False]
    assert [event.kind for event in events if isinstance(event, e.Action)][-1] == "warning"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be read: No such file"):
        list(history(str(tmp_path / "nothing.jsonl")))


def test_a_subagent_cannot_lead_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "secret.jsonl", message("assistant", "Secret"))
    call = {"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": {"prompt": "Look"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Seen"}
    for agent in ("../../secret", "/etc/passwd", "x/../../../secret"):
        path = write(
            tmp_path / "a.jsonl",
            message("user", "Go"),
            message("assistant", "x", message={"role": "assistant", "content": [call], "id": "m1"}),
            message("user", "r", message={"role": "user", "content": [result]}, toolUseResult={"agentId": agent}),
        )
        assert "Secret" not in "".join(map(str, history(str(path))))


REAL_LINES = [json.loads(line) for path in sorted(FIXTURES.rglob("*.jsonl")) for line in path.read_text().splitlines()]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["type", "subtype", "message", "uuid", "timestamp", "isSidechain", "parentUuid", "toolUseResult", "isMeta"]
FIELDS += ["attachment", "compactMetadata", "isApiErrorMessage", "sessionId", "cwd", "version", "content", "durationMs"]


UNHURRIED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@st.composite
def damaged_lines(draw: st.DrawFn) -> bytes:
    line = dict(draw(st.sampled_from(REAL_LINES)))
    for field in draw(st.lists(st.sampled_from(FIELDS), max_size=2)):
        line[field] = draw(JSON)
    if isinstance(line.get("message"), dict) and draw(st.booleans()):
        line["message"] = {**line["message"], draw(st.sampled_from(["content", "role", "model", "id"])): draw(JSON)}
    raw = json.dumps(line).encode()
    return raw[: draw(st.integers(0, len(raw)))] if draw(st.integers(0, 9)) == 0 else raw


@given(st.lists(damaged_lines() | st.binary(max_size=20), max_size=25))
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_a_transcript_holds_it_can_be_read(tmp_path: Path, lines: list[bytes]) -> None:
    path = project(tmp_path) / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    events = list(history(str(path)))
    check_brackets(events)
    for event in events:
        assert decode_event(encode_event(event)).run == event.run
    adoptable(str(tmp_path))
