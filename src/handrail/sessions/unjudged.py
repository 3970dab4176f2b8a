"""Notices calls that a Claude Code which somebody started elsewhere made without calling our hook first.

The line that starts it has settings in it that keep the hook on, whatever other settings say. Nobody can see from here
whether they were left out, but it shows: a call has a result, and was never asked about.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from handrail.protocol.blocks import ToolResult, ToolUse
from handrail.protocol.frames import Assistant, ControlRequest, Frame, User

__all__ = ["UnjudgedCalls"]

REMEMBERED: Final = 1_000
ASKING: Final = frozenset({"hook_callback", "can_use_tool"})

V = TypeVar("V")


class UnjudgedCalls:
    """Follows the frames of one CLI that has a policy, and tells once of a call that was made without asking."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._called: OrderedDict[str, str] = OrderedDict()
        """Calls that were announced here and have no result: id → tool."""
        self._asked: OrderedDict[str, None] = OrderedDict()
        self._has_told = False

    def receive(self, frame: Frame) -> None:
        """A frame of the CLI, in its turn."""
        match frame:
            case ControlRequest(request={"tool_use_id": str(call), "subtype": subtype}) if subtype in ASKING:
                _remember(self._asked, call, None)
            case Assistant():
                for block in frame.message.content:
                    if isinstance(block, ToolUse):
                        _remember(self._called, block.id, block.name)
            case User():
                for block in frame.message.content:
                    if isinstance(block, ToolResult):
                        self._made(block)

    def _made(self, result: ToolResult) -> None:
        call = result.tool_use_id
        tool, was_asked = self._called.pop(call, None), call in self._asked
        self._asked.pop(call, None)
        # One that failed may not even have been tried: no hook is called for input that is wrong.
        if tool is not None and not was_asked and not result.is_error and not self._has_told:
            self._has_told = True
            self._tell(
                f"Claude Code made a call ({tool}) without asking Handrail: the policy does not hold in this session, "
                "because hooks are switched off where it runs. Stop it, and start it with the line of `handrail "
                "ingress renew`, with its --settings; if it had them, look for disableAllHooks in the managed settings "
                "of that machine"
            )


def _remember(kept: OrderedDict[str, V], call: str, value: V) -> None:
    kept[call] = value
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)
