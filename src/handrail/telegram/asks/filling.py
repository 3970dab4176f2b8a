"""Filling in an MCP server's form step by step. Pure: what was pressed or written in, how far it came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from handrail.errors import UnfitAnswer
from handrail.policy.answers.forms import Field, check_elicited
from handrail.protocol.asks import Ask, Elicited
from handrail.telegram.asks.not_understood import NotUnderstood

__all__ = ["Filling", "begun", "can_be_left_out", "filled_in", "picked", "pressed", "problem", "value_of", "written"]

YES = ("y", "yes", "true")
NO = ("n", "no", "false")


class Filling(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far somebody came: the field that is asked for, counted from 0, and the values so far.

    `at` behind the last field is the look at all of them. `digest` says which ask this belongs to. `heard` is the id of
    the last message that was taken, so that none is taken twice.
    """

    digest: str
    at: int = 0
    values: dict[str, Any] = {}
    heard: int = 0


def begun(digest: str) -> Filling:
    """Nothing is filled in yet."""
    return Filling(digest)


def pressed(filling: Filling, fields: Sequence[Field], do: str, number: int) -> Filling:
    """What a button does: `take` or `drop` a choice, `yes`, `no`, `default`, `leave` out, `next`, `back`, `go`."""
    if do == "go":
        return _at(filling, fields, number)
    if do == "back":
        return _at(filling, fields, filling.at - 1)
    if filling.at >= len(fields):
        return filling
    field = fields[filling.at]
    if do in ("take", "drop") and 0 <= number < len(field.choices):
        return _taken(filling, fields, field, number, is_taken=do == "take")
    if do in ("yes", "no") and field.kind == "boolean":
        return _answered(filling, fields, field, do == "yes")
    if do == "default" and field.default is not None:
        return _answered(filling, fields, field, field.default)
    if do == "leave" and can_be_left_out(field):
        return _at(_without(filling, field), fields, filling.at + 1)
    if do == "next" and field.several and (field.name in filling.values or can_be_left_out(field)):
        return _at(filling, fields, filling.at + 1)
    return filling


def written(filling: Filling, fields: Sequence[Field], text: str) -> Filling:
    """A value that was written. Raises `NotUnderstood` with what to write instead."""
    if filling.at >= len(fields):
        raise NotUnderstood("every value is there: press Send, or Change for the one that is to be another")
    field = fields[filling.at]
    return _answered(filling, fields, field, _read(field, text.strip()))


def can_be_left_out(field: Field) -> bool:
    return not field.required


def value_of(filling: Filling, field: Field) -> str:
    """A value as it is shown; empty if there is none."""
    if field.name not in filling.values:
        return ""
    value = filling.values[field.name]
    shown = {_key(each): words for each, words in field.choices}
    chosen = value if isinstance(value, list) else [value]
    return ", ".join(shown.get(_key(each)) or _plainly(each) for each in chosen)


def picked(filling: Filling, field: Field) -> set[int]:
    """The positions of the choices that are taken."""
    value = filling.values.get(field.name)
    chosen = {_key(each) for each in (value if isinstance(value, list) else [value])} if value is not None else set()
    return {position for position, (each, _) in enumerate(field.choices) if _key(each) in chosen}


def filled_in(filling: Filling) -> Elicited:
    """The answer that sends the values as they are."""
    return Elicited("accept", dict(filling.values))


def problem(ask: Ask, filling: Filling) -> str:
    """Why the values do not fit the form; empty if they do."""
    try:
        check_elicited(ask, filled_in(filling))
    except UnfitAnswer as error:
        return str(error)
    return ""


# ---------------------------------------------------------------- moves


def _taken(filling: Filling, fields: Sequence[Field], field: Field, number: int, *, is_taken: bool) -> Filling:
    if not field.several:
        return _answered(filling, fields, field, field.choices[number][0]) if is_taken else filling
    others = picked(filling, field) - {number}
    positions = sorted(others | {number} if is_taken else others)
    if not positions:
        return _without(filling, field)
    return _with(filling, field, [field.choices[position][0] for position in positions])


def _answered(filling: Filling, fields: Sequence[Field], field: Field, value: Any) -> Filling:
    return _at(_with(filling, field, value), fields, filling.at + 1)


def _with(filling: Filling, field: Field, value: Any) -> Filling:
    return msgspec.structs.replace(filling, values={**filling.values, field.name: value})


def _without(filling: Filling, field: Field) -> Filling:
    kept = {name: value for name, value in filling.values.items() if name != field.name}
    return msgspec.structs.replace(filling, values=kept)


def _at(filling: Filling, fields: Sequence[Field], position: int) -> Filling:
    return msgspec.structs.replace(filling, at=max(0, min(position, len(fields))))


# ---------------------------------------------------------------- reading what was written


def _read(field: Field, text: str) -> Any:
    if field.several:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            raise NotUnderstood("write at least one value; several with commas")
        return list(dict.fromkeys(_choice(field, part) if field.choices else _scalar(field, part) for part in parts))
    return _choice(field, text) if field.choices else _scalar(field, text)


def _choice(field: Field, text: str) -> Any:
    """A choice by its number or its words."""
    for value, shown in field.choices:
        if text.casefold() in (shown.casefold(), _plainly(value).casefold()):
            return value
    if text.isdecimal() and text.isascii() and 1 <= int(text) <= len(field.choices):
        return field.choices[int(text) - 1][0]
    raise NotUnderstood(f"press one of the choices, or write its number, from 1 to {len(field.choices)}")


def _scalar(field: Field, text: str) -> Any:
    if field.kind == "boolean":
        return _boolean(text)
    if field.kind in ("integer", "number"):
        return _in_range(field, _number(field, text))
    return text


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in YES or word in NO:
        return word in YES
    raise NotUnderstood("write yes or no")


def _number(field: Field, text: str) -> int | float:
    try:
        return int(text) if field.kind == "integer" else float(text)
    except ValueError:
        raise NotUnderstood("write a whole number" if field.kind == "integer" else "write a number") from None


def _in_range(field: Field, value: int | float) -> int | float:
    if field.minimum is not None and not value >= field.minimum:
        raise NotUnderstood(f"it must be at least {field.minimum:g}")
    if field.maximum is not None and not value <= field.maximum:
        raise NotUnderstood(f"it must be at most {field.maximum:g}")
    return value


def _key(value: Any) -> str:
    """Values are compared as JSON: 1 is not true there."""
    return msgspec.json.encode(value).decode()


def _plainly(value: Any) -> str:
    return value if isinstance(value, str) else _key(value)
