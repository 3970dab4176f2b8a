"""Small JSON files that several processes share: written whole or not at all, for their owner only."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from handrail.errors import InvalidPolicy
from handrail.policy.files import Disk

__all__ = ["locked", "read_json", "write_json"]

T = TypeVar("T")

LARGEST = 16 * 1024 * 1024


def read_json(path: str, kind: type[T], default: T) -> T:
    """What the file holds; `default` if there is none. One that cannot be understood is an error that names it."""
    if not os.path.lexists(path):
        return default
    data = Disk().read(path, LARGEST)
    if data is None:
        raise InvalidPolicy(f"{path} cannot be read: it is not a file, not yours to read, or too large")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidPolicy(f"{path} is damaged ({error}): repair it, or move it away to start afresh") from error


def write_json(path: str, value: object) -> None:
    """Put `value` in place of what the file held."""
    target = Path(path)
    try:
        _make_directory(target.parent)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(value)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise InvalidPolicy(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the file's lock, so that reading, changing and writing it is one step among processes."""
    try:
        _make_directory(Path(path).parent)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InvalidPolicy(f"{path} cannot be locked: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _make_directory(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
