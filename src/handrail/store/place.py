"""Where the database lies: whether it can be used there, private to its owner, and who has it open."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable

from handrail.errors import StoreCorrupt, StoreLocked
from handrail.places import Places
from handrail.store.faults import HOW_TO_RESTORE, corrupt, explained, unavailable
from handrail.store.filesystems import is_network

__all__ = ["SIDE_FILES", "OpenLock", "make_private", "prepare_place", "store_path"]

SIDE_FILES = ("-wal", "-shm")
"""What SQLite keeps beside a database while it is open."""
_POLL = 0.02


def store_path(places: Places) -> str:
    """The database of this user."""
    return os.path.join(places.state, "handrail.db")


def prepare_place(path: str, filesystem_of: Callable[[str], str]) -> None:
    """Make the directory, and raise a `StoreError` if a database cannot or should not be used at `path`."""
    directory = os.path.dirname(path)
    with explained(directory):
        os.makedirs(directory, mode=0o700, exist_ok=True)
    if is_network(kind := filesystem_of(directory)):
        raise unavailable(path, f"it is on a network file system ({kind}), where SQLite would damage it")
    if not _may(directory, os.W_OK | os.X_OK):
        raise unavailable(path, "its directory is read-only, or not yours to write in")
    if os.path.lexists(path):
        _check_file(path)
        make_private(path)
    elif _size(f"{path}-wal"):
        raise StoreCorrupt(
            f"{path} is missing, but what was last written to it is still in {path}-wal: put the database back beside "
            f"it, or move that file away; {HOW_TO_RESTORE}"
        )


def _check_file(path: str) -> None:
    """Only by looking at its name: to open it and close it again would drop the locks that SQLite holds on it."""
    with explained(path):
        found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise unavailable(path, "it is a directory" if stat.S_ISDIR(found.st_mode) else "it is not a file")
    if found.st_uid != os.geteuid():
        raise unavailable(path, f"it belongs to another user (uid {found.st_uid})")
    if found.st_size == 0:
        raise corrupt(path, "the file is empty")
    if not _may(path, os.R_OK | os.W_OK):
        raise unavailable(path, "the file is read-only, or may not be read")


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def _may(path: str, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def make_private(path: str) -> None:
    """Only its owner may read or write a database."""
    for name in (path, *(path + side for side in SIDE_FILES)):
        try:
            if stat.S_IMODE(os.stat(name).st_mode) & 0o077:
                os.chmod(name, 0o600)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise unavailable(name, f"it cannot be made private ({error.strerror})") from error


class OpenLock:
    """Tells everybody who has a database open. The kernel gives it back when its holder dies.

    It is shared among all who use the database, and held alone by who creates, upgrades or replaces it. It is a file
    of its own, because SQLite's own locks would be lost if anybody else opened and closed the database.
    """

    def __init__(self, path: str, *, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._descriptor: int | None = None

    def share(self) -> None:
        """Be one of its users. Raises `StoreLocked` if somebody replaces or upgrades it for too long."""
        self._take(fcntl.LOCK_SH, "another process is creating, upgrading or restoring it: try again when it is done")

    def alone(self) -> None:
        """Be its only user. Raises `StoreLocked` while anybody else has it open."""
        self._take(fcntl.LOCK_EX, "other processes have it open: end every other `handrail`, then try again")

    def release(self) -> None:
        """Give it up. Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, kind: int, why_not: str) -> None:
        deadline = time.monotonic() + self._timeout
        while not self._try(kind):
            if time.monotonic() > deadline:
                self.release()
                raise StoreLocked(f"{self._path} is in use: {why_not}")
            time.sleep(_POLL)

    def _try(self, kind: int) -> bool:
        with explained(self._path):
            if self._descriptor is None:
                self._descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True
