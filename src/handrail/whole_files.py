"""Small files that several processes share: written whole or not at all, for their owner only."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["locked", "write_whole"]


def write_whole(path: str, data: bytes) -> None:
    """Put `data` in place of what the file held. Raises `OSError`, and then the file is as it was."""
    target = Path(path)
    _make_directory(target.parent)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the file's lock, so that reading, changing and writing it is one step among processes."""
    _make_directory(Path(path).parent)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _make_directory(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
