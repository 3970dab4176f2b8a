"""What Handrail says happened: events, how frames become events, and what a screen makes of them. Pure.

from handrail.events import Translator, view_of
from handrail.events.reduce import reduce
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.events.codec import decode_event, decode_item, encode_event, searchable_text
    from handrail.events.model import (
        Action,
        ActionKind,
        AnyEvent,
        ApiRetry,
        AskClosed,
        AskOpened,
        Compacting,
        Completed,
        Delta,
        Event,
        Hook,
        Meta,
        ModeChanged,
        ModelChanged,
        Phase,
        ProcessExited,
        Prompt,
        RateLimit,
        SessionRekeyed,
        Started,
        Task,
        Text,
        Thinking,
        Titled,
        Unknown,
        Usage,
    )
    from handrail.events.recording import events_of_recording, items_of_recording
    from handrail.events.reduce import view_of
    from handrail.events.resume import RESUME_LINE, find_resume_token, resume_line
    from handrail.events.tools import describe_call
    from handrail.events.translate import Translator
    from handrail.events.view import SessionView

__all__ = [
    "RESUME_LINE",
    "Action",
    "ActionKind",
    "AnyEvent",
    "ApiRetry",
    "AskClosed",
    "AskOpened",
    "Compacting",
    "Completed",
    "Delta",
    "Event",
    "Hook",
    "Meta",
    "ModeChanged",
    "ModelChanged",
    "Phase",
    "ProcessExited",
    "Prompt",
    "RateLimit",
    "SessionRekeyed",
    "SessionView",
    "Started",
    "Task",
    "Text",
    "Thinking",
    "Titled",
    "Translator",
    "Unknown",
    "Usage",
    "decode_event",
    "decode_item",
    "describe_call",
    "encode_event",
    "events_of_recording",
    "find_resume_token",
    "items_of_recording",
    "resume_line",
    "searchable_text",
    "view_of",
]

_HOMES = {
    "RESUME_LINE": "resume",
    "SessionView": "view",
    "Translator": "translate",
    "decode_event": "codec",
    "decode_item": "codec",
    "describe_call": "tools",
    "encode_event": "codec",
    "events_of_recording": "recording",
    "find_resume_token": "resume",
    "items_of_recording": "recording",
    "resume_line": "resume",
    "searchable_text": "codec",
    "view_of": "reduce",
}
"""Where each name lives, if not in `model`."""


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES.get(name, 'model')}", __name__), name)
    globals()[name] = value
    return value
