"""What the commands show, from rows and events: order, words, and what a program gets."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Group

from handrail.cli.commands.answering import the_one_ask
from handrail.cli.commands.ask_list import ask_data, ask_table
from handrail.cli.commands.failures import ExitCode, code_of
from handrail.cli.commands.recorded import recorded_line
from handrail.cli.commands.session_list import by_status, session_table
from handrail.cli.commands.story import Story, answer_words, the_last_runs
from handrail.cli.showing.style import make_console
from handrail.errors import (
    AlreadyDecided,
    AmbiguousSession,
    AskClosed,
    ConfigError,
    HandrailError,
    SessionNotFound,
    SessionNotLive,
    StoreFull,
)
from handrail.events import model as e
from handrail.policy.answers.encoding import ANSWER_TYPES
from handrail.protocol.asks import ask_from
from handrail.sessions.ask_records import ask_record
from handrail.store.base import AskRow, FrameRow, SessionRow

NOW = 1_000_000.0


def plain(*renderables: Any, width: int = 100) -> str:
    console = make_console(io.StringIO(), width=width)
    console.print(Group(*renderables))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def session(number: int, **fields: Any) -> SessionRow:
    defaults = {"id": f"{number:032x}", "cwd": "/p", "created_at": NOW, "updated_at": NOW - number}
    return SessionRow(**{**defaults, **fields})


def ask(ask_id: str, state: Any = "pending", command: str = "ls", **fields: Any) -> AskRow:
    asked = ask_from(ask_id, {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}})
    defaults: dict[str, Any] = {
        "session_id": "s" * 32,
        "id": ask_id,
        "kind": asked.kind,
        "digest": "d",
        "title": "Run a command",
        "body": msgspec.json.encode(ask_record(asked)),
        "opened_at": NOW - 90,
        "state": state,
    }
    return AskRow(**{**defaults, **fields})


# ---------------------------------------------------------------- tables


def test_those_that_need_somebody_are_first() -> None:
    statuses = ["stopped", "failed", "idle", "running", "something new", "needs_you", "queued"]
    rows = [session(number, status=status) for number, status in enumerate(statuses)]
    ordered = [row.status for row in by_status(rows)]
    assert ordered == ["needs_you", "running", "queued", "idle", "failed", "stopped", "something new"]


def test_of_the_same_status_the_latest_is_first() -> None:
    rows = [session(2, status="idle"), session(1, status="idle")]
    assert [row.updated_at for row in by_status(rows)] == [NOW - 1, NOW - 2]


def test_titles_cannot_break_the_table() -> None:
    shown = plain(session_table([session(1, title="two\nlines \x1b[31m and ‮ red")], now=NOW))
    assert len(shown.splitlines()) == 2
    assert "\x1b" not in shown
    assert "<U+202E>" in shown


def test_an_ask_shows_the_call_and_its_session() -> None:
    shown = plain(ask_table([ask("a1b2c3d4e5", command="git push")], {"s" * 32: session(1, title="the bug")}, now=NOW))
    assert "a1b2c3d4  1 min  ⚠ unknown  permission  Bash git push  ssssssss  the bug" in shown


def test_an_ask_for_a_program_is_whole() -> None:
    data = ask_data(ask("a1", answer=b'{"type":"allow"}', decided_by="maria"), None)
    assert (data["answer"], data["decided_by"], data["ask"]["input"]) == (
        {"type": "allow"},
        "maria",
        {"command": "ls"},
    )


# ---------------------------------------------------------------- which ask


def test_an_ask_is_found_by_its_beginning() -> None:
    waiting, closed = ask("abc1"), ask("abc2", "sent")
    assert the_one_ask([waiting, closed], "abc") is waiting
    assert the_one_ask([waiting, closed], "abc2") is closed


def test_several_that_wait_are_told() -> None:
    with pytest.raises(AskClosed, match=r"fits 2 asks: abc1 in session ssssssss .*; abc2"):
        the_one_ask([ask("abc1"), ask("abc2")], "abc")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SessionNotFound("x"), ExitCode.USAGE),
        (AmbiguousSession("x"), ExitCode.USAGE),
        (ConfigError("x"), ExitCode.USAGE),
        (AskClosed("x", state="unknown"), ExitCode.USAGE),
        (AskClosed("x", state="lost"), ExitCode.REFUSED),
        (AlreadyDecided("x", actor="maria", at=0), ExitCode.REFUSED),
        (SessionNotLive("x"), ExitCode.FAILED),
        (StoreFull("x"), ExitCode.FAILED),
    ],
)
def test_exit_codes(error: HandrailError, code: int) -> None:
    assert code_of(error) == code


# ---------------------------------------------------------------- the story


def events(*made: e.Event) -> list[e.Event]:
    return [msgspec.structs.replace(event, seq=number) for number, event in enumerate(made, start=1)]


def run(number: int) -> tuple[e.Event, ...]:
    return (
        e.Prompt(uuid=f"u{number}", content=f"question {number}", by="maria", surface="terminal"),
        e.Started(run=number),
        e.Text(run=number, block=f"b{number}", text=f"answer {number}"),
        e.Completed(run=number, ok=True),
    )


def test_the_last_runs_come_with_their_messages() -> None:
    told = plain(*Story(cwd="/p").tell(the_last_runs(events(*run(1), *run(2), *run(3)), 2)))
    assert "question 1" not in told
    assert [told.index(text) for text in ("question 2", "answer 2", "question 3", "answer 3")]
    assert the_last_runs(events(*run(1)), 5) == events(*run(1))


def test_what_waits_says_how_to_answer() -> None:
    opened = e.AskOpened(ask_id="a1", kind="permission", digest="d", title="git push")
    told = plain(*Story(cwd="/p", waiting=frozenset({"a1"}), live=True).tell(events(e.Started(run=1), opened)))
    assert "asked: git push" in told
    assert "handrail answer a1" in told
    lost = plain(*Story(cwd="/p").tell(events(e.Started(run=1), opened)))
    assert "never answered" in lost


def test_a_subagents_calls_are_inside_its_own() -> None:
    told = plain(
        *Story(cwd="/p").tell(
            events(
                e.Action(id="t1", kind="subagent", title="explore", phase="started"),
                e.Action(id="t2", kind="command", title="ls", phase="started", parent="t1"),
                e.Action(id="t2", kind="command", title="ls", phase="completed", ok=False, parent="t1"),
                e.Action(id="t1", kind="subagent", title="explore", phase="completed", ok=True),
            )
        )
    )
    outer, inner = told.splitlines()
    assert outer.startswith("✓ ")
    assert inner.startswith("│ ✗ ")


@pytest.mark.parametrize("name", ANSWER_TYPES)
def test_every_answer_has_words(name: str) -> None:
    assert answer_words({"type": name})


# ---------------------------------------------------------------- recordings


@pytest.mark.parametrize(
    "line", [b'{"type":"x"}', b' {"type":"x"}', b"plain", "naïve".encode(), b"\xff\xfe", b"[1]", b'"text"', b"{broken}"]
)
def test_every_line_of_the_wire_can_be_recorded(line: bytes) -> None:
    from handrail.transports.replay import Recording

    recorded = recorded_line(FrameRow(direction="in", at=NOW + 1, line=line), since=NOW).encode()
    (entry,) = Recording.parse(recorded + b"\n").entries
    assert entry.data == line + b"\n"
    assert msgspec.json.decode(recorded)["t"] == 1.0
