"""What the frames so far have told that later ones, and asks, refer to: tool calls, subagents, the directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handrail.cli.ask_view import Asking
from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import Ask
from handrail.protocol.blocks import ToolUse
from handrail.protocol.frames import Assistant, Frame, Init, TaskStarted

__all__ = ["Call", "Facts"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model; `parent` is the call that started the subagent which made it."""

    name: str
    input: Any
    parent: str | None = None


class Facts:
    """Follows one session's frames."""

    def __init__(self) -> None:
        self.cwd = ""
        self._calls: dict[str, Call] = {}
        self._agents: dict[str, str] = {}

    def receive(self, frame: Frame) -> None:
        """Learn from a frame."""
        match frame:
            case Init():
                self.cwd = frame.cwd or self.cwd
            case Assistant():
                for block in frame.message.blocks:
                    if isinstance(block, ToolUse):
                        self._calls[block.id] = Call(block.name, block.input, frame.parent_tool_use_id)
            case TaskStarted():
                kind = frame.subagent_type or frame.task_type or "task"
                self._agents[frame.task_id] = f"{kind}: {frame.description}" if frame.description else kind

    def call(self, tool_use_id: str | None) -> Call | None:
        """The call with this id, if it was seen."""
        return self._calls.get(tool_use_id or "")

    def depth(self, parent_tool_use_id: str | None) -> int:
        """How many subagents deep a frame with this parent is."""
        depth = 0
        seen = set()
        while parent_tool_use_id and parent_tool_use_id not in seen:
            seen.add(parent_tool_use_id)
            depth += 1
            parent = self._calls.get(parent_tool_use_id)
            parent_tool_use_id = parent.parent if parent else None
        return depth

    def asking(self, ask: Ask, *, waiting: int, plan: PlanContext) -> Asking:
        """What is known around an ask."""
        call = self.call(ask.tool_use_id)
        return Asking(
            who=self._agents.get(ask.agent_id, f"subagent {ask.agent_id}") if ask.agent_id else "",
            call=call.input if call is not None and isinstance(call.input, Mapping) else None,
            waiting=waiting,
            plan=plan,
        )
