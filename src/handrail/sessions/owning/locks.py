"""At most one CLI on a session: locks that the kernel holds for as long as that CLI may live.

A lock is an `flock` on an open file. Copies of the descriptor share the lock, and it is free once the last copy is
closed. So copies are given to the CLI and to the supervisor that ends the CLI if we are killed: then nobody gets the
lock before the CLI's processes are gone. What is written in the file is for messages only; it proves nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable

import msgspec

from handrail.errors import SessionBusy, SessionError
from handrail.sessions.owning.forking import abandon_in_forks
from handrail.sessions.owning.private_files import private_directory

__all__ = ["Holder", "SessionLock", "holder_of"]

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX = ".lock"
_NOTE_LIMIT = 4096


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lock, as they said themselves: their process, when it started, and where they can be reached."""

    pid: int
    started: float | None = None
    socket: str | None = None


Keeper = Callable[[int], None]
"""Keeps a copy of a descriptor for as long as the CLI lives: `StdioTransport.hold`."""


class SessionLock:
    """The locks of one session: under Handrail's id and under each id that its CLI has had. Made by `take`."""

    def __init__(self, directory: str, holder: Holder) -> None:
        self._directory = directory
        self._holder = holder
        self._files: dict[str, _LockFile] = {}
        self._keeper: Keeper | None = None

    @classmethod
    async def take(
        cls, directory: str, names: Iterable[str], *, holder: Holder | None = None, patience: float = 0.0
    ) -> SessionLock:
        """Lock all these names, or none. Waits up to `patience` seconds for each that is held, then `SessionBusy`."""
        lock = cls(private_directory(directory), holder or Holder(os.getpid()))
        try:
            for name in names:
                await lock.follow(name, patience=patience)
        except BaseException:
            lock.release()
            raise
        return lock

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._files)

    @property
    def fds(self) -> tuple[int, ...]:
        """The descriptors, to be passed to every process that must keep the locks."""
        return tuple(file.descriptor for file in self._files.values())

    def kept_by(self, keeper: Keeper) -> None:
        """Who is to get a copy of each lock that is taken from now on."""
        self._keeper = keeper

    async def follow(self, name: str, *, patience: float = 0.0) -> None:
        """Lock one more name: the CLI's session id is another one now. Raises `SessionBusy`."""
        if name in self._files:
            return
        file = await _locked(_path(self._directory, name), self._holder, patience)
        self._files[name] = file
        if self._keeper is not None:
            self._keeper(file.descriptor)

    def release(self) -> None:
        """Free all names, for every process that has copies: the CLI's processes must have ended. Idempotent."""
        files, self._files = self._files, {}
        for file in files.values():
            file.release()


def holder_of(directory: str, name: str) -> Holder | None:
    """Who took this lock last, if they said so. They may be gone: ask them, or try to take it."""
    try:
        descriptor = os.open(_path(directory, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _read_note(descriptor)
    finally:
        os.close(descriptor)


class _Descriptor:
    """A descriptor that is closed once, and in forked processes at once: a copy there would keep the lock."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.closed = False
        abandon_in_forks(self)

    def copy(self) -> _Descriptor:
        return _Descriptor(os.dup(self.number))

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self.number)

    abandon = close


class _LockFile:
    """One open lock file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = _Descriptor(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))

    @property
    def descriptor(self) -> int:
        return self._file.number

    def lock(self) -> bool:
        """Lock the file unless somebody else has."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    async def lock_when_free(self) -> None:
        """Lock the file once nobody else has. Only a blocked call hears of that, so it takes a thread."""
        locked: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
        # With a copy of its own the thread can be left alone: the lock is lost again if the file is closed meanwhile.
        arguments = (self._file.copy(), locked)
        threading.Thread(target=_lock_blocking, args=arguments, daemon=True, name="handrail-lock").start()
        error = await locked
        if error is not None:
            raise error

    @property
    def is_current(self) -> bool:
        """Whether others find this very file under its name: whoever releases a lock removes its file."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self.descriptor))
        except FileNotFoundError:
            return False

    def write_note(self, holder: Holder) -> None:
        with contextlib.suppress(OSError):  # a full disk, as a rule; the lock is good without a note
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, msgspec.json.encode(holder), 0)

    def describe_holder(self) -> str:
        name = os.path.basename(self._path).removesuffix(_SUFFIX)
        return _describe(name, _read_note(self.descriptor))

    def release(self) -> None:
        """Free the lock, also for those who have copies. The file goes first, while nobody else can have locked it."""
        if self._file.closed:
            return
        try:
            if self.is_current:
                os.unlink(self._path)
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        finally:
            self.close()

    def close(self) -> None:
        self._file.close()


def _lock_blocking(descriptor: _Descriptor, locked: asyncio.Future[OSError | None]) -> None:
    error = None
    try:
        fcntl.flock(descriptor.number, fcntl.LOCK_EX)
    except OSError as failure:
        error = failure
    with contextlib.suppress(RuntimeError):  # the loop was closed, so nobody waits any more
        locked.get_loop().call_soon_threadsafe(_settle, locked, error)
    descriptor.close()


def _settle(locked: asyncio.Future[OSError | None], error: OSError | None) -> None:
    if not locked.done():
        locked.set_result(error)


async def _locked(path: str, holder: Holder, patience: float) -> _LockFile:
    try:
        return await _lock_current(path, holder, asyncio.get_running_loop().time() + patience)
    except OSError as error:
        raise SessionError(
            f"the lock {path} cannot be taken ({error.strerror}): Handrail's files need a local disk with room on it"
        ) from error


async def _lock_current(path: str, holder: Holder, deadline: float) -> _LockFile:
    while True:
        file = _LockFile(path)
        try:
            if not file.lock():
                await _wait_for(file, deadline)
            if file.is_current:
                file.write_note(holder)
                return file
        except BaseException:
            file.close()
            raise
        file.close()


async def _wait_for(file: _LockFile, deadline: float) -> None:
    remaining = deadline - asyncio.get_running_loop().time()
    if remaining <= 0:
        raise SessionBusy(file.describe_holder())
    try:
        async with asyncio.timeout(remaining):
            await file.lock_when_free()
    except TimeoutError:
        raise SessionBusy(file.describe_holder()) from None


def _path(directory: str, name: str) -> str:
    """Names are ids, as a rule; one that cannot be a file name is replaced by its hash."""
    if not _SAFE_NAME.fullmatch(name):
        name = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return os.path.join(directory, name + _SUFFIX)


def _read_note(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, _NOTE_LIMIT, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _describe(name: str, holder: Holder | None) -> str:
    if holder is None:
        return f"another process has the session {name}: use it there, or end it there first"
    if holder.pid == os.getpid():
        return f"this process has the session {name} already"
    if _is_gone(holder.pid):
        return (
            f"the session {name} belonged to process {holder.pid}, which is gone, but what its CLI started has not "
            "ended yet: try again in a few seconds"
        )
    return f"process {holder.pid} has the session {name}: use it there, or end it there first"


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
