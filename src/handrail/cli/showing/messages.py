"""Messages to Claude: below everything else until they are taken up, and then in their place."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.showing.amounts import count
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import FAILED, QUIET, RUNNING, prose
from handrail.events.model import Prompt
from handrail.events.view import content_text

__all__ = ["Messages"]

_MARK = "› "
_SHOWN_LINES = 6


class Messages:
    """Those that wait."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._hidden: set[str] = set()

    def hide(self, uuid: str) -> None:
        """Whoever wrote this message has it before their eyes."""
        self._hidden.add(uuid)

    def receive(self, event: Prompt) -> RenderableType | None:
        """What to show of an event: the message, if it waits no longer."""
        if event.uuid in self._hidden:
            return None
        if event.content is not None:
            self._waiting[event.uuid] = content_text(event.content)
        if event.state in ("queued", "sent") or event.uuid not in self._waiting:
            return None
        text = self._waiting.pop(event.uuid)
        if event.state in ("dropped", "lost"):
            why = f": {event.reason}" if event.reason else ""
            return notice(FAILED, f"not taken up{why}: {text}")
        return Hanging(Text(_MARK, style=RUNNING), Group(*_folded(text)))

    def left(self) -> Iterator[str]:
        """Those that were never taken up, now that it is over."""
        yield from (" ".join(text.split()) for text in self._waiting.values())

    def waiting(self) -> RenderableType | None:
        """Those that wait, each on a line."""
        lines = [Hanging(Text(_MARK, style=QUIET), _in_short(text)) for text in self._waiting.values()]
        return Group(*lines) if lines else None


def _folded(text: str) -> Iterator[Text]:
    lines = text.strip().split("\n")
    shown = lines if len(lines) <= _SHOWN_LINES + 1 else lines[:_SHOWN_LINES]
    yield prose("\n".join(shown), "bold")
    if len(shown) < len(lines):
        yield Text(f"… {count(len(lines) - len(shown), 'more line')}", style=QUIET)


def _in_short(text: str) -> Text:
    shown = prose(text.replace("\n", " ⏎ ") + "  (waits for its turn)", QUIET)
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown
