"""Looking at sessions that nobody runs: ls, show, search, export; and what is said about ids that fit none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from handrail.store.base import SessionRow

from .support import Home

Past = tuple[Home, str]


# ---------------------------------------------------------------- ls


def test_no_sessions_is_said_where_it_is_not_taken_for_one(home: Home) -> None:
    done = home.run("ls")
    assert (done.returncode, done.stdout) == (0, "")
    assert "there are no sessions" in done.stderr
    assert home.json("ls") == []


@pytest.mark.slow
def test_sessions_are_listed(past: Past) -> None:
    home, session_id = past
    heading, row = home.run("ls").stdout.splitlines()
    assert heading.split() == ["STATUS", "ID", "TITLE", "AGE", "DIRECTORY", "COST"]
    assert row.startswith(f"· stopped  {session_id[:8]}  hello there  ")
    (data,) = home.json("ls")
    assert (data["id"], data["title"], data["status"], data["live"]) == (session_id, "hello there", "stopped", False)
    assert data["cost_usd"] > 0


def test_only_those_of_this_directory(past: Past, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, session_id = past
    monkeypatch.chdir(tmp_path)
    assert home.json("ls", "--here") == []
    monkeypatch.chdir(json.loads(home.run("show", session_id, "--json").stdout)["cwd"])
    assert [row["id"] for row in home.json("ls", "--here")] == [session_id]


@pytest.mark.slow
def test_archived_sessions_are_listed_on_request(past: Past) -> None:
    home, session_id = past
    assert home.run("archive", session_id).returncode == 0
    assert home.json("ls") == []
    assert "hello there (archived)" in home.run("ls", "--all").stdout
    assert home.run("archive", "--undo", session_id).returncode == 0
    assert [row["id"] for row in home.json("ls")] == [session_id]


# ---------------------------------------------------------------- show


def test_the_story_says_who_decided(past: Past) -> None:
    home, session_id = past
    told = home.run("show", session_id[:6]).stdout
    for expected in (
        "hello there\n· stopped",
        f"handrail resume {session_id[:8]}",
        "maria (terminal)",
        "› hello there",
        "I'll look.",
        "Bash  ls -l",
        "✗ denied by maria (terminal), ",
        "not on a Friday",
        "You said: hello there",
        "✓ done · ",
    ):
        assert expected in told
    assert "\x1b" not in told


@pytest.mark.slow
def test_events_and_frames_are_lines(past: Past) -> None:
    home, session_id = past
    events = [json.loads(line) for line in home.run("show", session_id, "--events").stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {"started", "action", "ask_opened", "ask_closed", "completed"} <= {event["type"] for event in events}
    last = [json.loads(line) for line in home.run("show", session_id, "--events", "--last", "2").stdout.splitlines()]
    assert last == events[-2:]
    frames = [json.loads(line) for line in home.run("show", session_id, "--raw").stdout.splitlines()]
    assert {frame["dir"] for frame in frames} == {"in", "out"}
    assert any(frame["raw"].get("type") == "result" for frame in frames)
    assert len(home.run("show", session_id, "--raw", "--last", "3").stdout.splitlines()) == 3


def test_the_state_is_one_document(past: Past) -> None:
    home, session_id = past
    state = home.json("show", session_id)
    assert state["id"] == session_id
    assert isinstance(state["view"], dict)


def test_only_one_form_at_a_time(past: Past) -> None:
    home, session_id = past
    done = home.run("show", session_id, "--json", "--raw")
    assert done.returncode == 2
    assert "choose one of" in done.stderr


# ---------------------------------------------------------------- which session


@pytest.mark.slow
def test_a_session_has_many_names(past: Past) -> None:
    home, session_id = past
    (row,) = home.json("ls")
    for name in (session_id[:4], row["cli_session_id"], f"claude --resume {row['cli_session_id']}"):
        assert home.json("show", name)["id"] == session_id


@pytest.mark.slow
@pytest.mark.parametrize("name", ["@", "last"])
def test_the_latest_session_here(past: Past, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    home, session_id = past
    monkeypatch.chdir(home.json("ls")[0]["cwd"])
    assert home.json("show", name)["id"] == session_id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"), [("ffffffff", "there is no session 'ffffffff'"), ("@", "handrail ls"), ("ab", "4 characters")]
)
def test_a_name_that_fits_nothing(home: Home, name: str, told: str) -> None:
    done = home.run("show", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_name_that_fits_several(home: Home) -> None:
    async def make() -> None:
        async with home.manager() as manager:
            for number, title in enumerate(("the login test", "the importer")):
                row = SessionRow(id=f"abcd{number:028}", cwd="/p", created_at=1.0, updated_at=1.0, title=title)
                await manager.store.create_session(row)

    asyncio.run(make())
    done = home.run("show", "abcd")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    for candidate in ("the login test", "the importer"):
        assert candidate in done.stderr
    shown = [line.split()[2] for line in home.run("ls").stdout.splitlines()[1:]]
    for short in shown:
        assert home.run("show", short).returncode == 0


# ---------------------------------------------------------------- search, export


def test_words_are_found(past: Past) -> None:
    home, session_id = past
    found = home.run("search", "hello", "the")
    assert found.returncode == 0
    assert found.stdout.startswith(f"{session_id[:8]}  hello there")
    assert "You said: hello there" in found.stdout
    assert {hit["session_id"] for hit in home.json("search", "said")} == {session_id}
    nothing = home.run("search", "xylophone")
    assert (nothing.returncode, nothing.stdout) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], "# hello there"), (["--format", "html"], "<!doctype html>"), (["-f", "jsonl"], '"ask_closed"')],
)
def test_a_session_is_exported(past: Past, arguments: list[str], expected: str) -> None:
    home, session_id = past
    done = home.run("export", session_id, *arguments)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout.lower()


def test_an_export_replaces_nothing(past: Past, tmp_path: Path) -> None:
    home, session_id = past
    page = tmp_path / "page.html"
    assert home.run("export", session_id, "-o", str(page)).returncode == 0
    assert "<html" in page.read_text()
    again = home.run("export", session_id, "-o", str(page))
    assert again.returncode == 2
    assert "exists" in again.stderr
    assert home.run("export", session_id, "-o", str(page), "--force").returncode == 0
    assert home.run("export", session_id, "--format", "pdf").returncode == 2


@pytest.mark.slow
def test_the_ending_of_a_file_must_say_a_format(past: Past, tmp_path: Path) -> None:
    home, session_id = past
    page = tmp_path / "page.pdf"
    refused = home.run("export", session_id, "-o", str(page))
    assert refused.returncode == 2
    assert "--format" in refused.stderr
    assert not page.exists()
    assert home.run("export", session_id, "-o", str(page), "--format", "html").returncode == 0
