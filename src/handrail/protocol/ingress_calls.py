"""Tool calls of a CLI that dials in, and whether it has asked about them.

Before each call it calls our hook. Sent into a gap between two sockets, that is lost: it is not sent again, no list has
it, and the CLI waits for the answer as long as the hook may take. All that is to be seen is a call without a question.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["ToolCalls"]


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    tool_use_id: str = ""


class _Message(msgspec.Struct):
    content: Any = None


class _Asked(msgspec.Struct):
    tool_use_id: str = ""


class _Line(msgspec.Struct):
    message: _Message | None = None
    request: _Asked | None = None


_read = msgspec.json.Decoder(_Line).decode


class ToolCalls:
    """The calls of the turn that runs, which have no result yet."""

    def __init__(self) -> None:
        self._unasked: set[str] = set()
        self._asked: set[str] = set()

    @property
    def unheard(self) -> frozenset[str]:
        """Calls that nobody asked about, although none that was asked about is under way: others wait for those."""
        return frozenset() if self._asked else frozenset(self._unasked)

    def receive(self, kind: str, line: bytes) -> None:
        """A line of the CLI, of this type."""
        if kind == "result":
            self._unasked.clear()
            self._asked.clear()
        elif kind in ("assistant", "user", "control_request") and b"tool_use" in line:
            self._look_at(kind, line)

    def _look_at(self, kind: str, line: bytes) -> None:
        try:
            read = _read(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return  # whoever gets the line says what is wrong with it
        if kind == "control_request":
            call = read.request.tool_use_id if read.request is not None else ""
            self._unasked.discard(call)
            self._asked |= {call} if call else set()
            return
        for block in _blocks(read.message):
            if kind == "assistant" and block.type == "tool_use" and block.id not in self._asked:
                self._unasked.add(block.id)
            elif kind == "user" and block.type == "tool_result":
                self._unasked.discard(block.tool_use_id)
                self._asked.discard(block.tool_use_id)


def _blocks(message: _Message | None) -> list[_Block]:
    content = message.content if message is not None else None
    try:
        return msgspec.convert(content, list[_Block]) if isinstance(content, list) else []
    except msgspec.ValidationError:
        return []
