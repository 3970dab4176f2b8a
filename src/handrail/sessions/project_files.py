"""The names of a project's files, and those that fit what somebody has typed so far. Files are never opened.

In a git repository these are the files that git knows or would offer to add; elsewhere a walk finds them, which leaves
out hidden directories and those that hold what others wrote. Both stop at a limit.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from handrail.sessions.git import GitError, run_git

__all__ = ["ProjectFile", "best_fits", "file_names", "is_text", "suggest_files"]

MOST_NAMES: Final = 50_000
WALK_SECONDS: Final = 1.0
GIT_SECONDS: Final = 5.0
NOT_WALKED: Final = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "site-packages"})
_LS_FILES: Final = (
    *("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),  # programs of the project's choice
    *("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"),
)

Kind: TypeAlias = Literal["file", "directory"]


class ProjectFile(msgspec.Struct, frozen=True):
    """A file or directory, by its path from the project's directory."""

    path: str
    kind: Kind = "file"


async def suggest_files(directory: str, typed: str, *, limit: int = 50) -> list[ProjectFile]:
    """The files and directories below `directory` that fit best."""
    names = await file_names(directory)
    return await asyncio.to_thread(best_fits, names, typed, limit=limit)


async def file_names(directory: str) -> list[str]:
    """The project's files, by their paths from `directory`. Names that are not UTF-8 are left out."""
    try:
        listed = await run_git(directory, *_LS_FILES, timeout=GIT_SECONDS)
    except GitError:
        listed = None
    if listed is not None and listed.ok:
        names: Iterable[str] = listed.stdout.split("\0")
    else:
        names = await asyncio.to_thread(lambda: list(_walked(directory)))
    return [name for name in _first(names, MOST_NAMES) if name and is_text(name)]


def best_fits(names: Iterable[str], typed: str, *, limit: int) -> list[ProjectFile]:
    """Those that hold the typed letters in this order, the most likely first; directories are those of the names."""
    wanted = typed.strip().lower().removeprefix("./")
    pattern = re.compile(".*?".join(map(re.escape, wanted)), re.DOTALL)
    found = [
        (_distance(each.path.lower(), wanted, pattern), each)
        for each in _with_directories(names)
        if pattern.search(each.path.lower())
    ]
    found.sort(key=lambda pair: pair[0])
    return [each for _, each in found[:limit]]


def _distance(path: str, wanted: str, pattern: re.Pattern[str]) -> tuple[int, int, str]:
    """How far a name is from what was typed: smaller is nearer."""
    path = path.rstrip("/")
    name = path.rpartition("/")[2]
    ranked = (
        wanted in (name, path),
        name.startswith(wanted),
        path.startswith(wanted),
        wanted in name,
        wanted in path,
        pattern.match(name) is not None,
        pattern.search(name) is not None,
    )
    rank = next((number for number, fits in enumerate(ranked) if fits), len(ranked))
    return rank, path.count("/") * 8 + len(path), path


def _with_directories(names: Iterable[str]) -> Iterator[ProjectFile]:
    seen: set[str] = set()
    for name in names:
        above = name.rpartition("/")[0]
        while above and above not in seen:
            seen.add(above)
            yield ProjectFile(f"{above}/", "directory")
            above = above.rpartition("/")[0]
        yield ProjectFile(name)


def _walked(directory: str) -> Iterator[str]:
    """Files by a walk, nearest first. No symbolic link is followed."""
    deadline = time.monotonic() + WALK_SECONDS
    waiting = [""]
    while waiting and time.monotonic() < deadline:
        above = waiting.pop(0)
        try:
            with os.scandir(os.path.join(directory, above)) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            path = f"{above}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif not entry.name.startswith(".") and entry.name not in NOT_WALKED:
                waiting.append(f"{path}/")


def _first(names: Iterable[str], number: int) -> Iterator[str]:
    for _, name in zip(range(number), names, strict=False):
        yield name


def is_text(name: str) -> bool:
    """Whether a name can be sent at all: some file systems allow any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
