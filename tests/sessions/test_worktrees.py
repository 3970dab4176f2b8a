"""A worktree for a session: made outside of the repository, and removed only if nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from handrail.sessions.git import GitError, run_git
from handrail.sessions.worktrees import Worktree, WorktreeKept, create_worktree, remove_worktree

SETTINGS = """
[user]
name = Ada
email = ada@example.com
[protocol "file"]
allow = always
"""


@pytest.fixture(autouse=True)
def _own_git_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as it comes, whatever this machine's settings are."""
    (tmp_path / "gitconfig").write_text(SETTINGS)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HANDRAIL_STATE_DIR", str(tmp_path / "state"))


def is_there(worktree: Worktree) -> bool:
    return Path(worktree.path).is_dir()


def git(directory: Path | str, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit, of a file at the top and one below."""
    project = tmp_path_factory.mktemp("template")
    (project / "src").mkdir()
    (project / "readme.md").write_text("Weather\n")
    (project / "src" / "weather.py").write_text("celsius = 0\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "Begin")
    return project


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Path:
    """A copy of the template."""
    return Path(shutil.copytree(template, tmp_path / "weather"))


# ---------------------------------------------------------------- making one


async def test_it_has_the_files_a_branch_of_its_own_and_a_place_outside(project: Path, tmp_path: Path) -> None:
    made = await create_worktree(str(project), name="fix-login")
    assert (Path(made.path) / "readme.md").read_text() == "Weather\n"
    assert git(made.path, "branch", "--show-current") == made.branch == "handrail/fix-login"
    assert made.path.startswith(str(tmp_path / "state" / "worktrees" / "weather-"))
    assert made.repository == str(project)
    assert made.cwd == made.path
    assert made.base == git(project, "rev-parse", "HEAD")
    assert made.notes == ()
    assert git(project, "status", "--porcelain") == ""
    assert git(project, "branch", "--show-current") == "main"


async def test_it_starts_in_the_same_directory_of_the_project(project: Path) -> None:
    made = await create_worktree(str(project / "src"), name="a")
    assert made.cwd == f"{made.path}/src"


async def test_it_starts_at_the_top_where_the_directory_is_not_committed(project: Path) -> None:
    (project / "new").mkdir()
    made = await create_worktree(str(project / "new"), name="a")
    assert made.cwd == made.path


async def test_it_can_begin_elsewhere_and_be_named(project: Path, tmp_path: Path) -> None:
    git(project, "tag", "v1")
    (project / "readme.md").write_text("Later\n")
    git(project, "commit", "-qam", "Later")
    made = await create_worktree(str(project), name="a", base="v1", branch="old-one", directory=str(tmp_path / "trees"))
    assert (Path(made.path) / "readme.md").read_text() == "Weather\n"
    assert made.branch == "old-one"
    assert made.path.startswith(str(tmp_path / "trees"))


@pytest.mark.slow
async def test_it_can_be_made_from_another_worktree(project: Path) -> None:
    first = await create_worktree(str(project), name="first")
    (Path(first.path) / "readme.md").write_text("First\n")
    git(first.path, "commit", "-qam", "First")
    second = await create_worktree(first.path, name="second")
    assert second.repository == str(project)
    assert (Path(second.path) / "readme.md").read_text() == "First\n"


async def test_changes_that_are_not_committed_are_fine_and_said_to_be_missing(project: Path) -> None:
    (project / "readme.md").write_text("Changed\n")
    made = await create_worktree(str(project), name="a")
    assert (Path(made.path) / "readme.md").read_text() == "Weather\n"
    assert "not committed" in made.notes[0]


@pytest.mark.slow
async def test_two_repositories_of_one_name_do_not_meet(project: Path, tmp_path: Path) -> None:
    twin = tmp_path / "elsewhere" / "weather"
    twin.parent.mkdir()
    git(tmp_path, "clone", "-q", str(project), str(twin))
    made = [await create_worktree(str(each), name="a") for each in (project, twin)]
    assert made[0].path != made[1].path


async def test_it_can_be_stored(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    assert msgspec.json.decode(msgspec.json.encode(made), type=Worktree) == made


async def test_no_hook_runs(project: Path) -> None:
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {project}/hooked\n")
    hook.chmod(0o755)
    await create_worktree(str(project), name="a")
    assert not (project / "hooked").exists()


async def test_a_git_that_runs_handrail_does_not_lead_it_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    made = await create_worktree(str(project), name="a")
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert git(made.path, "status", "--porcelain") == ""


# ---------------------------------------------------------------- what cannot be


async def test_outside_of_a_repository(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="is not in a git repository: run `git init`"):
        await create_worktree(str(tmp_path), name="a")


async def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="there is no directory"):
        await create_worktree(str(tmp_path / "nowhere"), name="a")


async def test_a_repository_without_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(GitError, match="has no commit yet: make one first"):
        await create_worktree(str(tmp_path), name="a")


async def test_a_bare_repository(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(project), "bare.git")
    with pytest.raises(GitError, match="without files"):
        await create_worktree(str(tmp_path / "bare.git"), name="a")


async def test_a_branch_that_exists(project: Path) -> None:
    git(project, "branch", "handrail/a")
    with pytest.raises(GitError, match="the branch 'handrail/a' exists already"):
        await create_worktree(str(project), name="a")


async def test_a_branch_below_a_branch(project: Path) -> None:
    git(project, "branch", "handrail")
    with pytest.raises(GitError, match="git could not make the worktree"):
        await create_worktree(str(project), name="a")
    assert git(project, "worktree", "list").count("\n") == 0


async def test_a_worktree_that_exists(project: Path) -> None:
    await create_worktree(str(project), name="a")
    with pytest.raises(GitError, match="there is a worktree 'a' already, at"):
        await create_worktree(str(project), name="a", branch="other")


@pytest.mark.parametrize(
    "name", ["", "-f", "--force", "a/b", "..", "a..b", ".hidden", "a b", "a\n", "a.lock", "a" * 81]
)
async def test_names_that_would_be_something_else(project: Path, name: str) -> None:
    with pytest.raises(GitError, match="cannot be the name of a worktree"):
        await create_worktree(str(project), name=name)


@pytest.mark.slow
async def test_branches_that_would_be_something_else(project: Path) -> None:
    for branch in ("", "-d", "--detach", "a b", "a..b", "a~1", "/a"):
        with pytest.raises(GitError, match="git does not allow"):
            await create_worktree(str(project), name="a", branch=branch)


async def test_beginnings_that_are_no_commit(project: Path) -> None:
    for base in ("", "nonsense", "--all", "-1", "HEAD:readme.md"):
        with pytest.raises(GitError, match="there is no commit"):
            await create_worktree(str(project), name="a", base=base)


async def test_a_place_that_cannot_be_written(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GitError, match="the worktree cannot be made at"):
        await create_worktree(str(project), name="a", directory=str(tmp_path / "file"))


@pytest.mark.slow
async def test_a_failed_checkout_leaves_nothing(project: Path) -> None:
    (project / ".gitattributes").write_text("*.md filter=broken\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Filter")
    git(project, "config", "filter.broken.clean", "cat")
    git(project, "config", "filter.broken.smudge", "false")
    git(project, "config", "filter.broken.required", "true")
    with pytest.raises(GitError, match="git could not make the worktree"):
        await create_worktree(str(project), name="a")
    assert git(project, "branch", "--list", "handrail/*") == ""
    assert git(project, "worktree", "list").count("\n") == 0
    git(project, "config", "filter.broken.smudge", "cat")
    assert is_there(await create_worktree(str(project), name="a"))


async def test_no_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    with pytest.raises(GitError, match="git is not installed"):
        await create_worktree(str(project), name="a")


def replaced_git(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that is found in git's place."""
    directory.mkdir()
    program = directory / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return directory


async def test_a_git_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced_git(tmp_path / "bin", "exec sleep 60", monkeypatch)
    with pytest.raises(GitError, match=r"git status took longer than 0\.05 s"):
        await run_git(str(tmp_path), "status", timeout=0.05)


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return state not in ("", "Z", "Z+")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_git_nobody_waits_for_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_who = 'sleep 60 & cd "$(dirname "$0")"; echo $$ $! > pids.new; mv pids.new pids; wait'
    place = replaced_git(tmp_path / "bin", say_who, monkeypatch)
    running = asyncio.create_task(run_git(str(tmp_path), "status", timeout=60))
    await until((place / "pids").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for pid in (place / "pids").read_text().split():
        await until(lambda pid=int(pid): not is_running(pid))  # type: ignore[misc]


# ---------------------------------------------------------------- removing one


@pytest.mark.slow
async def test_it_goes_with_its_branch(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    assert await remove_worktree(made) == made.base
    assert not is_there(made)
    assert git(project, "branch", "--list") == "* main"


async def test_changes_keep_it(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    (Path(made.path) / "readme.md").write_text("Changed\n")
    (Path(made.path) / "new\u202e.md").write_text("New\n")
    with pytest.raises(WorktreeKept, match="not committed") as kept:
        await remove_worktree(made)
    assert "readme.md" in str(kept.value)
    assert "new<U+202E>.md" in str(kept.value)
    assert "git add -A && git commit" in str(kept.value)
    assert is_there(made)
    await remove_worktree(made, force=True)
    assert not is_there(made)


async def test_untracked_files_keep_it_even_if_git_is_told_not_to_mention_them(project: Path) -> None:
    git(project, "config", "status.showUntrackedFiles", "no")
    made = await create_worktree(str(project), name="a")
    (Path(made.path) / "new.md").write_text("New\n")
    with pytest.raises(WorktreeKept, match=r"new\.md"):
        await remove_worktree(made)


@pytest.mark.slow
async def test_commits_keep_it_until_they_are_merged(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    for number in range(2):
        git(made.path, "commit", "-q", "--allow-empty", "-m", f"Work {number}")
    with pytest.raises(WorktreeKept, match=r"2 commits that are on no other branch: merge \(`git merge handrail/a`\)"):
        await remove_worktree(made)
    git(project, "merge", "-q", made.branch)
    await remove_worktree(made)
    assert not is_there(made)


@pytest.mark.slow
async def test_commits_on_no_branch_keep_it(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    git(made.path, "checkout", "-q", "--detach")
    git(made.path, "commit", "-q", "--allow-empty", "-m", "Lost")
    with pytest.raises(WorktreeKept, match="1 commit that is on no other branch"):
        await remove_worktree(made)


@pytest.mark.slow
async def test_force_says_where_the_branch_was(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    git(made.path, "commit", "-q", "--allow-empty", "-m", "Work")
    tip = git(made.path, "rev-parse", "HEAD")
    git(project, "worktree", "lock", made.path)
    assert await remove_worktree(made, force=True) == tip
    assert git(project, "cat-file", "-t", tip) == "commit"


@pytest.mark.slow
async def test_a_directory_that_is_gone_already(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    shutil.rmtree(made.path)
    assert await remove_worktree(made) == made.base
    assert git(project, "worktree", "list").count("\n") == 0
    assert await remove_worktree(made) is None


async def test_a_locked_one_stays(project: Path) -> None:
    made = await create_worktree(str(project), name="a")
    git(project, "worktree", "lock", made.path)
    with pytest.raises(GitError, match="could not remove the worktree"):
        await remove_worktree(made)
    assert is_there(made)


@pytest.mark.slow
async def test_filled_submodules_keep_it(project: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    git(tmp_path, "clone", "-q", str(project), str(library))
    git(project, "submodule", "--quiet", "add", str(library), "library")
    git(project, "commit", "-qm", "Library")
    made = await create_worktree(str(project), name="a")
    assert made.notes == ("submodules are empty in a new worktree: `git submodule update --init` fills them",)
    git(made.path, "submodule", "--quiet", "update", "--init")
    with pytest.raises(WorktreeKept, match="has submodules"):
        await remove_worktree(made)
    await remove_worktree(made, force=True)
    assert not is_there(made)
