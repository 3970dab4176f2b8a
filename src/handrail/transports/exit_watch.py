"""Notice that a child process has exited, without waiting for its pipes to close.

Processes that the child started may hold its pipes open for ever, so end-of-file says nothing about the
child itself.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    import subprocess

__all__ = ["ExitWatch", "watch_exit", "watch_exit_by_pidfd", "watch_exit_by_thread"]

OnExit = Callable[[int], None]
"""Called once, in the event loop, with the exit code; the process has been reaped by then."""

StopWatching = Callable[[], None]

ExitWatch = Callable[["asyncio.AbstractEventLoop", "subprocess.Popen[bytes]", OnExit], StopWatching]
"""Starts to watch; the result ends the watch before the process has exited."""


def watch_exit(loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], on_exit: OnExit) -> StopWatching:
    """Watch in the cheapest way that this system offers."""
    try:
        return watch_exit_by_pidfd(loop, process, on_exit)
    except OSError:
        # Not Linux, an old kernel, a sandbox that forbids it, or no descriptor left.
        return watch_exit_by_thread(loop, process, on_exit)


def watch_exit_by_pidfd(
    loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], on_exit: OnExit
) -> StopWatching:
    """Linux: a descriptor that becomes readable at exit. No thread, no signal handler."""
    if sys.platform != "linux":
        raise OSError("only Linux has process descriptors")
    pidfd = os.pidfd_open(process.pid)
    watching = True

    def stop() -> None:
        nonlocal watching
        if watching:
            watching = False
            loop.remove_reader(pidfd)
            os.close(pidfd)

    def exited() -> None:
        stop()
        on_exit(process.wait())

    loop.add_reader(pidfd, exited)
    return stop


def watch_exit_by_thread(
    loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], on_exit: OnExit
) -> StopWatching:
    """Everywhere: a thread that waits."""
    watching = True

    def stop() -> None:
        nonlocal watching
        watching = False

    def exited(exit_code: int) -> None:
        if watching:
            stop()
            on_exit(exit_code)

    def wait() -> None:
        exit_code = process.wait()
        try:
            loop.call_soon_threadsafe(exited, exit_code)
        except RuntimeError:
            return  # The loop is closed: nobody is left to tell.

    threading.Thread(target=wait, name=f"handrail-wait-{process.pid}", daemon=True).start()
    return stop
