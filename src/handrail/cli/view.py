"""What a run writes: a transcript for a person (`TerminalView`), or each frame's JSON for a program (`JsonView`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

from rich.console import Console, RenderableType

from handrail.cli.facts import Facts
from handrail.cli.layout import Indented
from handrail.cli.render import notice, render_call, render_notice, render_result, render_resume, render_tool_result
from handrail.cli.screen import Screen
from handrail.cli.streamed import StreamedText
from handrail.cli.style import QUIET, markdown
from handrail.cli.tools import call_line, tool_title
from handrail.policy.describing.visible import one_line
from handrail.protocol.blocks import (
    Block,
    McpToolUse,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from handrail.protocol.frames import Assistant, Frame, Init, Malformed, Result, Status, StreamEvent, User
from handrail.protocol.stream import ContentBlockDelta, TextDelta, ThinkingDelta

__all__ = ["JsonView", "TerminalView", "View"]

STARTING = "starting Claude Code"
WAITING = "waiting for Claude"


class View(Protocol):
    """Where a run's frames and notices go."""

    def show(self, frame: Frame) -> None:
        """A frame arrived."""

    def notice(self, colour: str, text: str) -> None:
        """Handrail itself has something to say."""

    def end(self, result: Result, *, resume: str, stopped: bool) -> None:
        """The run is over; `resume` is the command that goes on, `stopped` says that the person ended it."""

    def held(self) -> AbstractContextManager[None]:
        """While a person is asked: nothing else is written."""

    def tick(self) -> None:
        """A moment has passed."""

    def stop(self) -> None:
        """Nothing more will come."""


