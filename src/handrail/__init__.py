"""Handrail: watch every step of Claude Code, steer it, and answer what it asks.

The public surface is what stands here, plus four modules: `handrail.protocol.frames` and
`handrail.protocol.control` (every type of the wire), `handrail.events` (every type of the journal) and
`handrail.testing` (tools for testing without an account).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.errors import (
        AlreadyDecided,
        AmbiguousSession,
        AskClosed,
        BudgetSpent,
        ClientClosed,
        CLINotFound,
        ConfigError,
        ControlError,
        ControlExpired,
        ControlRefused,
        CopyDiverged,
        DecisionRefused,
        DialRefused,
        Fenced,
        HandrailError,
        HostAway,
        HostError,
        HostNotFound,
        HostRefused,
        InvalidOptions,
        InvalidPolicy,
        InvalidRule,
        LaunchError,
        LeaseHeld,
        LocalProtocolError,
        MessageDropped,
        OutcomeUnknown,
        PolicyError,
        ProcessError,
        ProcessExited,
        SelfApproval,
        SessionBusy,
        SessionError,
        SessionExists,
        SessionLimit,
        SessionNotFound,
        SessionNotLive,
        StaleDigest,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreLocked,
        StoreTooNew,
        StoreUnavailable,
        UnfitAnswer,
    )
    from handrail.policy.answers.plan import (
        ApproveInFreshContext,
        ApprovePlan,
        EnterPlan,
        ImplementNow,
        OutlinePlan,
        RejectPlan,
        RevisePlan,
    )
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import Asked, PolicySource
    from handrail.protocol.asks import Allow, Answer, Answers, Ask, Deny, DialogResult, Elicited, Failed
    from handrail.protocol.frames import Assistant, Frame, Init, Malformed, Result, StreamEvent, User
    from handrail.protocol.options import Options
    from handrail.protocol.state import AskState
    from handrail.remote.errors import HubError, HubUnreachable
    from handrail.remote.hub import Hub
    from handrail.sessions.asks import Actor, AskChange, Decision
    from handrail.sessions.budget import SessionPurse
    from handrail.sessions.client import Client, connect, query
    from handrail.sessions.decisions import Successor
    from handrail.sessions.guards.notifications import Notify
    from handrail.sessions.guards.watch import Limits
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
    from handrail.sessions.manager import Manager
    from handrail.sessions.mcp import ToolServer
    from handrail.sessions.session import Session
    from handrail.sessions.tools import Tool, image_block, tool
    from handrail.sessions.turn import Turn

__all__ = [
    "Actor",
    "Allow",
    "AlreadyDecided",
    "AmbiguousSession",
    "Answer",
    "Answers",
    "ApproveInFreshContext",
    "ApprovePlan",
    "Ask",
    "AskChange",
    "AskClosed",
    "AskState",
    "Asked",
    "Assistant",
    "BudgetSpent",
    "CLINotFound",
    "Client",
    "ClientClosed",
    "ConfigError",
    "ControlError",
    "ControlExpired",
    "ControlRefused",
    "CopyDiverged",
    "Decision",
    "DecisionRefused",
    "Deny",
    "DialRefused",
    "DialogResult",
    "Elicited",
    "EnterPlan",
    "Failed",
    "Fenced",
    "Frame",
    "HandrailError",
    "Hook",
    "HookAnswer",
    "HookContext",
    "HostAway",
    "HostError",
    "HostNotFound",
    "HostRefused",
    "Hub",
    "HubError",
    "HubUnreachable",
    "ImplementNow",
    "Init",
    "InvalidOptions",
    "InvalidPolicy",
    "InvalidRule",
    "LaunchError",
    "LeaseHeld",
    "Limits",
    "LocalProtocolError",
    "Malformed",
    "Manager",
    "MessageDropped",
    "Notify",
    "Options",
    "OutcomeUnknown",
    "OutlinePlan",
    "Policy",
    "PolicyError",
    "PolicySource",
    "ProcessError",
    "ProcessExited",
    "RejectPlan",
    "Result",
    "RevisePlan",
    "SelfApproval",
    "Session",
    "SessionBusy",
    "SessionError",
    "SessionExists",
    "SessionLimit",
    "SessionNotFound",
    "SessionNotLive",
    "SessionPurse",
    "StaleDigest",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreTooNew",
    "StoreUnavailable",
    "StreamEvent",
    "Successor",
    "Tool",
    "ToolDecision",
    "ToolServer",
    "Turn",
    "UnfitAnswer",
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
    "handrail.policy.storage.loading": ("Asked", "PolicySource"),
    "handrail.policy.answers.plan": (
        "ApproveInFreshContext",
        "ApprovePlan",
        "EnterPlan",
        "ImplementNow",
        "OutlinePlan",
        "RejectPlan",
        "RevisePlan",
    ),
    "handrail.policy.policy": ("Policy",),
    "handrail.protocol.asks": (
        "Allow",
        "Answer",
        "Answers",
        "Ask",
        "Deny",
        "DialogResult",
        "Elicited",
        "Failed",
    ),
    "handrail.protocol.frames": ("Assistant", "Frame", "Init", "Malformed", "Result", "StreamEvent", "User"),
    "handrail.protocol.options": ("Options",),
    "handrail.protocol.state": ("AskState",),
    "handrail.remote.errors": ("HubError", "HubUnreachable"),
    "handrail.remote.hub": ("Hub",),
    "handrail.sessions.asks": (
        "Actor",
        "AskChange",
        "Decision",
    ),
    "handrail.sessions.budget": ("SessionPurse",),
    "handrail.sessions.client": ("Client", "connect", "query"),
    "handrail.sessions.decisions": ("Successor",),
    "handrail.sessions.guards.notifications": ("Notify",),
    "handrail.sessions.guards.watch": ("Limits",),
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
    "handrail.sessions.manager": ("Manager",),
    "handrail.sessions.mcp": ("ToolServer",),
    "handrail.sessions.session": ("Session",),
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
