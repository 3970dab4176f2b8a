"""The place at the bottom of the screen where one ask is shown and answered with keys."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Protocol, Self

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.asking.menu import HELP_KEY, Choice, Menu
from handrail.cli.keyboard.keys import Key
from handrail.cli.keyboard.line_editor import LineEditor
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import MARKS, NEEDS_YOU, QUIET, exact, prose

__all__ = ["Hand", "Sheet"]

_MENU_ROWS = 6
"""What is kept free below an ask for its answers."""


class Hand(Protocol):
    """The person's side of the terminal."""

    async def key(self) -> Key:
        """The next key. Raises EOFError if there will be none, `PromptInterrupted` on Ctrl-C."""

    async def settled(self) -> None:
        """Wait until what is pressed can be meant for what is on the screen now."""

    async def edit(self, text: str, suffix: str) -> str:
        """`text` as the person changed it in their editor. Raises OSError if that fails."""

    def released(self) -> None:
        """Keys are no longer for an ask."""


class Sheet:
    """Shows an ask and what can be answered; as a context manager, for one ask.

    An ask is in the part of the screen that changes, and vanishes with it; one that is too tall for that is written
    for good, and what else there is to show waits until it is answered.
    """

    def __init__(self, screen: Screen, hand: Hand) -> None:
        self._screen = screen
        self._hand = hand
        self._panel: RenderableType | None = None
        self._pinned: RenderableType | None = None
        self._below: list[RenderableType] = []
        self._hint = ""
        self._settled = False
        self._is_held = False
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hand.released()
        self._screen.put("ask", None)
        self._screen.put_input(None)
        self._screen.draw()
        self._held.close()

    # ------------------------------------------------------------ showing

    def show(self, panel: RenderableType, *, pinned: RenderableType | None = None, beside: int = _MENU_ROWS) -> None:
        """Show the ask, with room for so many rows beside it. `pinned` is a shorter form, if it does not fit."""
        self._below = []
        self._pinned = pinned
        if self._screen.fits(panel, beside=beside):
            self._panel = panel
        else:
            self._panel = pinned
            self._hold()
            self.write(panel)
        self._draw()

    def show_again(self, panel: RenderableType, *, pinned: RenderableType | None = None) -> None:
        """Show the same ask with a mark moved; what was written for good is not written again."""
        self._panel = pinned if self._is_held else panel
        self._pinned = pinned
        self._draw()

    def offer(self, *below: RenderableType) -> None:
        """Show what can be answered, as soon as keys count."""
        self._below = list(below)
        if self._settled:
            self._show_below()

    def hint(self, text: str) -> None:
        """Say something to the person, until the next key."""
        self._hint = text
        if not self._screen.can_change:
            self._screen.show(exact(text, QUIET), kind="ask")
        self._draw()

    def tell(self, colour: str, text: str) -> None:
        """Say for good what was answered."""
        self._screen.show(Hanging(Text(f"{MARKS[colour]} ", style=colour), exact(text)), kind="tools", now=True)

    def write(self, renderable: RenderableType) -> None:
        """Show something for good, above the ask."""
        self._screen.show(renderable, kind="ask", now=True)

    def keep(self) -> None:
        """Let the ask stay on the screen when it is answered: it is worth reading again."""
        if self._panel is not None and self._screen.can_change:
            self.write(self._panel)
            self._panel = None

    def _hold(self) -> None:
        """What else there is to show would push the ask off the screen."""
        if self._screen.can_change and not self._is_held:
            self._is_held = True
            self._held.enter_context(self._screen.held())

    def _show_below(self) -> None:
        if not self._screen.can_change:
            for renderable in self._below:
                self._screen.show(renderable, kind="ask")
        self._draw()

    def _draw(self) -> None:
        hint = [exact(self._hint, QUIET)] if self._hint else []
        below = [*self._below, *hint] if self._settled else []
        shown = [*([self._panel] if self._panel is not None else []), *below]
        self._screen.put_ask(Group(*shown), if_too_tall=self._write_it)
        self._screen.draw()

    def _write_it(self) -> None:
        """There is not enough room for the ask and its answers: the ask is written whole."""
        if self._panel is not None and self._panel is not self._pinned:
            self._hold()
            self.write(self._panel)
            self._panel = self._pinned
            self._draw()

    # ------------------------------------------------------------ keys

    async def key(self) -> Key:
        """The next key that is meant for this ask."""
        if not self._settled:
            # What is pressed before the answers are to be seen was meant for something else.
            await self._hand.settled()
            self._settled = True
            self._show_below()
        key = await self._hand.key()
        self._hint = ""
        return key

    async def choose(self, *choices: Choice, above: RenderableType | None = None) -> str:
        """The key of one of these choices, which are shown below `above`."""
        menu = Menu(choices)
        before = [above] if above is not None else []
        self.offer(*before, menu.short())
        while True:
            key = await self.key()
            chosen = menu.chosen(key)
            if chosen is not None:
                return chosen
            if key.name == HELP_KEY:
                self._explain([*before, menu.explained()])
            else:
                self.hint(menu.reminder())

    def _explain(self, explained: list[RenderableType]) -> None:
        """Show what each key does: in place of the short form if that fits, else for good."""
        panel = [self._panel] if self._panel is not None else []
        if self._screen.fits(Group(*panel, *explained)):
            self.offer(*explained)
        else:
            self.write(Group(*explained))

    async def line(self, prompt: str) -> str | None:
        """A line that is typed; None if the person goes back instead."""
        editor = LineEditor()
        self._screen.put_input(lambda width: _typed(prompt, editor, width))
        self.offer(exact("Enter sends it, Esc goes back.", QUIET))
        try:
            while True:
                key = await self.key()
                if key.name == "enter":
                    return editor.take().strip()
                if key.name == "escape":
                    return None
                editor.press(key)
                self._draw()
        finally:
            self._screen.put_input(None)

    async def edit(self, text: str, suffix: str) -> str:
        """`text` as the person changed it in their editor, which has the screen meanwhile. Raises OSError."""
        with self._screen.lent():
            return await self._hand.edit(text, suffix)


def _typed(prompt: str, editor: LineEditor, width: int) -> tuple[Text, int]:
    shown = prose(prompt, f"bold {NEEDS_YOU}")
    begins = shown.cell_len
    row, at = editor.row(max(1, width - begins))
    return Text.assemble(shown, row), begins + at
