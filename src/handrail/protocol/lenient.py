"""Reading what does not quite fit: plain JSON values into structs, keeping all that can be kept.

The codec decodes straight into structs; only what msgspec refuses comes here. A struct is then read field by field: a
field of the wrong type keeps its default and is reported, a tagged value with an unknown tag becomes the union's
`Unknown`, and everything else is as it would have been.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from handrail.protocol.blocks import Unknown

__all__ = ["convert", "plain_object", "plain_value"]

T = TypeVar("T")

INVALID: Any = object()


def convert(value: Any, into: type[T]) -> tuple[T, tuple[str, ...]]:
    """`value` as a struct of type `into`, and what did not fit, in words."""
    problems: list[str] = []
    info: Any = into  # a class is hashable, which the cache's type cannot know of a type variable
    result = _read(value, _type_info(info), "", problems)
    if result is INVALID:
        result = into()
    return result, tuple(problems)


def plain_value(line: bytes | bytearray) -> Any:
    """The JSON value of a line. Bytes and escapes that are no text (a lone surrogate) are read as U+FFFD.

    Raises ValueError for what is not JSON at all, RecursionError for what is nested too deeply.
    """
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        import json  # for the few lines that msgspec refuses

        return _without_surrogates(json.loads(line.decode("utf-8", "replace")))


def plain_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; an empty one if it is not an object."""
    try:
        value = plain_value(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _without_surrogates(value: Any) -> Any:
    """A JavaScript string may hold half a surrogate pair; such a string could never be written back as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


@cache
def _type_info(cls: Any) -> inspect.Type:
    return inspect.type_info(cls)


def _read(value: Any, info: inspect.Type, path: str, problems: list[str]) -> Any:
    if isinstance(info, inspect.UnionType):
        return _read_union(value, info, path, problems)
    if isinstance(info, inspect.StructType):
        return _read_struct(value, info, path, problems)
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        return _read_sequence(value, info, path, problems)
    if isinstance(info, inspect.DictType):
        return _read_mapping(value, info, path, problems)
    if isinstance(info, inspect.RawType):
        return msgspec.Raw(msgspec.json.encode(value))
    if _fits(value, info):
        return float(value) if isinstance(info, inspect.FloatType) else value
    problems.append(f"{path or 'value'}: expected {_name(info)}, got {_name_of(value)}")
    return INVALID


def _read_struct(value: Any, info: inspect.StructType, path: str, problems: list[str]) -> Any:
    if not isinstance(value, dict):
        problems.append(f"{path or 'value'}: expected an object, got {_name_of(value)}")
        return INVALID
    fields = {}
    for field in info.fields:
        where = _join(path, field.encode_name)
        if field.encode_name in value:
            item = _read(value[field.encode_name], field.type, where, problems)
            if item is not INVALID:
                fields[field.name] = item
        elif field.required:
            problems.append(f"{where}: missing")
        if field.required and field.name not in fields:
            return INVALID
    return info.cls(**fields)


def _read_union(value: Any, info: inspect.UnionType, path: str, problems: list[str]) -> Any:
    if isinstance(value, dict):
        structs = [member for member in info.types if isinstance(member, inspect.StructType)]
        for member in structs:
            if member.tag_field is None or value.get(member.tag_field) == member.tag:
                return _read_struct(value, member, path, problems)
        if any(member.cls is Unknown for member in structs):
            return Unknown(data=value)
    for kind in info.types:
        if not isinstance(kind, inspect.StructType) and _fits_shape(value, kind):
            return _read(value, kind, path, problems)
    expected = " or ".join(_name(member) for member in info.types)
    problems.append(f"{path or 'value'}: expected {expected}, got {_name_of(value)}")
    return INVALID


def _read_sequence(value: Any, info: inspect.VarTupleType | inspect.ListType, path: str, problems: list[str]) -> Any:
    if not isinstance(value, list):
        problems.append(f"{path or 'value'}: expected an array, got {_name_of(value)}")
        return INVALID
    items = [_read(item, info.item_type, f"{path}[{n}]", problems) for n, item in enumerate(value)]
    if INVALID in items:
        return INVALID
    return tuple(items) if isinstance(info, inspect.VarTupleType) else items


def _read_mapping(value: Any, info: inspect.DictType, path: str, problems: list[str]) -> Any:
    if not isinstance(value, dict):
        problems.append(f"{path or 'value'}: expected an object, got {_name_of(value)}")
        return INVALID
    items = {key: _read(item, info.value_type, _join(path, key), problems) for key, item in value.items()}
    return INVALID if INVALID in items.values() else items


def _fits_shape(value: Any, info: inspect.Type) -> bool:
    if isinstance(info, inspect.StructType | inspect.DictType):
        return isinstance(value, dict)
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        return isinstance(value, list)
    return _fits(value, info)


def _fits(value: Any, info: inspect.Type) -> bool:
    match info:
        case inspect.AnyType():
            return True
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.FloatType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case inspect.LiteralType(values=values):
            return value in values
    return False


_NAMES = {
    inspect.NoneType: "null",
    inspect.BoolType: "a boolean",
    inspect.StrType: "a string",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.StructType: "an object",
    inspect.DictType: "an object",
    inspect.VarTupleType: "an array",
    inspect.ListType: "an array",
}


def _name(info: inspect.Type) -> str:
    if isinstance(info, inspect.LiteralType):
        return " or ".join(map(repr, info.values))
    return _NAMES.get(type(info), "another type")


def _name_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
    return "an object"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
