"""What is said and done: the blocks of messages, tool calls and their results, subagents. Knows nothing of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from handrail.events.actions import Actions, OpenAction, structured
from handrail.events.hints import hint_for
from handrail.events.meter import Meter
from handrail.events.model import Delta, Event, Task, Text, Thinking, Unknown
from handrail.events.notices import note, warning
from handrail.events.streaming import Streams
from handrail.events.tasks import Tasks
from handrail.protocol import blocks, stream
from handrail.protocol.frames import Assistant, StreamEvent, TaskNotification, TaskStarted, ToolProgress, User

__all__ = ["Conversation"]

ServerResult: TypeAlias = (
    blocks.WebSearchToolResult | blocks.WebFetchToolResult | blocks.CodeExecutionToolResult | blocks.McpToolResult
)
INTERRUPTED = "[Request interrupted by user"
"""How the CLI begins to tell Claude that the user broke off."""
SUBAGENT_ENDED = "the subagent ended before this had a result"


class Conversation:
    """The messages of a session, its main conversation and those of its subagents, as events."""

    def __init__(self) -> None:
        self.tasks = Tasks()
        self.answer = ""
        """The last text of the main conversation."""
        self._streams = Streams()
        self._actions = Actions()
        self._meter = Meter()

    # ------------------------------------------------------------ frames

    def assistant(self, frame: Assistant) -> Iterator[Event]:
        """What the model said, one or more blocks of it."""
        parent = frame.parent_tool_use_id
        message_id = frame.message.id or frame.uuid
        if frame.error is not None:
            yield from self._streams.cut(parent)
        for block in frame.message.blocks:
            yield from self._block(block, frame, message_id, parent)
        yield from self._meter.message(frame.message, parent)

    def user(self, frame: User) -> Iterator[Event]:
        """Results of tools, and what the CLI says in the user's place."""
        results = [block for block in frame.message.blocks if isinstance(block, blocks.ToolResult)]
        for index, block in enumerate(frame.message.blocks):
            if isinstance(block, blocks.ToolResult):
                yield from self._result(block, frame, index, alone=len(results) == 1)
            else:
                yield from self._said_for_the_user(block, frame)

    def streaming(self, frame: StreamEvent) -> Iterable[Event | Delta]:
        """A piece of a message. Nearly all of them are deltas, which concern nobody but the block that grows."""
        grows = isinstance(frame.event, stream.ContentBlockDelta)
        return self._streams.receive(frame) if grows else self._streaming(frame)

    def _streaming(self, frame: StreamEvent) -> Iterator[Event | Delta]:
        yield from self._streams.receive(frame)
        yield from self._meter.streaming(frame)
        if isinstance(frame.event, stream.StreamError):
            error = frame.event.error
            name = error.get("type") if isinstance(error, dict) else None
            text = error.get("message") if isinstance(error, dict) else error
            yield warning(text or "The API broke off", hint=hint_for(str(name)), error=error)

    def progress(self, frame: ToolProgress) -> list[Event]:
        """A tool call goes on."""
        return [self._actions.progress(frame)]

    def task_started(self, frame: TaskStarted) -> list[Task]:
        """A task begins."""
        call = self._actions.open.get(frame.tool_use_id or "")
        return self.tasks.started(frame, call.parent if call is not None else None)

    def notified(self, frame: TaskNotification) -> Iterator[Event]:
        """A task is over, and with it what its subagent had not finished."""
        if frame.tool_use_id is not None and frame.tool_use_id not in self._actions.open:
            yield from self._subagent_ended(frame.tool_use_id)
        yield from self.tasks.notified(frame)

    # ------------------------------------------------------------ ends

    def run_ended(self, why: str, windows: Any = None) -> Iterator[Event]:
        """The main conversation stops here; subagents in the background go on."""
        for parent in self._streams.parents():
            if parent is None or self._in_foreground(parent):
                yield from self._cut_text(parent)
        unfinished = {name for name in self._actions.open if self._in_foreground(name)}
        yield from self._actions.cut(why, lambda action: action.id in unfinished)
        yield from self._meter.result(windows)

    def process_ended(self, why: str) -> Iterator[Event]:
        """Nothing goes on any more."""
        for parent in self._streams.parents():
            yield from self._cut_text(parent)
        yield from self._actions.cut(why)
        yield from self.tasks.cut(why)

    def take_answer(self) -> str:
        """The last text of the main conversation; the next run begins without one."""
        answer, self.answer = self.answer, ""
        return answer

    def open_blocks(self) -> list[Delta]:
        """All that was written of each block that is open."""
        return self._streams.written()

    def input_of(self, tool_use_id: str | None) -> dict[str, Any]:
        """The input of an open call, as the model gave it."""
        action = self._actions.open.get(tool_use_id or "")
        return action.input if action is not None and isinstance(action.input, dict) else {}

    # ------------------------------------------------------------ blocks of the model

    def _block(
        self, block: blocks.Block, frame: Assistant, message_id: str | None, parent: str | None
    ) -> Iterator[Event]:
        match block:
            case blocks.Text() if frame.error is not None:
                yield _failure(frame, block.text)
            case blocks.Text():
                yield from self._text(block, message_id, parent, partial=bool(frame.aborted))
            case blocks.Thinking(thinking=text):
                yield from self._thinking(text, message_id, parent, partial=bool(frame.aborted))
            case blocks.RedactedThinking():
                yield from self._thinking("", message_id, parent)
            case blocks.ToolUse() | blocks.ServerToolUse() | blocks.McpToolUse():
                name, cut = self._streams.claim(parent, message_id, "input")
                yield from cut
                yield from self._actions.start(block, block=name, message_id=message_id or "", parent=parent)
            case blocks.WebSearchToolResult() | blocks.WebFetchToolResult():
                yield self._server_result(block, message_id, parent)
            case blocks.CodeExecutionToolResult() | blocks.McpToolResult():
                yield self._server_result(block, message_id, parent)
            case blocks.Fallback():
                yield note("Another model answered", parent=parent, model=block.to_model, asked=block.from_model)
            case blocks.Unknown():
                yield Unknown(frame_type=f"assistant/{block.type}", frame=block.data)
            case _:
                yield note(f"Claude sent: {block.type}", parent=parent, block=_plain_block(block))

    def _text(
        self, block: blocks.Text, message_id: str | None, parent: str | None, *, partial: bool
    ) -> Iterator[Event]:
        name, cut = self._streams.claim(parent, message_id, "text", block.text)
        yield from cut
        if not block.text:
            return
        if parent is None:
            self.answer = block.text
        citations = tuple(block.citations or ())
        yield Text(
            block=name,
            text=block.text,
            message_id=message_id or "",
            parent=parent,
            partial=partial,
            citations=citations,
        )

    def _thinking(
        self, text: str, message_id: str | None, parent: str | None, *, partial: bool = False
    ) -> Iterator[Event]:
        name, cut = self._streams.claim(parent, message_id, "thinking", text)
        yield from cut
        yield Thinking(
            block=name,
            text=text,
            message_id=message_id or "",
            parent=parent,
            partial=partial,
            redacted=not text,
        )

    def _cut_text(self, parent: str | None) -> Iterator[Event]:
        """What was written and will not come whole; of an answer, this is what there is."""
        for event in self._streams.cut(parent):
            if parent is None and isinstance(event, Text):
                self.answer = event.text
            yield event

    def _server_result(self, block: ServerResult, message_id: str | None, parent: str | None) -> Event:
        content = block.content
        failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
        ok = not failed and not (isinstance(block, blocks.McpToolResult) and block.is_error)
        return self._actions.complete(block.tool_use_id, content, ok=ok, message_id=message_id or "", parent=parent)

    # ------------------------------------------------------------ blocks from the user's side

    def _result(self, block: blocks.ToolResult, frame: User, index: int, *, alone: bool) -> Iterator[Event]:
        name, ok = block.tool_use_id, not block.is_error
        result = structured(frame.tool_use_result_json, alone=alone)
        goes_on = _goes_on(result)
        if not goes_on:
            yield from self._subagent_ended(name)
        yield self._actions.complete(
            name,
            block.content if isinstance(block.content, str | None) else _raw_content(frame, index),
            ok=ok,
            message_id=frame.message.id or frame.uuid or "",
            parent=frame.parent_tool_use_id,
            result=result,
        )
        yield from self.tasks.answered(name, ok=ok, goes_on=goes_on)
        if (stopped := _stopped_task(result)) is not None:
            yield from self.tasks.stop(stopped)

    def _said_for_the_user(self, block: blocks.Block, frame: User) -> Iterator[Event]:
        parent = frame.parent_tool_use_id
        if not isinstance(block, blocks.Text):
            yield note(f"Sent to Claude: {block.type}", parent=parent, block=_plain_block(block))
        elif block.text and block.text != self.input_of(parent).get("prompt"):
            if block.text.startswith(INTERRUPTED):
                yield from self._cut_text(parent)
            origin = {"synthetic": frame.is_synthetic, "origin": frame.origin}
            yield note(block.text, id=frame.uuid, parent=parent, role="user", **origin)

    # ------------------------------------------------------------ subagents

    def _subagent_ended(self, tool_use_id: str) -> Iterator[Event]:
        yield from self._streams.cut(tool_use_id)
        yield from self._actions.cut(SUBAGENT_ENDED, lambda action: self._is_inside(action, tool_use_id))
        self._meter.forget(tool_use_id)

    def _is_inside(self, action: OpenAction, tool_use_id: str) -> bool:
        seen: set[str] = set()
        while action.parent is not None and action.id not in seen:
            seen.add(action.id)
            if action.parent == tool_use_id:
                return True
            outer = self._actions.open.get(action.parent)
            if outer is None:
                return False
            action = outer
        return False

    def _in_foreground(self, tool_use_id: str) -> bool:
        """Whether the main conversation waits for a call: a background subagent's own call has had its result."""
        seen: set[str] = set()
        name: str | None = tool_use_id
        while name is not None and name not in seen:
            seen.add(name)
            action = self._actions.open.get(name)
            if action is None:
                return False
            name = action.parent
        return True


