"""A bell that every process of this user can ring, and that wakes all who listen for it. Nobody polls.

Each listener has a named pipe in a common directory; ringing writes a byte into every one of them. A pipe whose
listener is gone has no reader any more: whoever rings next removes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
from collections.abc import Callable
from uuid import uuid4

from handrail.sessions.owning.private_files import private_directory

__all__ = ["Bell"]

logger = logging.getLogger("handrail.guards")

PIPE = ".bell"
ENOUGH = 4096


class Bell:
    """Rings in all processes that listen on the same directory, this one included."""

    def __init__(self, directory: str | os.PathLike[str], on_ring: Callable[[], None]) -> None:
        self._directory = os.fspath(directory)
        self._on_ring = on_ring
        self._path = os.path.join(self._directory, f"{uuid4().hex}{PIPE}")
        self._reader: int | None = None

    def listen(self) -> None:
        """Begin to listen, on the running event loop."""
        private_directory(self._directory)
        # Under its name only once it is open: a pipe without a reader would be removed.
        hidden = self._path.removesuffix(PIPE)
        os.mkfifo(hidden, 0o600)
        # Open for both, so that it never comes to its end while nobody rings.
        self._reader = os.open(hidden, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        os.rename(hidden, self._path)
        asyncio.get_running_loop().add_reader(self._reader, self._rung)

    def ring(self) -> None:
        """Wake everybody. Never blocks, and never raises."""
        try:
            names = os.listdir(self._directory)
        except OSError:
            return  # nobody has ever listened
        for name in names:
            if name.endswith(PIPE):
                _write(os.path.join(self._directory, name))

    def close(self) -> None:
        """Listen no more. Idempotent."""
        reader, self._reader = self._reader, None
        if reader is not None:
            asyncio.get_running_loop().remove_reader(reader)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            os.close(reader)

    def _rung(self) -> None:
        if self._reader is None:
            return
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, ENOUGH)
        self._on_ring()


def _write(path: str) -> None:
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nobody reads it any more
            with contextlib.suppress(OSError):
                os.unlink(path)
        return
    try:
        os.write(pipe, b"!")
    except BlockingIOError:
        pass  # it is full: its reader will wake up anyway
    except OSError as error:
        logger.debug("a listener could not be woken: %s", error)
    finally:
        os.close(pipe)
