"""How full the context is, from what the CLI says of each API message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handrail.events.model import Usage
from handrail.protocol import blocks, stream
from handrail.protocol.frames import ModelUsage, StreamEvent

__all__ = ["Meter"]


@dataclass(slots=True)
class _Reading:
    context_tokens: int = 0
    output_tokens: int = 0
    model: str = ""


class Meter:
    """The last request of each conversation: the main one, and each subagent's."""

    def __init__(self) -> None:
        self._now: dict[str | None, _Reading] = {}
        self._told: dict[str | None, tuple[int, int, int | None]] = {}
        self._windows: dict[str, int] = {}

    def message(self, message: blocks.Message, parent: str | None) -> list[Usage]:
        """A message, or a block of one, came."""
        return self._read(message.usage, message.model or "", parent)

    def streaming(self, frame: StreamEvent) -> list[Usage]:
        """A message begins or ends: its end says how long it became."""
        parent = frame.parent_tool_use_id
        match frame.event:
            case stream.MessageStart(message=blocks.Message(usage=usage, model=model)):
                self._note(usage, model or "", parent)
            case stream.MessageDelta(usage=usage):
                reading = self._now.get(parent)
                return self._read(usage, reading.model if reading is not None else "", parent)
        return []

    def result(self, usage: dict[str, ModelUsage] | None) -> list[Usage]:
        """A run is over: only now the CLI says how large the context of each model is."""
        for model, used in (usage or {}).items():
            if used.context_window is not None:
                self._windows[model] = used.context_window
        return self._tell(None)

    def forget(self, parent: str | None) -> None:
        """A subagent is done."""
        self._now.pop(parent, None)
        self._told.pop(parent, None)

    def _read(self, usage: blocks.Usage | None, model: str, parent: str | None) -> list[Usage]:
        self._note(usage, model, parent)
        return self._tell(parent)

    def _note(self, usage: blocks.Usage | None, model: str, parent: str | None) -> None:
        if usage is None:
            return
        parts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
        context = sum(part or 0 for part in parts)
        output = usage.output_tokens or 0
        if context <= 0 and output <= 0:
            return  # a message that the CLI made up itself
        reading = self._now.setdefault(parent, _Reading())
        reading.output_tokens = output
        if context > 0:
            reading.context_tokens = context
            reading.model = model or reading.model

    def _tell(self, parent: str | None) -> list[Usage]:
        reading = self._now.get(parent)
        if reading is None or not reading.context_tokens:
            return []
        window = self._windows.get(reading.model)
        telling = (reading.context_tokens, reading.output_tokens, window)
        if self._told.get(parent) == telling:
            return []
        self._told[parent] = telling
        return [_usage(reading, window, parent)]


def _usage(reading: _Reading, window: int | None, parent: str | None) -> Usage:
    fields: dict[str, Any] = {"context_tokens": reading.context_tokens, "output_tokens": reading.output_tokens}
    return Usage(**fields, context_window=window, model=reading.model, parent=parent)
