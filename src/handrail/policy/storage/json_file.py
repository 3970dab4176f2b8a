"""Small JSON files that several processes share: written whole or not at all, for their owner only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import msgspec

from handrail import whole_files
from handrail.errors import InvalidPolicy
from handrail.policy.files import Disk
from handrail.whole_files import write_whole

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
    try:
        write_whole(path, msgspec.json.format(msgspec.json.encode(value)) + b"\n")
    except OSError as error:
        raise InvalidPolicy(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the file's lock, so that reading, changing and writing it is one step among processes."""
    with ExitStack() as held:
        try:
            held.enter_context(whole_files.locked(path))
        except OSError as error:
            raise InvalidPolicy(f"{path} cannot be locked: {error.strerror}") from error
        yield
