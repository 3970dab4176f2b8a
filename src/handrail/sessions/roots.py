"""Directories that people may look into and start sessions in: a few roots, and nothing outside of them.

A path is judged by where it leads, with every symbolic link followed; what is then listed is opened step by step from
the root without following any, so that a link put in the way meanwhile leads nowhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from handrail.errors import HandrailError
from handrail.sessions.project_files import is_text

__all__ = ["Directory", "Listing", "RootRefused", "Roots"]

MOST_ENTRIES: Final = 2_000
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class RootRefused(HandrailError):
    """A path is not to be looked into; `code` says why: invalid, outside_roots or not_found."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Directory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory inside another; `git` says whether it is the top of a repository."""

    name: str
    path: str
    git: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The directories in `path`; `left_out` of them cannot be named in JSON, or are too many."""

    path: str
    directories: list[Directory]
    left_out: int = 0


class Roots:
    """The roots of one machine. What they are is settled when they are made; `setting` is where people change them.

    `further` ones count as well, and are Handrail's own: nobody is told of them.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        home: str | None = None,
        setting: str = "hub.roots",
        further: Iterable[str] = (),
    ) -> None:
        self.setting = setting
        self.home = home or os.path.expanduser("~")
        self._told = self._distinct(paths)
        self.paths = self._distinct((*self._told, *further))

    def _distinct(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(os.path.realpath(self._expanded(path)) for path in paths))

    def check(self, path: str) -> str:
        """The directory that `path` leads to. Raises `RootRefused` if there is none, or it is outside of the roots."""
        found = self.resolve(path)
        if not os.path.isdir(found):
            raise RootRefused("not_found", f"there is no directory {path}")
        return found

    def resolve(self, path: str) -> str:
        """Where `path` leads, whether or not anything is there. Raises `RootRefused` if that is outside."""
        found = self._resolved(path)
        if found is None:
            raise RootRefused("invalid", "name it by its whole path, beginning with / or ~")
        if self.root_of(found) is None:
            inside = " or ".join(self._told)
            raise RootRefused(
                "outside_roots", f"{path} is not inside {inside}: the setting {self.setting} says what is"
            )
        return found

    def contain(self, path: str) -> bool:
        """Whether `path` leads to a root, or inside one, whether or not anything is there."""
        found = self._resolved(path)
        return found is not None and self.root_of(found) is not None

    def listing(self, path: str, *, hidden: bool = False) -> Listing:
        """The directories in `path`, by name; those whose names begin with a dot only on demand."""
        resolved = self.check(path)
        try:
            with self.opened(resolved) as handle, os.scandir(handle) as entries:
                names = [entry for entry in entries if hidden or not entry.name.startswith(".")]
                found = [each for entry in names if (each := self._directory(entry, resolved, handle))]
        except OSError as error:
            raise RootRefused("not_found", f"{path} cannot be listed: {error.strerror}") from None
        shown = sorted((each for each in found if is_text(each.name)), key=lambda each: each.name.lower())
        kept = shown[:MOST_ENTRIES]
        return Listing(resolved, kept, len(found) - len(kept))

    def root_of(self, resolved: str) -> str | None:
        """The root that a resolved path is in: the innermost, if there are several."""
        fitting = [root for root in self.paths if resolved == root or resolved.startswith(root.rstrip("/") + "/")]
        return max(fitting, key=len, default=None)

    @contextmanager
    def opened(self, resolved: str, *, make: bool = False) -> Generator[int, None, None]:
        """A directory that was resolved before, opened without following a link; with `make`, it is made if need be."""
        root = self.root_of(resolved) or self.paths[0]
        handle = os.open(root, _OPEN)
        try:
            for part in os.path.relpath(resolved, root).split("/"):
                if part != ".":
                    if make:
                        with suppress(FileExistsError):
                            os.mkdir(part, dir_fd=handle)
                    inner = os.open(part, _OPEN, dir_fd=handle)
                    os.close(handle)
                    handle = inner
            yield handle
        finally:
            os.close(handle)

    def _directory(self, entry: os.DirEntry[str], above: str, handle: int) -> Directory | None:
        path = os.path.join(above, entry.name)
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and self._leads_inside(path)):
                return Directory(name=entry.name, path=path, git=_has_git(entry.name, handle))
        return None

    def _leads_inside(self, path: str) -> bool:
        return self.contain(path) and os.path.isdir(path)

    def _resolved(self, path: str) -> str | None:
        """`path` with every link followed; None for what is no whole path."""
        asked = self._expanded(path)
        if "\0" in asked or not os.path.isabs(asked):
            return None
        return os.path.realpath(asked)

    def _expanded(self, path: str) -> str:
        return self.home + path[1:] if path == "~" or path.startswith("~/") else path


def _has_git(name: str, above: int) -> bool:
    with suppress(OSError):
        found = os.stat(f"{name}/.git", dir_fd=above, follow_symlinks=False)
        return stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
    return False
