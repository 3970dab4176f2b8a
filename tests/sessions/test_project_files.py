"""Names of a project's files, and which of them fit what was typed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.sessions import project_files
from handrail.sessions.project_files import ProjectFile, best_fits, file_names, suggest_files


def write(directory: Path, *names: str) -> None:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(directory), *arguments], check=True)


async def test_in_a_repository_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "src/app.py", "build/out.o", "notes.txt", ".env")
    (tmp_path / ".gitignore").write_text("build/\n.env\n")
    assert sorted(await file_names(str(tmp_path))) == [".gitignore", "notes.txt", "src/app.py"]
    assert await file_names(str(tmp_path / "src")) == ["app.py"]


async def test_a_repository_runs_no_program_of_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    program = tmp_path / "spy.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/spied\n")
    program.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(program))
    await file_names(str(tmp_path))
    assert not (tmp_path / "spied").exists()


async def test_elsewhere_hidden_directories_and_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", ".env", "deep/b.txt", ".cache/c.txt", "node_modules/d.js")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert await file_names(str(tmp_path)) == [".env", "a.txt", "loop", "deep/b.txt"]


async def test_names_that_are_not_utf8_are_left_out(tmp_path: Path) -> None:
    try:
        write(tmp_path, "a.txt", os.fsdecode(b"caf\xe9"))
    except OSError:  # macOS takes no such names
        return
    assert await file_names(str(tmp_path)) == ["a.txt"]


async def test_a_directory_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert await file_names(str(tmp_path / "gone")) == []


async def test_there_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(f"{number}.txt" for number in range(5)))
    monkeypatch.setattr(project_files, "MOST_NAMES", 3)
    assert len(await file_names(str(tmp_path))) == 3


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("policy.py", "src/policy.py"),
        ("pol", "src/policy.py"),
        ("docs/", "docs/guide.md"),
        ("polcom", "src/cli/policy_commands.py"),
        ("READ", "README.md"),
        ("./src/cl", "src/cli/"),
        ("", "src/"),
    ],
)
def test_the_nearest_comes_first(typed: str, first: str) -> None:
    names = ["docs/guide.md", "src/policy.py", "src/cli/policy_commands.py", "README.md", "tests/spolicom/x.py"]
    assert best_fits(names, typed, limit=3)[0].path == first


async def test_directories_are_offered_too(tmp_path: Path) -> None:
    write(tmp_path, "src/deep/x.py")
    found = await suggest_files(str(tmp_path), "deep")
    assert found == [ProjectFile("src/deep/", "directory"), ProjectFile("src/deep/x.py")]


@pytest.mark.slow
@given(st.lists(st.text("ab/.", min_size=1, max_size=8), max_size=10), st.text("ab.*[(\\", max_size=5))
def test_whatever_is_found_holds_the_letters_in_their_order(names: list[str], typed: str) -> None:
    for found in best_fits(names, typed, limit=50):
        letters = iter(found.path.lower())
        assert all(letter in letters for letter in typed.removeprefix("./"))
