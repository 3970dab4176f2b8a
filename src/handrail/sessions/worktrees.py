"""A git worktree for a session: a directory and a branch of its own, so that sessions do not get in each other's way.

Worktrees are kept in Handrail's state directory, outside of the repository: `git status` stays as it is there, and
searches, watchers and test runners do not find every file twice.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re

import msgspec

from handrail.places import Places
from handrail.policy.describing.visible import one_line
from handrail.sessions.git import GitError, GitOutput, run_git

__all__ = ["Worktree", "WorktreeKept", "create_worktree", "remove_worktree"]

BRANCHES = "handrail/"
"""What the branches of sessions begin with."""

_QUERY_TIMEOUT = 30.0
_CHECKOUT_TIMEOUT = 600.0
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*")
_LONGEST_NAME = 80
_LISTED_FILES = 5
_EVERYTHING = ("--untracked-files=normal", "--no-renames", "--ignore-submodules=none")
"""For `git status`: whatever the user's configuration leaves out otherwise."""


class WorktreeKept(GitError):
    """The worktree was not removed, because work would be lost; the message says how to keep it."""


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree of a session. It can be stored, and removed by another process later."""

    path: str
    branch: str
    repository: str
    """The repository's main directory; for a repository without one, its git directory."""
    cwd: str
    """Where the session starts: the same directory of the project as before, in this worktree."""
    base: str
    """The commit it began with."""
    notes: tuple[str, ...] = ()
    """What a person should know: what of the project is not in it."""


class _Origin(msgspec.Struct, frozen=True):
    """Where a worktree comes from."""

    repository: str
    prefix: str
    """The directory inside of the project, with a slash at its end; empty at the top."""


# ---------------------------------------------------------------- making one


async def create_worktree(
    cwd: str,
    *,
    name: str,
    base: str | None = None,
    branch: str | None = None,
    directory: str | None = None,
) -> Worktree:
    """Make a worktree of the repository that `cwd` is in, on a new branch (`handrail/NAME` if none is given).

    It begins with the commit `base`, or with what is checked out now. `directory` is where worktrees are kept;
    Handrail's state directory if it is not given. Raises `GitError`, which says what to do.
    """
    _check_name(name)
    origin = await _origin(cwd)
    commit = await _commit(cwd, base)
    chosen = branch if branch is not None else BRANCHES + name
    await _check_new_branch(origin.repository, chosen)
    path = _place(directory or _default_directory(), origin.repository, name)
    if _exists(path):
        raise GitError(f"there is a worktree {name!r} already, at {path}: remove it, or choose another name")
    notes = await _notes(cwd)
    await _add(origin.repository, path, chosen, commit)
    return Worktree(
        path=path,
        branch=chosen,
        repository=origin.repository,
        cwd=_same_directory(path, origin.prefix),
        base=commit,
        notes=notes,
    )


def _check_name(name: str) -> None:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name) or name.endswith((".", ".lock")):
        raise GitError(
            f"{name!r} cannot be the name of a worktree: use letters, digits, '-', '_' and '.', "
            f"begin with a letter or a digit, and stay below {_LONGEST_NAME + 1} characters"
        )


async def _origin(cwd: str) -> _Origin:
    inside = await run_git(cwd, "rev-parse", "--is-inside-work-tree", timeout=_QUERY_TIMEOUT)
    if not inside.ok:
        raise GitError(_no_repository(cwd, inside))
    if inside.value != "true":
        raise GitError(f"{cwd} is a repository without files (bare, or the inside of .git): start in a checkout of it")
    common = await _asked(cwd, "rev-parse", "--git-common-dir")
    prefix = await _asked(cwd, "rev-parse", "--show-prefix")
    # Git may answer relative to the directory it runs in.
    return _Origin(_main_directory(_resolved(posixpath.join(cwd, common))), prefix)


def _main_directory(git_directory: str) -> str:
    return posixpath.dirname(git_directory) if posixpath.basename(git_directory) == ".git" else git_directory


