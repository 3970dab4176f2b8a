"""Sessions that Claude Code keeps by itself: listed, and taken over with their history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .support import Home

ID = "6ca440c5-8391-4eb6-a834-4e5b6c95b955"


@pytest.fixture
def kept(home: Home) -> Home:
    """A home in which Claude Code keeps one session."""
    project = str(home.project)
    directory = Path(home.env["HOME"]) / ".claude" / "projects" / project.replace("/", "-").replace("_", "-")
    directory.mkdir(parents=True)
    common = {"sessionId": ID, "cwd": project, "version": "2.1.325", "timestamp": "2026-11-16T03:00:00.000Z"}
    lines = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Where is the bug?"}, **common},
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "In the parser."}]},
            **common,
        },
    ]
    (directory / f"{ID}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def test_they_are_listed(kept: Home) -> None:
    heading, row = kept.run("ls", "--adoptable").stdout.splitlines()
    assert heading.startswith("CLAUDE CODE'S ID")
    assert row.startswith(f"{ID}  Where is the bug?")
    (data,) = kept.json("ls", "--adoptable", "--here")
    assert (data["cli_session_id"], data["cwd"]) == (ID, str(kept.project))


@pytest.mark.slow
def test_one_is_taken_over_with_its_history(kept: Home) -> None:
    done = kept.run("adopt", f"claude --resume {ID}")
    assert done.returncode == 0, done.stderr
    assert "handrail resume" in done.stdout
    assert kept.json("adopt", ID)["cli_session_id"] == ID
    assert kept.json("ls", "--adoptable") == []
    (row,) = kept.json("ls")
    assert row["status"] == "stopped"
    told = kept.run("show", "@").stdout
    assert "Where is the bug?" in told
    assert "In the parser." in told


def test_one_that_is_not_there(home: Home) -> None:
    assert home.run("ls", "--adoptable").stdout == ""
    done = home.run("adopt", ID)
    assert done.returncode == 2
    assert "handrail ls --adoptable" in done.stderr
