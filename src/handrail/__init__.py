"""Handrail: watch every step of Claude Code, steer it, and answer what it asks.

The public surface is what stands here, plus three modules: `handrail.protocol.frames` and
`handrail.protocol.control` (every type of the wire) and `handrail.testing` (tools for testing without an account).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.errors import (
        ClientClosed,
        CLINotFound,
        ControlError,
        ControlExpired,
        ControlRefused,
        HandrailError,
        InvalidOptions,
        LaunchError,
        LocalProtocolError,
        MessageDropped,
        ProcessError,
        ProcessExited,
    )
    from handrail.protocol.asks import Allow, Answer, Answers, Ask, Deny, DialogResult, Elicited
    from handrail.protocol.frames import Assistant, Frame, Init, Malformed, Result, StreamEvent, User
    from handrail.protocol.options import Options
    from handrail.sessions.client import Client, connect, query
    from handrail.sessions.hooks import (
        Hook,
        HookAnswer,
        HookContext,
        ToolDecision,
        add_context,
        allow_tool,
        ask_tool,
        block,
        defer_tool,
        deny_tool,
        hook,
        run_async,
    )
    from handrail.sessions.mcp import ToolServer
    from handrail.sessions.tools import Tool, image_block, tool
    from handrail.sessions.turn import Turn

__all__ = [
    "Allow",
    "Answer",
    "Answers",
    "Ask",
    "Assistant",
    "CLINotFound",
    "Client",
    "ClientClosed",
    "ControlError",
    "ControlExpired",
    "ControlRefused",
    "Deny",
    "DialogResult",
    "Elicited",
    "Frame",
    "HandrailError",
    "Hook",
    "HookAnswer",
    "HookContext",
    "Init",
    "InvalidOptions",
    "LaunchError",
    "LocalProtocolError",
    "Malformed",
    "MessageDropped",
    "Options",
    "ProcessError",
    "ProcessExited",
    "Result",
    "StreamEvent",
    "Tool",
    "ToolDecision",
    "ToolServer",
    "Turn",
    "User",
    "add_context",
    "allow_tool",
    "ask_tool",
    "block",
    "connect",
    "defer_tool",
    "deny_tool",
    "hook",
    "image_block",
    "query",
    "run_async",
    "tool",
]

_HOME = {
    "handrail.protocol.asks": ("Allow", "Answer", "Answers", "Ask", "Deny", "DialogResult", "Elicited"),
    "handrail.protocol.frames": ("Assistant", "Frame", "Init", "Malformed", "Result", "StreamEvent", "User"),
    "handrail.protocol.options": ("Options",),
    "handrail.sessions.client": ("Client", "connect", "query"),
    "handrail.sessions.hooks": (
        "Hook",
        "HookAnswer",
        "HookContext",
        "ToolDecision",
        "add_context",
        "allow_tool",
        "ask_tool",
        "block",
        "defer_tool",
        "deny_tool",
        "hook",
        "run_async",
    ),
    "handrail.sessions.mcp": ("ToolServer",),
    "handrail.sessions.tools": ("Tool", "image_block", "tool"),
    "handrail.sessions.turn": ("Turn",),
}
_HOMES = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that `import handrail` costs next to nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "handrail.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
