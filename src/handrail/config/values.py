"""Values of settings: from what somebody typed, checked, and shown again without giving secrets away."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from handrail.config.keys import HIDDEN, Key
from handrail.toml_text import Place
from handrail.wording import did_you_mean

__all__ = ["Unfit", "checked", "shown", "typed"]

_ITEM = re.compile(r"at `\$\[(\d+)\][^`]*`$")
LONGEST_SHOWN = 60


class Unfit(ValueError):
    """A value that does not fit; the message says what would. `at` is where inside it."""

    def __init__(self, message: str, at: Place = ()) -> None:
        super().__init__(message)
        self.at = at


def checked(value: Any, key: Key) -> Any:
    """The value of a key, if it is one; else `Unfit`."""
    try:
        fitting = msgspec.convert(value, key.type)
    except msgspec.ValidationError as error:
        raise _unfit(value, key, str(error)) from None
    if key.name == "claude.cli_path" and "/" in fitting and not fitting.startswith(("/", "~/")):
        raise Unfit(
            "must be an absolute path, one from ~/, or a name on PATH, not "
            f"{_found(value, key)}: that is another file in each directory"
        )
    return fitting


def _unfit(value: Any, key: Key, said: str) -> Unfit:
    item = _ITEM.search(said)
    if item is None:
        return Unfit(f"must be {key.wanted}, not {_found(value, key)}{_near(value, key.choices)}")
    index = int(item[1])
    found = HIDDEN if key.secretive else _found(value[index], key)
    return Unfit(f"must be {key.item_wanted}, not {found}{_near(value[index], key.item_choices)}", at=(index,))


def typed(text: str, key: Key) -> Any:
    """A value that was typed, or stands in a variable: TOML, or else plain text."""
    value = _toml_value(text)
    if key.is_text and not isinstance(value, str):
        return text
    if key.is_list and isinstance(value, str):
        return [value]
    return value


def shown(value: Any, key: Key) -> str:
    """A value as it may be printed, in TOML; empty if there is none."""
    if value is None:
        return ""
    if key.name == "notify":
        return _inline([_public(msgspec.to_builtins(each)) for each in value])
    return _inline(dict.fromkeys(value, HIDDEN) if key.secretive else msgspec.to_builtins(value))


def _public(notify: dict[str, Any]) -> dict[str, Any]:
    hidden = {name: HIDDEN for name in ("command", "webhook") if notify.get(name) is not None}
    return {"on": notify["on"], **hidden}


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(each) for each in value) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(msgspec.json.encode(value), "utf-8")


def _near(value: Any, choices: tuple[str, ...]) -> str:
    hint = did_you_mean(value, choices) if isinstance(value, str) and len(choices) > 1 else ""
    return hint if "did you mean" in hint else ""


def _found(value: Any, key: Key) -> str:
    if key.secretive:
        return HIDDEN
    text = str(value) if isinstance(value, float) else str(msgspec.json.encode(value, enc_hook=str), "utf-8")
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def _toml_value(text: str) -> Any:
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return document["value"] if len(document) == 1 else text
