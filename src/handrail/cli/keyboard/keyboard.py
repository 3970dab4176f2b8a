"""Gives each key to whoever it is meant for: the ask that is on the screen, or the line that is being typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rich.text import Text

from handrail.cli.keyboard.keys import Key
from handrail.cli.keyboard.line_editor import LineEditor
from handrail.cli.keyboard.terminal import Terminal
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import QUIET, RUNNING

__all__ = ["Keyboard", "PromptInterrupted"]

SETTLE_SECONDS = 0.3
"""For so long no key was pressed before a key counts as an answer: it may have been meant for something else."""
_MARK = "› "


class PromptInterrupted(Exception):
    """Ctrl-C was pressed at an ask: deny, and stop the turn."""


class Keyboard:
    """One person's keys. Implements `handrail.cli.asking.sheet.Hand`.

    `on_line` gets each line that is sent, `on_leave` hears of Ctrl-D, `on_gone` that the terminal is gone.
    """

    def __init__(
        self,
        terminal: Terminal,
        screen: Screen,
        *,
        on_line: Callable[[str], None] = lambda line: None,
        on_leave: Callable[[], None] = lambda: None,
        on_gone: Callable[[], None] = lambda: None,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self.terminal = terminal
        self.on_line = on_line
        self.on_leave = on_leave
        self.on_gone = on_gone
        self._screen = screen
        self._settle_seconds = settle_seconds
        self._line = LineEditor()
        self._pressed = asyncio.Event()
        self._settling = False
        self._asking = False
        self._wanted: asyncio.Future[Key] | None = None
        self._kept: list[Key] = []
        self._is_gone = False

    async def run(self) -> None:
        """Read keys until the terminal is gone."""
        async for key in self.terminal.keys():
            self._give(key)
        self._is_gone = True
        self._answer(EOFError())
        self.on_gone()

    # ------------------------------------------------------------ for an ask

    async def settled(self) -> None:
        """Wait until no key has been pressed for a moment, and no line is being typed."""
        self._settling = True
        try:
            while True:
                self._pressed.clear()
                if self._is_gone or (await self._is_quiet() and not self._line.text):
                    break
        finally:
            self._settling = False
        self._asking = True

    async def _is_quiet(self) -> bool:
        try:
            async with asyncio.timeout(self._settle_seconds):
                await self._pressed.wait()
        except TimeoutError:
            return True
        return False

    def released(self) -> None:
        """Nobody is asked any more: keys are for the line."""
        self._asking = False
        self._kept.clear()

    async def key(self) -> Key:
        """The next key for the ask."""
        if self._kept:
            return self._kept.pop(0)
        if self._is_gone:
            raise EOFError
        self._wanted = asyncio.get_running_loop().create_future()
        try:
            return await self._wanted
        finally:
            self._wanted = None

    async def edit(self, text: str, suffix: str) -> str:
        """`text` as the person changed it in their editor."""
        return await self.terminal.edit(text, suffix)

    def interrupt(self) -> bool:
        """Ctrl-C was pressed: whether it was meant for an ask, or for the editor."""
        self._line.clear()
        self._show_line()
        return self.terminal.is_lent or self._answer(PromptInterrupted())

    def _answer(self, what: Key | Exception) -> bool:
        """Give something to whoever waits for a key; whether somebody did."""
        if self._wanted is None or self._wanted.done():
            return False
        if isinstance(what, Key):
            self._wanted.set_result(what)
        else:
            self._wanted.set_exception(what)
        return True

    # ------------------------------------------------------------ for the line

    def _give(self, key: Key) -> None:
        self._pressed.set()
        if key.name == "ctrl-d" and not self._line.text:
            self.on_leave()
        elif self._asking:
            if not self._answer(key):
                self._kept.append(key)
        elif self._line.text or not self._settling:
            self._type(key)

    def _type(self, key: Key) -> None:
        if key.name == "enter":
            line = self._line.take().strip()
            if line:
                self.on_line(line)
        elif key.name == "escape":
            self._line.clear()
        else:
            self._line.press(key)
        self._show_line()

    def _show_line(self) -> None:
        self._screen.put_input(self._row if self._line.text else None)
        self._screen.draw()

    def _row(self, width: int) -> tuple[Text, int]:
        shown, at = self._line.row(max(1, width - len(_MARK)))
        hint = "  Enter sends, Esc drops it" if self._settling else ""
        return Text.assemble((_MARK, RUNNING), shown, (hint, QUIET)), len(_MARK) + at
