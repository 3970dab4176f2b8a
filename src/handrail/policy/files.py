"""The one door through which rules look at files."""

from __future__ import annotations

import os
import stat
from typing import Protocol

__all__ = ["Disk", "Elsewhere", "Files"]


class Files(Protocol):
    """What a rule needs to know about the files where the CLI runs. Paths are absolute."""

    def resolve(self, path: str) -> str:
        """`path` with every symbolic link followed, as far as it exists."""
        ...

    def is_link(self, path: str) -> bool:
        """Whether `path` itself is a symbolic link."""
        ...

    def link_target(self, path: str) -> str | None:
        """What the symbolic link at `path` says, perhaps relative to its directory; None if it is no link."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory at `path`, links followed."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is anything at `path`, links followed."""
        ...

    def read(self, path: str, at_most: int) -> bytes | None:
        """The bytes of the regular file at `path`; None if there is none, or none that can be read, or a larger one."""
        ...


class Disk:
    """The files of this machine."""

    def resolve(self, path: str) -> str:
        try:
            return os.path.realpath(path)
        except ValueError:  # a null character
            return path

    def is_link(self, path: str) -> bool:
        return os.path.islink(path)

    def link_target(self, path: str) -> str | None:
        try:
            return os.readlink(path)
        except (OSError, ValueError):
            return None

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def read(self, path: str, at_most: int) -> bytes | None:
        try:
            # Not blocking, because opening a named pipe would wait for its writer.
            with open(path, "rb", opener=_open_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                content = file.read(at_most + 1)
        except (OSError, ValueError):
            return None
        return content if len(content) <= at_most else None


class Elsewhere:
    """The files of a machine that cannot be looked at: everything may be there, and nothing can be read."""

    def resolve(self, path: str) -> str:
        return path

    def is_link(self, path: str) -> bool:
        return False

    def link_target(self, path: str) -> str | None:
        return None

    def is_directory(self, path: str) -> bool:
        return False

    def exists(self, path: str) -> bool:
        return True

    def read(self, path: str, at_most: int) -> bytes | None:
        return None


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
