"""Reads fields of JSON objects that a call carries, and says what is wrong with them as the real server does."""

from __future__ import annotations

from typing import Any

__all__ = ["needed_number", "needed_object", "needed_text", "object_of", "text_in"]


def object_of(raw: Any, otherwise: str = "expected an Object") -> dict[str, Any]:
    """A value that must be an object. Raises `ValueError` with the given words."""
    if not isinstance(raw, dict):
        raise ValueError(otherwise)
    return raw


def needed_text(raw: dict[str, Any], name: str) -> str:
    """A text that must be there. Raises `ValueError`."""
    _check_present(raw, name)
    return text_in(raw, name)


def needed_number(raw: dict[str, Any], name: str) -> int:
    """A whole number that must be there; one in quotes counts, too. Raises `ValueError`."""
    _check_present(raw, name)
    value = raw[name]
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f'Field "{name}" must be of type Number')
    return value


def needed_object(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """An object that must be there. Raises `ValueError`."""
    _check_present(raw, name)
    return object_of(raw[name], f'Field "{name}" must be of type Object')


def text_in(raw: dict[str, Any], name: str) -> str:
    """A text, empty if it is not there; a number is taken as it is written. Raises `ValueError`."""
    value = raw.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f'Field "{name}" must be of type String')
    return str(value)


def _check_present(raw: dict[str, Any], name: str) -> None:
    if name not in raw:
        raise ValueError(f'Can\'t find field "{name}"')
