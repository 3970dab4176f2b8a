"""Has the bridge of this machine let go of its bot for a while: Telegram gives a bot's messages to one reader only.

Who wants that holds a kernel lock, so that the bridge goes on by itself also after whoever held it was killed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from handrail.cli.telegramming.places import bridge_database, bridge_lease
from handrail.places import Places
from handrail.sessions.owning.private_files import private_directory
from handrail.telegram.lease import BotInUse

__all__ = ["is_paused", "paused"]

LOOK_AGAIN: Final = 0.1


@contextmanager
def paused(places: Places, bot_id: int, *, patience: float) -> Iterator[None]:
    """Speak for the bot meanwhile. Raises `BotInUse` if whoever does now does not let go of it."""
    path = _path(places, bot_id)
    private_directory(os.path.dirname(path))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with _lease_when_free(places, bot_id, time.monotonic() + patience):
            yield
    finally:
        os.close(descriptor)


def is_paused(places: Places, bot_id: int) -> bool:
    """Whether somebody wants the bridge of this bot to rest."""
    try:
        descriptor = os.open(_path(places, bot_id), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lease_when_free(places: Places, bot_id: int, deadline: float) -> ExitStack:
    """The right to speak for the bot, to be used with `with`."""
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(bridge_lease(places, bot_id))
                return held.pop_all()
            except BotInUse:
                if time.monotonic() > deadline:
                    raise
            time.sleep(LOOK_AGAIN)


def _path(places: Places, bot_id: int) -> str:
    return f"{bridge_database(places, bot_id)}.pause"
