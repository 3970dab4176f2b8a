"""A session for programs: one event per line of JSON. What is for a person goes to another console."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import BinaryIO

from rich.console import Console

from handrail.cli.showing.progress import Progress
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.summary import Ending
from handrail.events.codec import encode_event
from handrail.events.model import Completed, Delta, Event

__all__ = ["JsonView"]


class JsonView:
    """Implements `handrail.cli.surface.View`: each event on `out`, deltas only if they are wanted."""

    said = ""
    files: Collection[str] = ()

    def __init__(
        self,
        out: BinaryIO,
        console: Console,
        *,
        deltas: bool = False,
        on_broken_pipe: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.progress = Progress(clock=clock)
        self.screen = Screen(console)
        self._out = out
        self._deltas = deltas
        self._on_broken_pipe = on_broken_pipe

    def show(self, item: Event | Delta) -> None:
        self.progress.receive(item)
        if isinstance(item, Delta) and not self._deltas:
            return
        with self.screen.written_past():
            self._write(encode_event(item) + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            self._out.write(line)
            self._out.flush()
        except BrokenPipeError:
            self._on_broken_pipe()

    def notice(self, colour: str, text: str) -> None:
        self.screen.show(notice(colour, text), kind="notice")

    def hide_prompt(self, uuid: str) -> None:
        pass  # whoever reads events wants them all

    def draw(self) -> None:
        self.screen.draw()

    def stop(self) -> None:
        self.screen.stop()

    def run_ended(self, event: Completed) -> None:
        pass

    def end(self, ending: Ending, *, resume: Collection[str] = ()) -> None:
        self.stop()  # how it ended is an event, and was written as one
