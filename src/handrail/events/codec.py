"""Events and deltas as JSON, and back.

Encoding never fails: what JSON cannot hold (half a surrogate pair, a number beyond 64 bits, endless nesting) is
replaced by what it can hold. Decoding never fails either: a type that this version does not know becomes an `Unknown`
with all of it, so a journal that a newer Handrail wrote stays readable.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from handrail.events.model import (
    Action,
    AnyEvent,
    AskClosed,
    AskOpened,
    Completed,
    Delta,
    Event,
    Prompt,
    Task,
    Text,
    Titled,
    Unknown,
)
from handrail.protocol.lenient import plain_value

__all__ = ["decode_event", "decode_item", "encode_event", "searchable_text"]

DEEPEST = 64
LARGEST_INTEGER = 2**63 - 1
LONGEST_SEARCHED = 64 * 1024

_EVENT_TYPES: dict[str, type[Event]] = {str(cls.__struct_config__.tag): cls for cls in AnyEvent.__args__}

_encode = msgspec.json.Encoder().encode


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    """Made when it is first needed: building it takes longer than importing this module."""
    return msgspec.json.Decoder(AnyEvent | Delta)


def encode_event(event: Event | Delta) -> bytes:
    """An event, or a delta, as one line of JSON without newline."""
    try:
        return _encode(event)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _encode(_plain(event, DEEPEST))


def decode_event(data: bytes) -> Event:
    """The event of a line of JSON."""
    item = decode_item(data)
    if isinstance(item, Delta):
        return Unknown(frame_type="delta", frame=msgspec.to_builtins(item))
    return item


def decode_item(data: bytes) -> Event | Delta:
    """The event or the delta of a line of JSON."""
    try:
        item: Event | Delta = _decoder().decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(data)
    return item


def searchable_text(event: Event) -> str:
    """What a search should find an event by; empty for most."""
    words = _SEARCHED.get(type(event))
    return words(event)[:LONGEST_SEARCHED] if words is not None else ""


# ---------------------------------------------------------------- what does not quite fit


def _decode_leniently(data: bytes) -> Event:
    try:
        value = plain_value(data)
    except (ValueError, RecursionError):
        return Unknown(frame_type="(not JSON)", frame=data.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        return Unknown(frame_type="(not an event)", frame=value)
    name = value.get("type")
    known = _EVENT_TYPES.get(name) if isinstance(name, str) else None
    event = _read_fields(value, known) if known is not None else None
    return event if event is not None else _unknown(value)


def _read_fields(value: dict[str, Any], known: type[Event]) -> Event | None:
    """The event with every field that fits; None if one that it needs does not."""
    fitting: dict[str, Any] = {}
    for field in msgspec.structs.fields(known):
        if field.encode_name in value:
            try:
                fitting[field.name] = msgspec.convert(value[field.encode_name], field.type)
            except msgspec.ValidationError:
                if field.required:
                    return None
        elif field.required:
            return None
    return known(**fitting)


def _unknown(value: dict[str, Any]) -> Unknown:
    place = _read_fields(value, Event) or Event()
    return Unknown(seq=place.seq, at=place.at, run=place.run, frame_type=str(value.get("type", "")), frame=value)


def _plain(value: Any, depth: int) -> Any:
    """`value` with nothing in it that JSON cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_INTEGER else float(str(value))
    if depth == 0:
        return "(nested too deeply)"
    if isinstance(value, msgspec.Struct):
        return _plain(_members(value), depth)
    if isinstance(value, dict):
        return {_plain(str(key), depth): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth - 1) for item in value]
    return _plain(str(value), depth)


def _members(value: msgspec.Struct) -> dict[str, Any]:
    """What JSON has of a struct."""
    members = {field.encode_name: getattr(value, field.name) for field in msgspec.structs.fields(value)}
    tag = value.__struct_config__.tag
    return members if tag is None else {"type": tag, **members}


# ---------------------------------------------------------------- what a search finds


def _action_words(event: Action) -> str:
    """The title and the command: of the start only, since every phase repeats them."""
    if event.phase == "updated" or (event.phase == "completed" and event.detail.get("tool_use_id")):
        return ""
    words: list[Any] = [event.title]
    call = event.detail.get("tool_input")
    if isinstance(call, dict):
        words += [call[name] for name in ("command", "file_path", "description", "prompt") if name in call]
    words.append(event.detail.get("text"))
    return _joined(words)


def _prompt_words(event: Prompt) -> str:
    if isinstance(event.content, str):
        return event.content
    if not isinstance(event.content, list | tuple):
        return ""
    return _joined([block.get("text") for block in event.content if isinstance(block, dict)])


def _joined(words: list[Any]) -> str:
    """Each text once, in order."""
    return "\n".join(dict.fromkeys(word for word in words if isinstance(word, str) and word))


_SEARCHED: dict[type[Event], Callable[[Any], str]] = {
    Text: lambda event: str(event.text),
    Prompt: _prompt_words,
    Action: _action_words,
    AskOpened: lambda event: str(event.title),
    AskClosed: lambda event: str(event.message),
    Completed: lambda event: event.error or "",
    Task: lambda event: _joined([event.title, event.summary]) if event.phase != "updated" else "",
    Titled: lambda event: str(event.title),
}
