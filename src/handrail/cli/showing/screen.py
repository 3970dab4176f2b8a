"""What a live session shows on a terminal: lines that stay, and below them a part that still changes.

On anything but a terminal only the lines that stay are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal, TypeAlias

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from handrail.cli.showing.region import Region, Row
from handrail.cli.showing.style import READING_WIDTH

__all__ = ["Screen", "Slot"]

Slot: TypeAlias = Literal["preview", "ask", "queued"]

_PARAGRAPHS = frozenset({"text", "thinking"})
_QUEUED_ROWS = 4


class Screen:
    """Owns a console. In the changing part, `running` makes what is at its top, `status` the line at its bottom."""

    def __init__(
        self,
        console: Console,
        *,
        status: Callable[[], RenderableType | None] = lambda: None,
        running: Callable[[], RenderableType | None] = lambda: None,
    ) -> None:
        self.console = console
        self._status = status
        self._running = running
        self._obeys = console.is_terminal and not console.is_dumb_terminal
        self.can_change = self._obeys
        self._region = Region(console)
        self._slots: dict[Slot, RenderableType] = {}
        self._input: Callable[[int], tuple[Text, int]] | None = None
        self._rendered: dict[Slot, tuple[RenderableType, int, list[Row]]] = {}
        self._kind = ""
        self._put_off: list[tuple[str, RenderableType]] | None = None
        self._is_lent = False
        self._if_too_tall: Callable[[], None] | None = None

    # ------------------------------------------------------------ lines that stay

    def show(self, renderable: RenderableType, *, kind: str, now: bool = False) -> None:
        """Write something for good. Paragraphs, and what is of another kind than what came before, stand apart.

        With `now` it is written although something is held.
        """
        if self._put_off is not None and not now:
            self._put_off.append((kind, renderable))
            return
        apart = bool(self._kind) and (kind != self._kind or kind in _PARAGRAPHS)
        self._kind = kind
        # In a group, since the console forgets of a bare text that it must not be wrapped.
        self._write(Group(*([Text()] if apart else []), renderable))

    def show_for_copying(self, text: Text) -> None:
        """Write a line that is not wrapped here, so that it can be copied whole."""
        with self._above_the_region():
            self.console.print(text, soft_wrap=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """While something that was written for good must stay on the screen: what else there is to show waits."""
        self._put_off = []
        try:
            yield
        finally:
            put_off, self._put_off = self._put_off, None
            for kind, renderable in put_off:
                self.show(renderable, kind=kind)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """While another program has the terminal."""
        self.stop()
        self._is_lent = True
        waits = nullcontext() if self._put_off is not None else self.held()
        try:
            with waits:
                yield
        finally:
            self._is_lent = False
            self.draw()

    @contextmanager
    def written_past(self) -> Iterator[None]:
        """While something else writes to the same terminal."""
        with self._above_the_region():
            yield

    def _write(self, renderable: RenderableType) -> None:
        with self._above_the_region():
            self.console.print(renderable, width=self._width)

    @contextmanager
    def _above_the_region(self) -> Iterator[None]:
        drawn = self._region.is_drawn
        with self.console:
            self._region.erase()
            yield
            if drawn:
                self.draw()

    @property
    def _width(self) -> int:
        return min(self.console.width, READING_WIDTH)

    # ------------------------------------------------------------ the part that changes

    def put(self, slot: Slot, renderable: RenderableType | None) -> None:
        """Show something in place of what was there before, or nothing."""
        if renderable is None:
            self._slots.pop(slot, None)
        else:
            self._slots[slot] = renderable

    def put_ask(self, ask: RenderableType, *, if_too_tall: Callable[[], None]) -> None:
        """Show an ask. Nothing of it may be cut off: if it does not fit, now or later, `if_too_tall` is called."""
        self.put("ask", ask)
        self._if_too_tall = if_too_tall

    def put_input(self, line: Callable[[int], tuple[Text, int]] | None) -> None:
        """What is being typed: for a width, the line and the column of the cursor in it."""
        self._input = line

    def fits(self, renderable: RenderableType, *, beside: int = 0) -> bool:
        """Whether it can be shown whole in the changing part, with so many further rows."""
        return self.can_change and len(self._lines(renderable)) + beside + 3 <= self.console.height

    def draw(self) -> None:
        """Bring the changing part up to date. To be called often."""
        if not self.can_change or self._is_lent:
            return
        if "ask" in self._slots and self._if_too_tall is not None and len(self._slot("ask")) > self._room():
            too_tall, self._if_too_tall = self._if_too_tall, None
            too_tall()
        rows, cursor = self._composed()
        self._region.draw(rows, cursor)

    def control(self, code: str) -> None:
        """Send the terminal a sequence that shows nothing."""
        if self._obeys:
            self.console.file.write(code)
            self.console.file.flush()

    def stop(self) -> None:
        """Take the changing part away."""
        self._region.erase()

    def close(self) -> None:
        """Nothing will change any more."""
        self.stop()
        self.can_change = False

    def _composed(self) -> tuple[list[Row], int | None]:
        below, cursor = self._below()
        room = self._room(below)
        if "ask" in self._slots:
            above = self._slot("ask")
        else:
            running = self._running()
            above = [*(self._lines(running) if running is not None else []), *self._slot("preview")]
        return [[], *above[-room:], *below], cursor

    def _room(self, below: list[Row] | None = None) -> int:
        """How many rows there are above what is always there, of which one stays empty."""
        always = self._below()[0] if below is None else below
        return max(1, self.console.height - 2 - len(always))

    def _below(self) -> tuple[list[Row], int | None]:
        """The rows that are always there, and the column of the cursor in the last one."""
        status = self._status()
        rows = [*self._slot("queued")[-_QUEUED_ROWS:], *(self._lines(status) if status is not None else [])]
        if self._input is None:
            return rows, None
        line, cursor = self._input(self.console.width)
        return [*rows, *self._lines(line)], cursor

    def _slot(self, slot: Slot) -> list[Row]:
        renderable = self._slots.get(slot)
        if renderable is None:
            return []
        drawn = self._rendered.get(slot)
        if drawn is None or drawn[0] is not renderable or drawn[1] != self._width:
            drawn = self._rendered[slot] = renderable, self._width, self._lines(renderable)
        return drawn[2]

    def _lines(self, renderable: RenderableType) -> list[Row]:
        options: ConsoleOptions = self.console.options.update(width=self._width, height=None)
        return list(self.console.render_lines(Group(renderable), options, pad=False))
