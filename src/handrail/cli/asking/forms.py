"""Reading what was typed into a form's field at the terminal."""

from __future__ import annotations

from typing import Any

from handrail.policy.answers.forms import Field, form_fields

__all__ = ["Field", "form_fields", "pick", "read_value"]


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
