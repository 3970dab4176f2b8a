"""One bridge per bot: a lock that the kernel holds for as long as this process lives.

Two processes that ask Telegram for the messages of one bot take them from each other. The lock keeps them apart on one
machine; for other machines there is only Telegram's own refusal (`handrail.telegram.polling`).
"""

from __future__ import annotations

import fcntl
import os
from types import TracebackType
from typing import Self

from handrail.errors import HandrailError
from handrail.sessions.owning.private_files import private_directory

__all__ = ["BotInUse", "BotLease"]

NOTE_LIMIT = 64


class BotInUse(HandrailError):
    """Another process of this machine runs the bridge of this bot; `pid` is its number, if it said so."""

    def __init__(self, message: str, *, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class BotLease:
    """The right to speak for a bot. Held inside `with`; raises `BotInUse` if somebody else has it."""

    def __init__(self, directory: str, bot_id: int) -> None:
        self._path = os.path.join(directory, f"telegram-{bot_id}.lock")
        self._bot_id = bot_id
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        private_directory(os.path.dirname(self._path))
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(descriptor)
            os.close(descriptor)
            raise BotInUse(self._in_use_by(pid), pid=pid) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)  # for messages only: it proves nothing
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _in_use_by(self, pid: int | None) -> str:
        if pid == os.getpid():
            return f"this process runs the bridge of bot {self._bot_id} already"
        who = f"process {pid}" if pid is not None else "another process"
        return f"{who} runs the bridge of bot {self._bot_id} on this machine already: end it first, or leave it to it"


def _pid_in(descriptor: int) -> int | None:
    note = os.pread(descriptor, NOTE_LIMIT, 0)
    return int(note) if note.isdigit() else None
