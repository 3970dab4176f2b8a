"""What Claude says and thinks: as it is written, and then for good."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType

from handrail.cli.showing.layout import Deferred, Tail
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.streamed import StreamedText
from handrail.cli.showing.style import markdown, prose
from handrail.events.model import Delta, Text, Thinking

__all__ = ["Speech"]

_SHOWN_THOUGHTS = 4


class Speech:
    """The main conversation: subagents write at the same time, and what they say is shown when it is whole.

    `before` is called before anything is written for good. Thoughts stay only if they are `kept`.
    """

    def __init__(self, screen: Screen, before: Callable[[], None], *, kept: bool, formatted: bool) -> None:
        self.last = ""
        """What Claude said last."""
        self._screen = screen
        self._before = before
        self._kept = kept
        self._formatted = formatted
        self._growing: dict[str, tuple[str, StreamedText]] = {}

    def grow(self, delta: Delta) -> None:
        """A piece of a text came."""
        if delta.parent is not None or delta.kind == "input":
            return
        _, text = self._growing.setdefault(delta.block, (delta.kind, StreamedText()))
        self._say(delta.kind, text.place(delta.offset, delta.text))
        self._screen.put("preview", self._preview(delta.kind, text))

    def finish(self, event: Text | Thinking) -> None:
        """A text is whole."""
        kind = "text" if isinstance(event, Text) else "thinking"
        _, text = self._growing.pop(event.block, (kind, StreamedText()))
        if kind == "text":
            self.last = event.text
        self._say(kind, text.finish(event.text))
        growing = next(iter(self._growing.values()), None)
        self._screen.put("preview", None if growing is None else self._preview(*growing))

    def settle(self) -> None:
        """What was begun will not be finished: what there is of it stays."""
        for block, (kind, text) in list(self._growing.items()):
            del self._growing[block]
            self._say(kind, text.finish())
        self._screen.put("preview", None)

    def add(self, text: str) -> None:
        """Something was said that was not told as a text."""
        self.last = text
        self._say("text", text)

    def words(self, kind: str, text: str) -> RenderableType:
        """A text as it is shown."""
        if kind == "thinking":
            return markdown(text, "dim italic")
        return markdown(text) if self._formatted else prose(text)

    def _say(self, kind: str, text: str) -> None:
        if text.strip() and (kind == "text" or self._kept):
            self._before()
            self._screen.show(self.words(kind, text.strip("\n")), kind=kind)

    def _preview(self, kind: str, text: StreamedText) -> RenderableType:
        """What is being written; of thoughts that will not stay, the end."""
        shown = Deferred(lambda: self.words(kind, text.preview()))
        return shown if kind == "text" or self._kept else Tail(shown, _SHOWN_THOUGHTS)
