"""Keeping and forgetting: rename, archive, rm, backup and prune."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from handrail.protocol.asks import Allow
from handrail.protocol.options import Options

from .support import MARIA, Home, answered

Past = tuple[Home, str]


def ids(home: Home) -> list[str]:
    return [row["id"] for row in home.json("ls", "--all")]


@pytest.mark.slow
def test_a_session_gets_another_title(past: Past) -> None:
    home, session_id = past
    assert home.run("rename", session_id, "  the login test ").returncode == 0
    assert [row["title"] for row in home.json("ls")] == ["the login test"]
    assert home.run("rename", session_id, " ").returncode == 2


# ---------------------------------------------------------------- rm


@pytest.mark.slow
def test_deleting_needs_a_yes(past: Past) -> None:
    home, session_id = past
    done = home.run("rm", session_id)
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert ids(home) == [session_id]
    assert home.run("rm", session_id, "--yes").returncode == 0
    assert ids(home) == []


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "kept"), [("n", True), ("", True), ("y", False)])
def test_deleting_asks_on_a_terminal(past: Past, typed: str, kept: bool) -> None:
    home, session_id = past
    with home.on_terminal("rm", session_id) as terminal:
        assert "hello there" in terminal.wait_for("Delete 1 session for good? [y/N]")
        terminal.type(typed)
        assert terminal.exit_code() == (1 if kept else 0)
    assert ids(home) == ([session_id] if kept else [])


@pytest.mark.slow
async def test_a_session_that_runs_is_not_deleted(home: Home) -> None:
    async with home.live() as session:
        refused = await home.process("rm", session.id, "--yes")
        assert refused.returncode == 1
        assert "handrail stop" in refused.stderr
        forced = await home.process("rm", session.id, "--yes", "--force")
        assert forced.returncode == 0, forced.stderr


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(directory), *arguments], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("dirty", [False, True], ids=["clean", "with work in it"])
def test_a_worktree_goes_only_if_nothing_is_lost(home: Home, monkeypatch: pytest.MonkeyPatch, *, dirty: bool) -> None:
    git(home.project, "init", "-q")
    git(home.project, "-c", "user.name=m", "-c", "user.email=m@x", "commit", "-q", "--allow-empty", "-m", "start")
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)

    async def start() -> tuple[str, Path]:
        async with home.manager() as manager:
            options = Options(cwd=home.project, cli_path=str(home.cli().path))
            session = await manager.start(options, worktree="try")
            await session.send("hello", actor=MARIA)
            await answered(session, Allow())
            return session.id, Path((await session.row()).cwd)

    session_id, worktree = asyncio.run(start())
    if dirty:
        (worktree / "notes.txt").write_text("do not lose me")
    done = home.run("rm", session_id, "--yes")
    assert done.returncode == 0, done.stderr
    assert ids(home) == []
    assert worktree.exists() == dirty
    assert ("its worktree stays" in done.stderr) == dirty


# ---------------------------------------------------------------- backup and prune


@pytest.mark.slow
def test_a_backup_brings_everything_back(past: Past, tmp_path: Path) -> None:
    home, session_id = past
    copy = tmp_path / "copy.db"
    assert home.run("backup", str(copy)).returncode == 0
    assert home.run("backup", str(copy)).returncode == 1
    home.run("rm", session_id, "--yes")
    assert ids(home) == []
    missing = home.run("backup", "--restore", str(copy.with_suffix(".gone")))
    assert missing.returncode == 2
    assert "there is no file" in missing.stderr
    refused = home.run("backup", "--restore", str(copy))
    assert refused.returncode == 1
    assert "--yes" in refused.stderr
    done = home.run("backup", "--restore", str(copy), "--yes")
    assert done.returncode == 0, done.stderr
    assert "kept as" in done.stdout
    assert ids(home) == [session_id]
    assert "You said" in home.run("show", session_id).stdout


def test_what_is_no_backup_is_refused(past: Past, tmp_path: Path) -> None:
    home, session_id = past
    (tmp_path / "text.db").write_text("not a database")
    done = home.run("backup", "--restore", str(tmp_path / "text.db"), "--yes")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert ids(home) == [session_id]


@pytest.mark.slow
def test_pruning_follows_the_settings(past: Past) -> None:
    home, session_id = past
    (home.directory / "state" / "tidied").write_text("today\n")  # so that nobody else removes what is counted here
    assert home.run("prune").stdout == "✓ nothing needed to be removed\n"
    config = home.directory / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("[storage]\nframes_days = 0\nsessions_days = 0\n")
    pruned = home.json("prune")
    assert (pruned["frames"] > 0, pruned["sessions"]) == (True, 0)
    assert home.run("show", session_id, "--raw").stdout == ""
    home.run("archive", session_id)
    assert "removed 1 session" in home.run("prune").stdout
    assert ids(home) == []


def test_wrong_settings_are_told(past: Past) -> None:
    home, _ = past
    config = home.directory / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("[storage]\nframes_days = 'long'\n")
    done = home.run("prune")
    assert done.returncode == 2
    assert "storage.frames_days" in done.stderr
