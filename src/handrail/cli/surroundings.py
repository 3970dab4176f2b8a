"""What holds while a session is followed: signals are heard, the terminal is taken, the screen is kept up to date."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from types import TracebackType

from handrail.cli.keyboard.keys import PASTE_OFF, PASTE_ON
from handrail.cli.showing.style import NEEDS_YOU
from handrail.cli.surface import Surface, View

__all__ = ["Surroundings"]

TICK_SECONDS = 0.05
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Surroundings:
    """As a context manager. Leaves everything as it was found, however it is left."""

    def __init__(self, surface: Surface, *, on_interrupt: Callable[[], None], on_kill: Callable[[int], None]) -> None:
        self._surface = surface
        self._on_interrupt = on_interrupt
        self._on_kill = on_kill
        self._ticking: asyncio.Task[None] | None = None
        self._handler: _NoticeHandler | None = None
        self._propagated = True

    def __enter__(self) -> None:
        self._hear()
        self._take_terminal()
        self._show_warnings()
        self._ticking = asyncio.create_task(self._tick())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        self._surface.stop()
        self._give_terminal_back()
        self._hide_warnings()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTSTP, *_ENDING):
            loop.remove_signal_handler(number)

    async def _tick(self) -> None:
        while True:
            self._surface.draw()
            await asyncio.sleep(TICK_SECONDS)

    # ------------------------------------------------------------ signals

    def _hear(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        loop.add_signal_handler(signal.SIGTSTP, self._pause)
        for number in _ENDING:
            loop.add_signal_handler(number, self._on_kill, number)

    def _pause(self) -> None:
        """Ctrl-Z: the shell gets its terminal as it was, and we ours when we go on."""
        self._surface.stop()
        self._give_terminal_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take_terminal()
        self._surface.draw()

    # ------------------------------------------------------------ the terminal

    def _take_terminal(self) -> None:
        if self._surface.keyboard is not None:
            self._surface.keyboard.terminal.take()
            self._surface.desk.control(PASTE_ON)

    def _give_terminal_back(self) -> None:
        if self._surface.keyboard is not None:
            self._surface.desk.control(PASTE_OFF)
            self._surface.keyboard.terminal.give_back()

    # ------------------------------------------------------------ warnings

    def _show_warnings(self) -> None:
        """Warnings of the libraries are notices here."""
        logger = logging.getLogger("handrail")
        self._handler = _NoticeHandler(self._surface.view, asyncio.get_running_loop())
        self._propagated, logger.propagate = logger.propagate, False
        logger.addHandler(self._handler)

    def _hide_warnings(self) -> None:
        logger = logging.getLogger("handrail")
        if self._handler is not None:
            logger.removeHandler(self._handler)
        logger.propagate = self._propagated


class _NoticeHandler(logging.Handler):
    """Shows log records of warnings and worse; they may come from any thread."""

    def __init__(self, view: View, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._view = view
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        self._loop.call_soon_threadsafe(self._view.notice, NEEDS_YOU, record.getMessage())
