"""What the written forms of a session share: the kinds of items that each has to write, and their signs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final

from handrail.events.model import Text, Thinking
from handrail.sessions.exporting.remarks import Tone
from handrail.sessions.exporting.story import Asked, Call, Item, Message, Remark, RunEnd, RunStart, Speech

__all__ = ["SIGNS", "ItemWriter"]

SIGNS: Final[dict[Tone, str]] = {
    "quiet": "·",
    "running": "⏺",
    "done": "✓",
    "failed": "✗",
    "needs_you": "⚠",
    "plan": "▤",
}


class ItemWriter(ABC):
    """Writes the items of a story, each kind with a method of its own."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def write(self, item: Item) -> Iterator[str]:
        """The pieces of text of an item."""
        match item:
            case RunStart():
                return self._run_start(item)
            case RunEnd():
                return self._run_end(item)
            case Message():
                return self._message(item)
            case Speech(event=event, within=within):
                return self._thought(event) if isinstance(event, Thinking) else self._speech(event, within)
            case Remark():
                return self._remark(item)
            case Asked():
                return self._ask(item, inside_call=False)
            case Call():
                return self._call(item)

    @abstractmethod
    def _run_start(self, item: RunStart) -> Iterator[str]: ...

    @abstractmethod
    def _run_end(self, item: RunEnd) -> Iterator[str]: ...

    @abstractmethod
    def _message(self, item: Message) -> Iterator[str]: ...

    @abstractmethod
    def _speech(self, event: Text, within: str) -> Iterator[str]: ...

    @abstractmethod
    def _thought(self, event: Thinking) -> Iterator[str]: ...

    @abstractmethod
    def _remark(self, item: Remark) -> Iterator[str]: ...

    @abstractmethod
    def _call(self, call: Call) -> Iterator[str]: ...

    @abstractmethod
    def _ask(self, asked: Asked, *, inside_call: bool) -> Iterator[str]: ...