def _no_repository(cwd: str, answer: GitOutput) -> str:
    if "not a git repository" in answer.stderr:
        return f"{cwd} is not in a git repository: run `git init` and commit there, or go without a worktree"
    return f"the repository at {cwd} cannot be used: {answer.complaint}"


async def _commit(cwd: str, base: str | None) -> str:
    wanted = "HEAD" if base is None else base
    found = await run_git(
        cwd, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}", timeout=_QUERY_TIMEOUT
    )
    if found.ok:
        return found.value
    if base is None:
        raise GitError(f"the repository at {cwd} has no commit yet: make one first, and a worktree can begin with it")
    raise GitError(f"there is no commit {base!r} in the repository at {cwd}")


async def _check_new_branch(repository: str, branch: str) -> None:
    valid = await run_git(repository, "check-ref-format", f"refs/heads/{branch}", timeout=_QUERY_TIMEOUT)
    if not valid.ok or branch.startswith("-"):
        raise GitError(f"git does not allow {branch!r} as the name of a branch")
    if await _tip(repository, f"refs/heads/{branch}") is not None:
        raise GitError(
            f"the branch {branch!r} exists already: choose another name, or delete it with "
            f"`git branch -d {branch}` if nobody needs it"
        )


async def _notes(cwd: str) -> tuple[str, ...]:
    notes = []
    if await _changed_files(cwd):
        notes.append("changes that are not committed stay where they are: they are not in the worktree")
    if await _has_submodules(cwd):
        notes.append("submodules are empty in a new worktree: `git submodule update --init` fills them")
    return tuple(notes)


async def _has_submodules(directory: str) -> bool:
    """Whether the project names submodules at all."""
    top = await _asked(directory, "rev-parse", "--show-toplevel")
    return _exists(posixpath.join(top, ".gitmodules"))


def _default_directory() -> str:
    return posixpath.join(Places.of_user(os.environ).state, "worktrees")


def _place(directory: str, repository: str, name: str) -> str:
    """One directory for each repository; the digest tells apart those of the same name."""
    digest = hashlib.sha256(os.fsencode(repository)).hexdigest()[:8]
    return posixpath.join(_resolved(directory), f"{posixpath.basename(repository)}-{digest}", name)


async def _add(repository: str, path: str, branch: str, commit: str) -> None:
    try:
        os.makedirs(posixpath.dirname(path), mode=0o700, exist_ok=True)
    except OSError as error:
        raise GitError(f"the worktree cannot be made at {path}: {error.strerror}") from None
    try:
        added = await run_git(
            repository, "worktree", "add", "-b", branch, "--", path, commit, timeout=_CHECKOUT_TIMEOUT
        )
    except BaseException:
        await _take_back(repository, path, branch, commit)
        raise
    if not added.ok:
        await _take_back(repository, path, branch, commit)
        raise GitError(f"git could not make the worktree: {added.complaint}")


async def _take_back(repository: str, path: str, branch: str, commit: str) -> None:
    """Leave nothing of a worktree that did not come about."""
    await run_git(repository, "worktree", "remove", "--force", "--", path, timeout=_QUERY_TIMEOUT)
    # Only while it is where we put it: somebody else may have made a branch of this name in the meantime.
    await run_git(repository, "update-ref", "-d", f"refs/heads/{branch}", commit, timeout=_QUERY_TIMEOUT)


def _same_directory(path: str, prefix: str) -> str:
    inside = posixpath.join(path, prefix).rstrip("/")
    return inside if os.path.isdir(inside) else path


# ---------------------------------------------------------------- removing one


async def remove_worktree(worktree: Worktree, *, force: bool = False) -> str | None:
    """Remove a worktree and its branch. Returns the commit the branch was at; None if the branch was gone.

    Raises `WorktreeKept` if that would lose changes or commits, unless `force` is set; `GitError` if git fails.
    """
    if not force:
        await _check_nothing_is_lost(worktree)
    # Given twice it also removes a worktree that is locked.
    forced = ("--force", "--force") if force else ()
    listed = await _is_listed(worktree)
    if listed:
        removed = await run_git(
            worktree.repository, "worktree", "remove", *forced, "--", worktree.path, timeout=_CHECKOUT_TIMEOUT
        )
        if not removed.ok:
            raise GitError(f"git could not remove the worktree at {worktree.path}: {removed.complaint}")
    return await _delete_branch(worktree)


async def _check_nothing_is_lost(worktree: Worktree) -> None:
    if _exists(worktree.path):
        await _check_files(worktree)
    commits = await _commits_nowhere_else(worktree)
    if commits:
        raise WorktreeKept(
            f"the worktree at {worktree.path} has {_count(commits, 'commit')} that {'is' if commits == 1 else 'are'} "
            f"on no other branch: merge (`git merge {worktree.branch}`) or push it first, or remove it with force"
        )


async def _check_files(worktree: Worktree) -> None:
    changed = await _changed_files(worktree.path)
    if changed:
        raise WorktreeKept(
            f"the worktree at {worktree.path} has changes that are not committed ({_listed(changed)}): to keep them, "
            f"commit them there (`git add -A && git commit`) and merge {worktree.branch}; or remove it with force"
        )
    if await _has_filled_submodules(worktree.path):
        raise WorktreeKept(
            f"the worktree at {worktree.path} has submodules, whose own commits are kept in it: "
            "push what is worth keeping from them, then remove it with force"
        )


async def _changed_files(directory: str) -> list[str]:
    status = await _asked(directory, "status", "--porcelain", "-z", *_EVERYTHING)
    return [entry[3:] for entry in status.split("\0") if entry]


async def _has_filled_submodules(directory: str) -> bool:
    if not await _has_submodules(directory):
        return False
    status = await _asked(directory, "submodule", "status")
    return any(not line.startswith("-") for line in status.splitlines())


async def _commits_nowhere_else(worktree: Worktree) -> int:
    """How many commits of the branch, and of what is checked out, no other branch, tag or remote branch has."""
    tips = {await _tip(worktree.repository, f"refs/heads/{worktree.branch}")}
    if _exists(worktree.path):
        tips.add(await _tip(worktree.path, "HEAD"))
    known = sorted(tip for tip in tips if tip is not None)
    if not known:
        return 0
    others = (f"--exclude={worktree.branch}", "--branches", "--remotes", "--tags")
    return int(await _asked(worktree.repository, "rev-list", "--count", *known, "--not", *others))


async def _is_listed(worktree: Worktree) -> bool:
    listed = await _asked(worktree.repository, "worktree", "list", "--porcelain")
    return f"worktree {worktree.path}" in listed.splitlines()


async def _delete_branch(worktree: Worktree) -> str | None:
    tip = await _tip(worktree.repository, f"refs/heads/{worktree.branch}")
    if tip is None:
        return None
    deleted = await run_git(
        worktree.repository, "branch", "--delete", "--force", "--", worktree.branch, timeout=_QUERY_TIMEOUT
    )
    if not deleted.ok:
        raise GitError(f"the worktree is removed, but not its branch {worktree.branch}: {deleted.complaint}")
    return tip


# ---------------------------------------------------------------- asking the disk and git


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _resolved(path: str) -> str:
    return os.path.realpath(path)


async def _asked(directory: str, *arguments: str) -> str:
    """What git answers. Raises `GitError` if it does not."""
    answer = await run_git(directory, *arguments, timeout=_QUERY_TIMEOUT)
    if not answer.ok:
        raise GitError(f"git {arguments[0]} failed in {directory}: {answer.complaint}")
    return answer.value


async def _tip(directory: str, reference: str) -> str | None:
    found = await run_git(
        directory, "rev-parse", "--verify", "--quiet", "--end-of-options", reference, timeout=_QUERY_TIMEOUT
    )
    return found.value if found.ok else None


def _listed(names: list[str]) -> str:
    shown = ", ".join(one_line(name) for name in names[:_LISTED_FILES])
    return shown if len(names) <= _LISTED_FILES else f"{shown} and {len(names) - _LISTED_FILES} more"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
