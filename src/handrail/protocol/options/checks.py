"""Checks that serve more than one option: each takes the option's name and a value, and raises `InvalidOptions`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias, cast

import msgspec

from handrail.errors import InvalidOptions

__all__ = [
    "Check",
    "amount",
    "checked_kind",
    "header",
    "json_object",
    "mapping",
    "needs",
    "one_of",
    "optional",
    "path",
    "prose",
    "sequence",
    "switch",
    "text",
    "uuid",
    "whole_number",
    "wrong_type",
]

Check: TypeAlias = Callable[[str, Any], None]


def wrong_type(name: str, expected: str, value: object) -> InvalidOptions:
    # The type and not the value: the value may be a secret in the wrong place.
    return InvalidOptions(f"{name} must be {expected}, not {type(value).__name__}")


def optional(check: Check) -> Check:
    def check_unless_none(name: str, value: Any) -> None:
        if value is not None:
            check(name, value)

    return check_unless_none


def switch(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise wrong_type(name, "True or False", value)


def prose(name: str, value: Any) -> None:
    """Text that may be empty."""
    if not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    if "\0" in value:
        raise InvalidOptions(f"{name} contains a NUL character, which no argument can carry: remove it")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidOptions(f"{name} contains half of a surrogate pair: it is not valid text") from None


def text(name: str, value: Any) -> None:
    prose(name, value)
    if not value:
        raise InvalidOptions(f"{name} is empty: give a value, or leave {name} out")


def header(name: str, value: Any) -> None:
    """Text that the CLI sends as the value of an HTTP header."""
    text(name, value)
    if not (value.isascii() and value.isprintable()):
        raise InvalidOptions(f"{name} is sent as an HTTP header: use printable ASCII characters only, in one line")


def path(name: str, value: Any) -> None:
    if not isinstance(value, (str, PurePath)):
        raise wrong_type(name, "a path", value)
    text(name, str(value))


def sequence(item: Check, expected: str) -> Check:
    def check(name: str, value: Any) -> None:
        # A string is a sequence of strings too: without this, "Bash" would become four tools.
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise wrong_type(name, f"a list of {expected}", value)
        for position, each in enumerate(value):
            item(f"{name}[{position}]", each)

    return check


def one_of(*choices: str) -> Check:
    def check(name: str, value: Any) -> None:
        if value not in choices:
            raise InvalidOptions(f"{name} must be one of {', '.join(choices)}, not {value!r}")

    return check


def whole_number(minimum: int) -> Check:
    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(name, "a whole number", value)
        if value < minimum:
            raise InvalidOptions(f"{name} must be at least {minimum}, not {value}")

    return check


def amount(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(name, "a number", value)
    if not math.isfinite(value) or value <= 0:
        raise InvalidOptions(f"{name} must be more than 0, not {value}")


def mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise wrong_type(name, "a mapping", value)
    for key in value:
        if not isinstance(key, str):
            raise wrong_type(f"each key of {name}", "a string", key)


def json_object(name: str, value: Any) -> None:
    mapping(name, value)
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptions(f"{name} cannot be written as JSON: {error}") from error


def uuid(name: str, value: Any) -> None:
    text(name, value)
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value):
        raise InvalidOptions(f"{name} must be a UUID such as str(uuid.uuid4()), not {value!r}")


def checked_kind(name: str, value: Mapping[str, Any], allowed: Mapping[str, Mapping[str, Check]]) -> str:
    """Check a mapping that has a `type`, whose other keys and their checks `allowed` lists. Returns the type."""
    kind = value.get("type")
    if kind not in allowed:
        raise InvalidOptions(f'{name} needs a "type", one of {", ".join(allowed)}, not {kind!r}')
    checks = allowed[cast(str, kind)]
    for key, each in value.items():
        if key != "type" and key not in checks:
            raise InvalidOptions(
                f"{name} of type {kind} has no {key!r}: it takes {', '.join(checks) or 'nothing else'}"
            )
        if key != "type":
            checks[key](f"{name}[{key!r}]", each)
    return cast(str, kind)


def needs(name: str, value: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if key not in value:
            raise InvalidOptions(f"{name} needs {key!r}")
