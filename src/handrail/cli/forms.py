"""A form from a JSON schema, as MCP servers send it to ask for values: its fields, and reading what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Field", "form_fields", "pick", "read_value"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One value to ask for. `choices` are (value, what is shown); `several` of them may be picked."""

    name: str
    title: str
    kind: str = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[tuple[Any, str], ...] = ()
    several: bool = False
    minimum: float | None = None
    maximum: float | None = None


def form_fields(request: Mapping[str, Any]) -> list[Field]:
    """The fields of an elicitation request, in the order in which the server wants them shown."""
    schema = _mapping(request.get("requested_schema"))
    properties = _mapping(schema.get("properties"))
    required = _list(schema.get("required"))
    order = [name for name in _list(request.get("property_order")) if name in properties]
    names = [*order, *(name for name in properties if name not in order)]
    return [_field(name, _mapping(properties[name]), name in required) for name in names]


def _field(name: str, schema: Mapping[str, Any], required: bool) -> Field:
    several = schema.get("type") == "array"
    item = _mapping(schema.get("items")) if several else schema
    return Field(
        name=name,
        title=str(schema.get("title") or name),
        kind=str(item.get("type", "string")),
        description=str(schema.get("description") or ""),
        required=required,
        default=schema.get("default"),
        choices=_choices(item),
        several=several,
        minimum=_number(item.get("minimum")),
        maximum=_number(item.get("maximum")),
    )


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[Any, str], ...]:
    for key in ("oneOf", "anyOf"):
        if titled := [_mapping(each) for each in _list(schema.get(key)) if "const" in _mapping(each)]:
            return tuple((each["const"], str(each.get("title") or each["const"])) for each in titled)
    values, names = _list(schema.get("enum")), _list(schema.get("enumNames"))
    return tuple((value, str(names[index] if index < len(names) else value)) for index, value in enumerate(values))


def read_value(field: Field, typed: str) -> Any:
    """The value that was typed for a field. Raises ValueError with what to type instead."""
    if field.choices:
        picked = [field.choices[index][0] for index in pick(typed, len(field.choices), several=field.several)]
        return picked if field.several else picked[0]
    if field.several:
        return [_scalar(field, part.strip()) for part in typed.split(",") if part.strip()]
    return _scalar(field, typed)


def pick(typed: str, count: int, *, several: bool) -> list[int]:
    """The numbers that were typed, counting from 1, as positions. Raises ValueError."""
    numbers = typed.replace(",", " ").split()
    if not numbers or not all(number.isdecimal() and 1 <= int(number) <= count for number in numbers):
        raise ValueError(f"type a number from 1 to {count}" + (", or several with commas" if several else ""))
    if len(numbers) > 1 and not several:
        raise ValueError("only one can be chosen")
    return [int(number) - 1 for number in dict.fromkeys(numbers)]


def _scalar(field: Field, typed: str) -> Any:
    if field.kind in ("integer", "number"):
        return _in_range(field, _parsed_number(field, typed))
    if field.kind == "boolean":
        return _parsed_boolean(typed)
    return typed


def _parsed_number(field: Field, typed: str) -> int | float:
    try:
        return int(typed) if field.kind == "integer" else float(typed)
    except ValueError:
        raise ValueError("type a whole number" if field.kind == "integer" else "type a number") from None


def _in_range(field: Field, value: int | float) -> int | float:
    if field.minimum is not None and value < field.minimum:
        raise ValueError(f"it must be at least {field.minimum:g}")
    if field.maximum is not None and value > field.maximum:
        raise ValueError(f"it must be at most {field.maximum:g}")
    return value


def _parsed_boolean(typed: str) -> bool:
    word = typed.strip().lower()
    if word in ("y", "yes", "true"):
        return True
    if word in ("n", "no", "false"):
        return False
    raise ValueError("type y or n")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
