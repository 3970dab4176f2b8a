"""JSON values from elsewhere as text, whatever they hold and however deeply they are nested."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from handrail.protocol.descriptions import InputField

__all__ = ["compact_json", "fields_of", "json_text", "storable", "strings_in", "text_in"]

DEEPEST_INDENT = 24
"""Beyond this depth nothing is indented further: the indents alone would outgrow the value."""


def storable(text: str) -> str:
    """`text` as UTF-8 can hold it: half a surrogate pair becomes U+FFFD, as wherever it is read from the wire."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def text_in(given: Mapping[str, Any], key: str) -> str:
    """The string at `key`; empty if there is none."""
    value = given.get(key)
    return storable(value) if isinstance(value, str) else ""


def fields_of(given: Mapping[str, Any], shown: Collection[str] = ()) -> tuple[InputField, ...]:
    """Every field that is not `shown` elsewhere, as it is or as JSON."""
    return tuple(_field(str(name), value) for name, value in given.items() if name not in shown)


def _field(name: str, value: Any) -> InputField:
    if isinstance(value, str):
        return InputField(name=storable(name), value=storable(value))
    return InputField(name=storable(name), value=json_text(value), is_json=True)


def strings_in(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys included."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting.extend(reversed([part for pair in item.items() for part in pair]))
        elif isinstance(item, list | tuple):
            waiting.extend(reversed(item))


def json_text(value: Any) -> str:
    """`value` as indented JSON. It does not recurse, so no depth is too deep."""
    return _written(value, 0)


def compact_json(value: Any) -> str:
    """`value` as JSON on one line."""
    return _written(value, DEEPEST_INDENT + 1)


def _written(value: Any, depth: int) -> str:
    pieces: list[str] = []
    # What is still to be written: a finished piece of text, or a value and its depth.
    waiting: list[str | tuple[Any, int]] = [(value, depth)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, depth = item
        if isinstance(node, Mapping) and node:
            waiting.extend(reversed(_object_parts(node, depth)))
        elif isinstance(node, list | tuple) and node:
            waiting.extend(reversed(_array_parts(node, depth)))
        else:
            pieces.append(_scalar(node))
    return "".join(pieces)


def _object_parts(node: Mapping[Any, Any], depth: int) -> list[str | tuple[Any, int]]:
    parts: list[str | tuple[Any, int]] = ["{"]
    for number, (key, value) in enumerate(node.items()):
        parts += [_gap(depth + 1, "," if number else ""), f"{_scalar(str(key))}: ", (value, depth + 1)]
    return [*parts, _gap(depth), "}"]


def _array_parts(node: list[Any] | tuple[Any, ...], depth: int) -> list[str | tuple[Any, int]]:
    parts: list[str | tuple[Any, int]] = ["["]
    for number, value in enumerate(node):
        parts += [_gap(depth + 1, "," if number else ""), (value, depth + 1)]
    return [*parts, _gap(depth), "]"]


def _gap(depth: int, before: str = "") -> str:
    return f"{before}\n{'  ' * depth}" if depth <= DEEPEST_INDENT else f"{before} " if before else ""


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(storable(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    try:
        return json.dumps(value)
    except (TypeError, ValueError):  # an integer with more digits than Python prints, or no JSON at all
        return hex(value) if isinstance(value, int) else json.dumps(storable(repr(value)), ensure_ascii=False)
