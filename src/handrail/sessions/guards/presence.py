"""Marks that a process holds for as long as it wants or lives, and that others can wait for the end of.

A mark is a file that its holder keeps locked, so the kernel frees it with the holder, and beside it a named pipe that
its holder keeps open: whoever reads that pipe comes to its end when the holder is gone. So any number of marks can be
waited for at once, on the event loop, without a thread for each and without polling.

The pipe is opened before the lock is taken, and closed after it is given back. So whoever opens the pipe, and only then
finds the lock taken, will be told.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence

__all__ = ["LOCK", "Mark", "create_mark", "forget", "is_held", "prepare_mark", "take_mark", "wait_for_any", "watching"]

LOCK = ".lock"
PIPE = ".pipe"
A_MOMENT = 0.01


class Mark:
    """A mark that this process holds."""

    def __init__(self, path: str, lock: int, pipe: int) -> None:
        self.path = path
        self._lock: int | None = lock
        self._pipe = pipe

    def release(self, *, remove: bool = False) -> None:
        """Give it back; with `remove` for good. Idempotent."""
        if self._lock is None:
            return
        if remove:
            forget(self.path)
        os.close(self._lock)
        os.close(self._pipe)
        self._lock = None


def prepare_mark(path: str) -> None:
    """Make sure that a mark can be watched before anybody has taken it."""
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path + PIPE, 0o600)


def create_mark(path: str) -> Mark:
    """A new mark, which nobody ever sees without its holder."""
    hidden = f"{path}.new"
    with contextlib.ExitStack() as opened:
        pipe = _hold_pipe(path)
        opened.callback(os.close, pipe)
        lock = _open_lock(hidden)
        opened.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(hidden, path + LOCK)
        opened.pop_all()
    return Mark(path, lock, pipe)


def take_mark(path: str) -> Mark | None:
    """The mark, unless somebody has it."""
    with contextlib.ExitStack() as opened:
        pipe = _hold_pipe(path)
        opened.callback(os.close, pipe)
        lock = _open_lock(path + LOCK)
        opened.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        opened.pop_all()
    return Mark(path, lock, pipe)


def is_held(path: str) -> bool:
    """Whether somebody holds a mark that `create_mark` made."""
    try:
        lock = os.open(path + LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # A shared lock: two who look at the same time do not take each other for the holder.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def forget(path: str) -> None:
    """Remove a mark's files."""
    for ending in (LOCK, PIPE):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + ending)


@contextlib.contextmanager
def watching(paths: Sequence[str]) -> Iterator[list[int]]:
    """Descriptors that come to their end with the holders of these marks: open them, and then look who holds what."""
    pipes: list[int] = []
    try:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                pipes.append(os.open(path + PIPE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        yield pipes
    finally:
        for pipe in pipes:
            os.close(pipe)


async def wait_for_any(pipes: Sequence[int]) -> None:
    """Wait until one of these has come to its end. Look again then: its mark may be free only a moment later."""
    if any(map(_has_ended, pipes)):
        # Of a process that is being killed the kernel may close the pipe before it frees the lock.
        await asyncio.sleep(A_MOMENT)
        return
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    for pipe in pipes:
        loop.add_reader(pipe, _set, ended)
    try:
        await ended
    finally:
        for pipe in pipes:
            loop.remove_reader(pipe)


def _has_ended(pipe: int) -> bool:
    try:
        return os.read(pipe, 1) == b""
    except BlockingIOError:
        return False


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _hold_pipe(path: str) -> int:
    prepare_mark(path)
    # Open for both: it then opens at once, whether anybody reads or not.
    return os.open(path + PIPE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def _open_lock(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