class TerminalView:
    """A transcript. With `verbose`, tool output whole, and a line for every frame that says nothing else."""

    def __init__(
        self, console: Console, facts: Facts, *, asks_on: Console | None = None, verbose: bool = False
    ) -> None:
        self._screen = Screen(console)
        self._screen.status(STARTING)
        self._facts = facts
        self._verbose = verbose
        self._streamed: dict[str, StreamedText] = {}
        self._last_call: str | None = None
        self._init: str | None = None
        self._said = ""

    # ------------------------------------------------------------ as a View

    def show(self, frame: Frame) -> None:
        match frame:
            case StreamEvent():
                self._stream(frame)
            case Assistant():
                self._assistant(frame)
            case User():
                self._user(frame)
            case Result():
                self._leave_streams()
            case Init():
                self._start(frame)
            case Malformed():
                pass  # the client logs it, and the log is shown
            case _:
                self._other(frame)

    def notice(self, colour: str, text: str) -> None:
        self._screen.show(notice(colour, text), kind="notice")

    def end(self, result: Result, *, resume: str, stopped: bool) -> None:
        self._screen.stop()
        if result.ok and result.result and result.result.strip() != self._said.strip():
            self._screen.show(markdown(result.result), kind="text")
        said = result.error is not None and result.error.strip() == self._said.strip()
        self._screen.show(render_result(result, stopped=stopped, said=said), kind="end")
        if resume:
            self._screen.show_for_copying(render_resume(resume))

    def held(self) -> AbstractContextManager[None]:
        return self._screen.held()

    def tick(self) -> None:
        self._screen.tick()

    def stop(self) -> None:
        self._screen.stop()

    # ------------------------------------------------------------ what Claude says

    def _stream(self, frame: StreamEvent) -> None:
        """Only the main conversation is shown as it is written: subagents write at the same time."""
        event = frame.event
        if frame.parent_tool_use_id is not None or not isinstance(event, ContentBlockDelta):
            return
        if isinstance(event.delta, TextDelta):
            self._grow("text", event.delta.text)
        elif isinstance(event.delta, ThinkingDelta):
            self._grow("thinking", event.delta.thinking)

    def _grow(self, kind: str, piece: str) -> None:
        text = self._streamed.setdefault(kind, StreamedText())
        finished = text.feed(piece)
        if finished:
            self._say(kind, finished)
        self._screen.preview(_written(kind, text.preview()))
        self._screen.status("thinking" if kind == "thinking" else "writing")

    def _finish(self, kind: str, whole: str | None) -> None:
        text = self._streamed.pop(kind, None) or StreamedText()
        rest = text.finish(whole)
        self._screen.preview(None)
        if rest:
            self._say(kind, rest)

    def _leave_streams(self) -> None:
        for kind in list(self._streamed):
            self._finish(kind, None)

    def _say(self, kind: str, text: str) -> None:
        self._last_call = None
        self._screen.show(_written(kind, text.strip("\n")), kind=kind)

    # ------------------------------------------------------------ frames

    def _start(self, frame: Init) -> None:
        """The CLI says the same at the start of every turn; only news are shown."""
        key = f"{frame.model} {frame.permission_mode} {frame.cwd}"
        if key != self._init:
            self._init = key
            self._other(frame)
        self._screen.status(WAITING)

    def _assistant(self, frame: Assistant) -> None:
        depth = self._facts.depth(frame.parent_tool_use_id)
        for block in frame.message.blocks:
            if depth == 0:
                self._block(block)
            else:
                self._subagent_block(block, depth)

    def _block(self, block: Block) -> None:
        match block:
            case Text():
                self._said = block.text
                self._finish("text", block.text)
            case Thinking():
                self._finish("thinking", block.thinking)
            case ToolUse() | ServerToolUse() | McpToolUse():
                self._leave_streams()
                self._call(block, 0)
            case _ if self._verbose:
                self.notice(QUIET, f"[{block.type}]")

    def _subagent_block(self, block: Block, depth: int) -> None:
        match block:
            case Text() if block.text.strip():
                self._screen.show(Indented(markdown(block.text), depth), kind="tools")
            case ToolUse() | ServerToolUse() | McpToolUse():
                self._call(block, depth)

    def _call(self, block: ToolUse | ServerToolUse | McpToolUse, depth: int) -> None:
        self._screen.show(_indented(render_call(block.name, block.input, self._facts.cwd), depth), kind="tools")
        self._screen.status(f"{tool_title(block.name)} {call_line(block.name, block.input, self._facts.cwd)}")
        self._last_call = block.id

    def _user(self, frame: User) -> None:
        for block in frame.message.blocks:
            if isinstance(block, ToolResult):
                self._tool_result(block, self._facts.depth(frame.parent_tool_use_id))

    def _tool_result(self, result: ToolResult, depth: int) -> None:
        call = self._facts.call(result.tool_use_id)
        name = call.name if call else ""
        label = ""
        if call is not None and result.tool_use_id != self._last_call:
            label = f"{tool_title(name)} {call_line(name, call.input, self._facts.cwd)}"
        rendered = render_tool_result(result, name=name, label=label, whole=self._verbose)
        self._screen.show(_indented(rendered, depth), kind="tools")
        self._screen.status(WAITING)

    def _other(self, frame: Frame) -> None:
        rendered = render_notice(frame)
        if rendered is not None:
            self._screen.show(rendered, kind="notice")
        elif self._verbose:
            name = "/".join(part for part in (frame.type, getattr(frame, "subtype", None)) if part)
            self._screen.show(notice(QUIET, one_line(name)), kind="notice")
        if isinstance(frame, Status) and frame.status == "requesting":
            self._screen.status(WAITING)


class JsonView:
    """One JSON object per frame and line on `out`; what is for a person goes to `console`."""

    def __init__(self, out: BinaryIO, console: Console, *, on_broken_pipe: Callable[[], None]) -> None:
        self._out = out
        self._on_broken_pipe = on_broken_pipe
        self._screen = Screen(console)

    def show(self, frame: Frame) -> None:
        try:
            self._out.write((_malformed(frame) if isinstance(frame, Malformed) else frame.raw) + b"\n")
            self._out.flush()
        except BrokenPipeError:
            self._on_broken_pipe()

    def notice(self, colour: str, text: str) -> None:
        self._screen.show(notice(colour, text), kind="notice")

    def end(self, result: Result, *, resume: str, stopped: bool) -> None:
        pass  # the result is a frame, and was written as one

    def held(self) -> AbstractContextManager[None]:
        return self._screen.held()

    def tick(self) -> None:
        pass

    def stop(self) -> None:
        pass


def _malformed(frame: Malformed) -> bytes:
    """A line that is no JSON, as JSON."""
    line = frame.raw.decode("utf-8", "replace")
    return json.dumps({"type": frame.type, "kind": frame.kind, "reason": frame.reason, "line": line}).encode()


def _written(kind: str, text: str) -> RenderableType:
    return markdown(text, "dim italic") if kind == "thinking" else markdown(text)


def _indented(renderable: RenderableType, depth: int) -> RenderableType:
    return Indented(renderable, depth) if depth else renderable