def _failure(frame: Assistant, text: str) -> Event:
    """What the CLI says in Claude's place when the API failed."""
    error, status = frame.error, frame.api_error_status
    return warning(
        text or f"The API failed: {error}",
        id=frame.uuid,
        hint=hint_for(error, status) or hint_for(frame.api_error_type),
        parent=frame.parent_tool_use_id,
        error=error,
        status=status,
        type=frame.api_error_type,
        request_id=frame.request_id,
    )


def _raw_content(frame: User, index: int) -> Any:
    """A result's content as it was on the wire: the structs leave out what they do not model."""
    message = frame.data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    block = content[index] if isinstance(content, list) and index < len(content) else None
    return block.get("content") if isinstance(block, dict) else None


def _plain_block(block: blocks.Block) -> Any:
    return block.data if isinstance(block, blocks.Unknown) else msgspec.to_builtins(block)


def _goes_on(result: Any) -> bool:
    """Whether what a call began outlives its result."""
    if not isinstance(result, dict):
        return False
    asynchronous = result.get("isAsync") is True or result.get("status") == "async_launched"
    return asynchronous or bool(result.get("backgroundTaskId"))


def _stopped_task(result: Any) -> str | None:
    match result:
        case {"task_id": str(task_id), "message": str(message)} if message.startswith("Successfully stopped"):
            return task_id
    return None
