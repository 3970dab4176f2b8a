"""How the Messages API puts a reply on the wire: one JSON message, server-sent events, or an error."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from handrail.testing.replies import APIError, Block, RawBlock, Reply, Text, Thinking, ToolUse

__all__ = ["EncodedReply", "StreamEvent", "encode_error", "encode_event", "error_event"]

# Small and constant, so that a script never triggers automatic compaction unless it says so with `usage`.
_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 10,
}


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event; only deltas count for a reply's pace and faults."""

    data: bytes
    is_delta: bool


class EncodedReply:
    """A reply as played once: with ids of its own, so that playing it again gives a different message."""

    def __init__(self, reply: Reply, model: str) -> None:
        self._reply = reply
        self._content = [_content_block(block) for block in reply.blocks]
        self._usage = _USAGE | reply.usage
        self._message = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "stop_sequence": None,
        }

    def message(self) -> bytes:
        """The answer to a request that does not stream."""
        whole = {"content": self._content, "stop_reason": self._reply.stop_reason, "usage": self._usage}
        return msgspec.json.encode(self._message | whole)

    def start(self) -> StreamEvent:
        """The event that opens every stream."""
        opening: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "usage": self._usage | {"output_tokens": 1},
        }
        return _event("message_start", message=self._message | opening)

    def events(self) -> Iterator[StreamEvent]:
        """All events of the stream, in the order of the real API."""
        yield self.start()
        yield _event("ping")
        for index, (block, content) in enumerate(zip(self._reply.blocks, self._content, strict=True)):
            yield _event("content_block_start", index=index, content_block=_opening_block(block, content))
            for delta in _deltas(block, self._reply.deltas):
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        end = {"stop_reason": self._reply.stop_reason, "stop_sequence": None}
        yield _event("message_delta", delta=end, usage=self._usage)
        yield _event("message_stop")


def encode_error(error: APIError) -> bytes:
    """The JSON body of an error answer."""
    return msgspec.json.encode(_error_body(error))


def error_event(error: APIError) -> StreamEvent:
    """The event with which a stream that had begun well says that it failed."""
    return StreamEvent(encode_event("error", _error_body(error)), is_delta=False)


def encode_event(name: str, body: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(body))


def _error_body(error: APIError) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": error.type, "message": error.message},
        "request_id": f"req_{uuid.uuid4().hex}",
    }


def _event(kind: str, **fields: Any) -> StreamEvent:
    return StreamEvent(encode_event(kind, {"type": kind, **fields}), is_delta=kind == "content_block_delta")


def _content_block(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case ToolUse(name, input, id):
            return {
                "type": "tool_use",
                "id": id or f"toolu_{uuid.uuid4().hex}",
                "name": name,
                "input": dict(input),
            }
        case RawBlock(raw):
            return dict(raw)


def _opening_block(block: Block, content: dict[str, Any]) -> dict[str, Any]:
    """The block as `content_block_start` shows it: empty where deltas will fill it."""
    match block:
        case Text():
            return content | {"text": ""}
        case Thinking():
            return content | {"thinking": "", "signature": ""}
        case ToolUse():
            return content | {"input": {}}
        case RawBlock():
            return content


def _deltas(block: Block, count: int) -> Iterable[dict[str, Any]]:
    match block:
        case Text(text):
            return [{"type": "text_delta", "text": piece} for piece in _pieces(text, count)]
        case Thinking(text, signature):
            thinking = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text, count)]
            return [*thinking, {"type": "signature_delta", "signature": signature}]
        case ToolUse(input=input):
            written = msgspec.json.encode(input).decode()
            return [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(written, count)]
        case RawBlock():
            return []


def _pieces(text: str, count: int) -> list[str]:
    """Cut into `count` pieces that differ in length by one character at most, none of them empty."""
    count = min(count, len(text))
    cuts = [len(text) * number // count for number in range(count + 1)] if count else []
    return [text[start:end] for start, end in pairwise(cuts)]
