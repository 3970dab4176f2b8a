"""Files that people fetch from a machine and put there: inside its roots, and none that is private.

A path is judged by where it leads, and opened from the root step by step without following a link. What is private is
never read nor written; and nothing hidden is written but into inbox and outbox, since hidden files are what shells,
editors and Claude Code obey.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from typing import Final
from uuid import uuid4

import msgspec

from handrail.sessions.project_files import is_text
from handrail.sessions.roots import RootRefused, Roots

__all__ = ["INBOX", "LARGEST", "OUTBOX", "PRIVATE", "FileExchange", "FileRefused", "ListedFile"]

PRIVATE: Final = (
    *(".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx", "*.gpg", "*.asc"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"),
    *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", "credentials", "credentials.*", "*.tfstate"),
    *("telegram-token", ".git", ".claude", ".claude.json", ".handrail", ".*_history", ".password-store"),
)
"""Names of files and directories that hold secrets, or that programs obey."""

OUTBOX: Final = ".handrail-outbox"
"""Where a session puts files for the people who talk to it, inside its directory."""
INBOX: Final = ".handrail-inbox"
"""Where files are that people sent it."""

LARGEST: Final = 20 * 1024 * 1024
"""What is fetched or put at once, in bytes."""
MOST_LISTED: Final = 1_000

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FileRefused(RootRefused):
    """A file is not to be had, or not to be put there; `code` may also be private_file, file_exists, file_too_large."""


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a directory."""

    name: str
    size: int
    modified_at: float


class FileExchange:
    """The files of one machine. `private` are patterns of names; `own` are directories of Handrail itself, of which
    only what is a root may be used."""

    def __init__(self, roots: Roots, *, private: Sequence[str] = PRIVATE, own: Sequence[str] = ()) -> None:
        self._roots = roots
        self._private = tuple(pattern.lower() for pattern in private)
        self._own = tuple(os.path.realpath(directory) for directory in own)

    def read(self, path: str, *, largest: int = LARGEST) -> bytes:
        """What is in a file. Raises `RootRefused`."""
        resolved = self.resolve(path)
        with _refusing(path), self._roots.opened(os.path.dirname(resolved)) as directory:
            handle = os.open(os.path.basename(resolved), _READ, dir_fd=directory)
            with open(handle, "rb") as file:
                found = os.fstat(handle)
                if not stat.S_ISREG(found.st_mode):
                    raise FileRefused("not_found", f"{path} is no file")
                _check_size(path, found.st_size, largest)
                data = file.read(largest + 1)
        _check_size(path, len(data), largest)
        return data

    def write(self, path: str, data: bytes, *, replace: bool = False) -> str:
        """Put a file there, whole or not at all; returns where that is. Raises `RootRefused`."""
        resolved = self.resolve(path)
        self._check_not_hidden(path, resolved)
        _check_size(path, len(data), LARGEST)
        with _refusing(path), self._roots.opened(os.path.dirname(resolved), make=True) as directory:
            _put(directory, os.path.basename(resolved), data, replace=replace)
        return resolved

    def listing(self, path: str, *, optional: bool = False) -> list[ListedFile]:
        """The files in a directory, by name; those that are private are left out. Raises `RootRefused`.

        `optional`: where there is no such directory, there are no files.
        """
        resolved = self.resolve(path)
        if optional and not os.path.lexists(resolved):
            return []
        with _refusing(path), self._roots.opened(resolved) as directory, os.scandir(directory) as entries:
            found = [listed for entry in entries if not self._is_private(entry.name) and (listed := _listed(entry))]
        return sorted(found, key=lambda each: each.name)[:MOST_LISTED]

    # ------------------------------------------------------------ what may be

    def resolve(self, path: str) -> str:
        """Where a path leads. Raises `RootRefused` if it, or how it is written, is private or outside of the roots."""
        resolved = self._roots.resolve(path)
        below = self._below_root(resolved)
        if any(self._is_private(part) for part in (*path.split("/"), *below)):
            raise FileRefused("private_file", f"{path} is private: one of the patterns of private files fits it")
        if any(_is_in(resolved, own) and not _is_in(self._roots.root_of(resolved) or "", own) for own in self._own):
            raise FileRefused("private_file", f"{path} is one of Handrail's own files")
        return resolved

    def _below_root(self, resolved: str) -> list[str]:
        return os.path.relpath(resolved, self._roots.root_of(resolved)).split("/")

    def _is_private(self, name: str) -> bool:
        return any(fnmatch(name.lower(), pattern) for pattern in self._private)

    def _check_not_hidden(self, path: str, resolved: str) -> None:
        parts = self._below_root(resolved)
        if any(part.startswith(".") for part in parts) and not {INBOX, OUTBOX} & set(parts[:-1]):
            raise FileRefused("private_file", f"{path} is hidden: nothing is put into hidden files and directories")


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise FileRefused("file_exists", f"{path} is there already") from None
    except (FileNotFoundError, NotADirectoryError):
        raise FileRefused("not_found", f"there is no {path}") from None
    except OSError as error:
        raise FileRefused("not_found", f"{path} cannot be used: {error.strerror}") from None


def _check_size(path: str, size: int, largest: int) -> None:
    if size > largest:
        raise FileRefused("file_too_large", f"{path} has {size:,} bytes: at most {largest:,} go at once")


def _put(directory: int, name: str, data: bytes, *, replace: bool) -> None:
    temporary = f".{name[:100]}.{uuid4().hex}"
    handle = os.open(temporary, _CREATE, 0o666, dir_fd=directory)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        if replace:
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        else:
            os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)


def _listed(entry: os.DirEntry[str]) -> ListedFile | None:
    with suppress(OSError):
        if entry.is_file(follow_symlinks=False) and is_text(entry.name):
            found = entry.stat(follow_symlinks=False)
            return ListedFile(name=entry.name, size=found.st_size, modified_at=found.st_mtime)
    return None
