"""Blocks of text while they are written: which delta, and which whole block, belongs to which.

The CLI streams a message as deltas and then sends each block whole, sometimes only one of the two. A block has one id,
`message_id:index`, in both forms, so that a reader can put the whole in place of the pieces. What was streamed and
never came whole is given back by `cut`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from handrail.events.model import Delta, Event, Text, Thinking
from handrail.protocol import blocks, stream
from handrail.protocol.frames import StreamEvent

__all__ = ["Kind", "Streams"]

Kind: TypeAlias = Literal["text", "thinking", "input"]

REMEMBERED_MESSAGES = 256


@dataclass(slots=True)
class _OpenBlock:
    id: str
    kind: Kind
    parts: list[str] = field(default_factory=list)
    length: int = 0
    ended: bool = False

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class _Stream:
    """The message that one conversation (the main one, or a subagent's) is writing."""

    message_id: str
    named: bool = True
    """Whether the CLI has said what the message is called."""
    open: dict[int, _OpenBlock] = field(default_factory=dict)


class Streams:
    """The messages that are being written, by the subagent's action (`parent`), or None for the main conversation."""

    def __init__(self) -> None:
        self._streams: dict[str | None, _Stream] = {}
        self._next_index: OrderedDict[str, int] = OrderedDict()
        self._unnamed = 0

    def receive(self, frame: StreamEvent) -> list[Event | Delta]:
        """What a streaming event brings: a delta, or what the message before it left unfinished."""
        parent = frame.parent_tool_use_id
        match frame.event:
            case stream.ContentBlockDelta(index=index, delta=delta):
                return self._grow(parent, index, delta)
            case stream.MessageStart(message=message):
                cut = self.cut(parent)
                name = (message.id if message is not None else None) or frame.api_message_id
                self._begin(parent, name)
                return list(cut)
            case stream.ContentBlockStart(index=index, content_block=block):
                return self._open_block(parent, index, block)
            case stream.ContentBlockStop(index=index):
                found = self._stream(parent).open.get(index)
                if found is not None:
                    found.ended = True
        return []

    def claim(self, parent: str | None, message_id: str | None, kind: Kind, text: str = "") -> tuple[str, list[Event]]:
        """The id of a block that came whole, and what an earlier message of this conversation left unfinished."""
        current = self._streams.get(parent)
        cut: list[Event] = []
        if current is None or (current.named and message_id is not None and current.message_id != message_id):
            cut = self.cut(parent)
            current = self._begin(parent, message_id)
        elif not current.named and message_id is not None:
            self._rename(current, message_id)
        index = _matching(current, kind, text)
        if index is not None:
            return current.open.pop(index).id, cut
        return self._name(current.message_id, None), cut

    def cut(self, parent: str | None) -> list[Event]:
        """What was written in a conversation and did not come whole; its message is over."""
        current = self._streams.pop(parent, None)
        if current is None:
            return []
        return [_told(block, current, parent) for block in current.open.values() if block.length and _is_prose(block)]

    def parents(self) -> list[str | None]:
        """The conversations that are writing."""
        return list(self._streams)

    def written(self) -> list[Delta]:
        """All that was written of each open block, for a reader that joins now."""
        return [
            Delta(block=block.id, kind=block.kind, offset=0, text=block.text, parent=parent)
            for parent, current in self._streams.items()
            for block in current.open.values()
            if block.length
        ]

    # ------------------------------------------------------------ one stream

    def _stream(self, parent: str | None) -> _Stream:
        current = self._streams.get(parent)
        return current if current is not None else self._begin(parent, None)

    def _begin(self, parent: str | None, message_id: str | None) -> _Stream:
        if message_id is None:
            self._unnamed += 1
        name = message_id if message_id is not None else f"unnamed-{self._unnamed}"
        self._streams[parent] = created = _Stream(name, named=message_id is not None)
        return created

    def _rename(self, current: _Stream, message_id: str) -> None:
        """A message whose beginning was not seen turns out to be this one."""
        seen = self._next_index.pop(current.message_id, 0)
        self._next_index[message_id] = max(seen, self._next_index.get(message_id, 0))
        current.message_id, current.named = message_id, True

    def _open_block(self, parent: str | None, index: int, block: blocks.Block | None) -> list[Event | Delta]:
        match block:
            case blocks.Text(text=text):
                return self._grow(parent, index, stream.TextDelta(text=text), begin=True)
            case blocks.Thinking(thinking=thinking):
                return self._grow(parent, index, stream.ThinkingDelta(thinking=thinking), begin=True)
            case blocks.ToolUse() | blocks.ServerToolUse() | blocks.McpToolUse():
                return self._grow(parent, index, stream.InputJsonDelta(), begin=True)
        return []

    def _grow(
        self, parent: str | None, index: int, delta: stream.Delta | None, *, begin: bool = False
    ) -> list[Event | Delta]:
        match delta:
            case stream.TextDelta(text=text):
                kind: Kind = "text"
            case stream.ThinkingDelta(thinking=text):
                kind = "thinking"
            case stream.InputJsonDelta(partial_json=text):
                kind = "input"
            case _:
                return []
        block = self._block(parent, index, kind, begin=begin)
        if block is None or not text:
            return []
        grown = Delta(block=block.id, kind=kind, offset=block.length, text=text, parent=parent)
        block.parts.append(text)
        block.length += len(text)
        return [grown]

    def _block(self, parent: str | None, index: int, kind: Kind, *, begin: bool) -> _OpenBlock | None:
        """The open block of an index; None if it came whole already, or is of another kind."""
        current = self._stream(parent)
        block = current.open.get(index)
        if block is not None:
            return block if block.kind == kind else None
        if not begin and index < self._next_index.get(current.message_id, 0):
            return None
        block = current.open[index] = _OpenBlock(self._name(current.message_id, index), kind)
        return block

    def _name(self, message_id: str, index: int | None) -> str:
        """The id of a block: of the one at `index`, or of the next one."""
        following = self._next_index.get(message_id, 0)
        if index is None or index < following:
            index = following
        self._next_index[message_id] = index + 1
        self._next_index.move_to_end(message_id)
        if len(self._next_index) > REMEMBERED_MESSAGES:
            self._next_index.popitem(last=False)
        return f"{message_id}:{index}"


def _matching(current: _Stream, kind: Kind, text: str) -> int | None:
    """The open block that a whole one ends: the one that says the same, else the oldest of its kind."""
    candidates = [index for index, block in current.open.items() if block.kind == kind]
    if kind != "input":
        for index in candidates:
            if current.open[index].text == text:
                return index
    return candidates[0] if candidates else None


def _is_prose(block: _OpenBlock) -> bool:
    """A tool's input that never became a call says nothing."""
    return block.kind != "input"


def _told(block: _OpenBlock, current: _Stream, parent: str | None) -> Event:
    message_id = current.message_id if current.named else ""
    made = Thinking if block.kind == "thinking" else Text
    return made(block=block.id, text=block.text, message_id=message_id, parent=parent, partial=not block.ended)
