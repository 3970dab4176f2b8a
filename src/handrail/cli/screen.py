"""What a run shows on a terminal: lines that stay, and below them a part that still changes.

On anything but a terminal only the lines that stay are written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from handrail.cli.layout import Tail
from handrail.cli.style import MARKS, QUIET, READING_WIDTH, RUNNING

__all__ = ["Screen"]

_PARAGRAPHS = frozenset({"text", "thinking"})
_REFRESH_SECONDS = 0.08
_SPARE_ROWS = 3
_SLOW = 2


class Screen:
    """Owns the console of a run."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self._clock = clock
        self._live: Live | None = None
        self._can_change = console.is_terminal and not console.is_dumb_terminal
        self._preview: RenderableType | None = None
        self._status = ""
        self._since = clock()
        self._kind = ""
        self._refreshed = 0.0
        self._drawn: tuple[int, str, int] | None = None
        self._held = False
        self._put_off: list[tuple[str, RenderableType]] = []

    # ------------------------------------------------------------ lines that stay

    def show(self, renderable: RenderableType, *, kind: str) -> None:
        """Write something for good. Paragraphs, and what is of another kind than what came before, stand apart."""
        if self._held:
            self._put_off.append((kind, renderable))
            return
        if self._kind and (kind != self._kind or kind in _PARAGRAPHS):
            self.console.print()
        self._kind = kind
        # In a group, since the console forgets of a bare text that it must not be wrapped.
        self.console.print(Group(renderable), width=min(self.console.width, READING_WIDTH))

    def show_for_copying(self, text: Text) -> None:
        """Write a line that is not wrapped here, so that it can be copied whole."""
        self.console.print(text, soft_wrap=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """While the person is asked: what else there is to show waits."""
        self.stop()
        if self._kind:
            self.console.print()
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self._kind = "tools"  # what follows is mostly the result of the call that was asked about
            self._since = self._clock()
            put_off, self._put_off = self._put_off, []
            for kind, renderable in put_off:
                self.show(renderable, kind=kind)

    # ------------------------------------------------------------ the part that changes

    def preview(self, renderable: RenderableType | None) -> None:
        """Show something that is not finished, in place of what was shown so before."""
        self._preview = renderable

    def status(self, text: str) -> None:
        """Say what is going on now; how long it takes is counted from here."""
        if text != self._status:
            self._status = text
            self._since = self._clock()

    def tick(self) -> None:
        """Bring the changing part up to date, if that is due. To be called often."""
        now = self._clock()
        if not self._can_change or self._held or now - self._refreshed < _REFRESH_SECONDS:
            return
        due = (id(self._preview), self._status, int(now - self._since))
        if due == self._drawn and self._live is not None:
            return
        self._drawn = due
        self._refreshed = now
        if self._live is None:
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                vertical_overflow="crop",
            )
            self._live.start()
        self._live.update(self._changing(), refresh=True)

    def stop(self) -> None:
        """Take the changing part away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _changing(self) -> RenderableType:
        parts: list[RenderableType] = [Text()]
        if self._preview is not None:
            parts.append(Tail(self._preview, max(1, self.console.height - _SPARE_ROWS)))
        if self._status:
            parts.append(self._status_line())
        return Group(*parts)

    def _status_line(self) -> Text:
        seconds = int(self._clock() - self._since)
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{MARKS[RUNNING]} {self._status}", RUNNING)
        if seconds >= _SLOW:
            line.append(f"  {seconds} s · Ctrl-C interrupts", QUIET)
        return line
