"""Streaming events: the body of a `stream_event` frame, as the Messages API sends it."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.protocol.blocks import Block, Message, Tagged, Unknown, Usage, Value

__all__ = [
    "CitationsDelta",
    "CompactionDelta",
    "ContentBlockDelta",
    "ContentBlockStart",
    "ContentBlockStop",
    "Delta",
    "InputJsonDelta",
    "MessageDelta",
    "MessageEnd",
    "MessageStart",
    "MessageStop",
    "Ping",
    "SignatureDelta",
    "StreamBody",
    "StreamError",
    "TextDelta",
    "ThinkingDelta",
]


class TextDelta(Tagged, tag="text_delta"):
    text: str = ""


class InputJsonDelta(Tagged, tag="input_json_delta"):
    partial_json: str = ""


class ThinkingDelta(Tagged, tag="thinking_delta"):
    thinking: str = ""
    estimated_tokens: int | None = None


class SignatureDelta(Tagged, tag="signature_delta"):
    signature: str = ""


class CitationsDelta(Tagged, tag="citations_delta"):
    citation: Any = None


class CompactionDelta(Tagged, tag="compaction_delta"):
    content: Any = None


Delta = TextDelta | InputJsonDelta | ThinkingDelta | SignatureDelta | CitationsDelta | CompactionDelta | Unknown


class MessageStart(Tagged, tag="message_start"):
    message: Message | None = None


class ContentBlockStart(Tagged, tag="content_block_start"):
    index: int = 0
    content_block: Block | None = None


class ContentBlockDelta(Tagged, tag="content_block_delta"):
    index: int = 0
    delta: Delta | None = None


class ContentBlockStop(Tagged, tag="content_block_stop"):
    index: int = 0


class MessageEnd(Value):
    """How a message ended."""

    stop_reason: str | None = None
    stop_sequence: str | None = None
    container: Any = None


class MessageDelta(Tagged, tag="message_delta"):
    delta: MessageEnd | None = None
    usage: Usage | None = None
    context_management: Any = None


class MessageStop(Tagged, tag="message_stop"):
    pass


class Ping(Tagged, tag="ping"):
    pass


class StreamError(Tagged, tag="error"):
    error: Any = msgspec.field(default=None)


StreamBody = (
    ContentBlockDelta
    | ContentBlockStart
    | ContentBlockStop
    | MessageStart
    | MessageDelta
    | MessageStop
    | Ping
    | StreamError
    | Unknown
)
