"""Reads the settings: the file, then the variables of the environment, which count more.

A project's own files are not looked at: a repository is somebody else's text, and settings decide what may run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.config.keys import KEYS, SECTIONS, Key, keys_of
from handrail.config.model import Config, Notify
from handrail.config.values import Unfit, checked, typed
from handrail.errors import ConfigError
from handrail.places import Places
from handrail.toml_text import NotToml, Place, line_of, parse_toml, place_in_words, toml_lines
from handrail.wording import did_you_mean

__all__ = [
    "LARGEST_FILE",
    "Origin",
    "Settings",
    "load_config",
    "load_settings",
    "parse_config",
    "read_file",
    "value_of",
]

LARGEST_FILE = 1024 * 1024
ONE_EACH = "needs a command or a webhook, and not both: write one [[notify]] for each"

Origin: TypeAlias = Literal["default", "file", "environment"]
Problem: TypeAlias = tuple[Place, str]


class Settings(msgspec.Struct, frozen=True):
    """The settings in force, and where each that is not a default comes from."""

    config: Config
    origins: Mapping[str, Origin]


def load_config(places: Places, environ: Mapping[str, str]) -> Config:
    """The settings in force. Raises `ConfigError`, which says everything that is wrong with them."""
    return load_settings(places, environ).config


def load_settings(places: Places, environ: Mapping[str, str]) -> Settings:
    """The same, with where each comes from."""
    data = read_file(places.config_file)
    written = _values(data, places.config_file) if data is not None else {}
    given = _from_environment(environ)
    origins: dict[str, Origin] = {**dict.fromkeys(written, "file"), **dict.fromkeys(given, "environment")}
    config = _config({**written, **given})
    _check_together(config, places.config_file if not given else f"{places.config_file} and the environment")
    return Settings(config, origins)


def parse_config(data: bytes, path: str) -> Config:
    """What a file says. Raises `ConfigError`: file, line, key, what stands there and what may."""
    config = _config(_values(data, path))
    _check_together(config, path)
    return config


def read_file(path: str) -> bytes | None:
    """The file's content; None if there is none."""
    try:
        # Not blocking, because opening a named pipe would wait for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    try:
        with open(handle, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if data is None or len(data) > LARGEST_FILE:
        raise ConfigError(f"{path} is not a file of settings: it is larger than {LARGEST_FILE // 1024} KiB, or no file")
    return data


def value_of(config: Config, key: Key) -> Any:
    """What a setting is."""
    value: Any = config
    for part in key.name.split("."):
        value = getattr(value, part)
    return value


# ---------------------------------------------------------------- the file


def _values(data: bytes, path: str) -> dict[str, Any]:
    """The checked value of each key that the file sets."""
    try:
        text, tables = parse_toml(data)
    except NotToml as error:
        column = f", column {error.column}" if error.column else ""
        raise ConfigError(f"{path}, line {error.line}{column}: {error}") from error
    reader = _Reader()
    values = reader.read(tables)
    if reader.problems:
        raise ConfigError("\n".join(_in_words(reader.problems, path, toml_lines(text))))
    return values


def _in_words(problems: Iterable[Problem], path: str, lines: Mapping[Place, int]) -> list[str]:
    placed = sorted((line_of(place, lines), place_in_words(place), message) for place, message in problems)
    return [f"{path}, line {line}, {key}: {message}" for line, key, message in placed]


class _Reader:
    """Reads the tables of one file, and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def read(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, table in tables.items():
            kind = SECTIONS.get(name)
            if kind is None:
                self._unknown_table(name)
            elif kind is Notify:
                values[name] = tuple(self._notify(table))
            elif self._is_table(table, (name,)):
                values.update({f"{name}.{last}": value for last, value in self._table(table, kind, (name,))})
        return values

    def _unknown_table(self, name: str) -> None:
        same_last = [key.name for key in KEYS.values() if key.last == name and key.name != name]
        hint = f": it belongs into [{same_last[0].split('.')[0]}]" if same_last else did_you_mean(name, SECTIONS)
        self.problems.append(((name,), f"there is no such {'key here' if same_last else 'table'}{hint}"))

    def _table(self, table: Mapping[str, Any], kind: type[msgspec.Struct], place: Place) -> Iterator[tuple[str, Any]]:
        known = {key.last: key for key in keys_of(kind, str(place[0]))}
        for last, value in table.items():
            key = known.get(last)
            if key is None:
                self.problems.append(((*place, last), f"there is no such key{did_you_mean(last, known)}"))
                continue
            try:
                yield last, checked(value, key)
            except Unfit as error:
                self.problems.append(((*place, last, *error.at), str(error)))

    def _notify(self, tables: Any) -> Iterator[Notify]:
        if not isinstance(tables, list):
            self.problems.append((("notify",), "must be [[notify]], in two pairs of brackets"))
            return
        for index, table in enumerate(tables):
            place = ("notify", index)
            if not self._is_table(table, place):
                continue
            before = len(self.problems)
            notify = Notify(**dict(self._table(table, Notify, place)))
            if len(self.problems) == before and (notify.command is None) == (notify.webhook is None):
                self.problems.append(
                    (place, "needs a command or a webhook, and not both: write one [[notify]] for each")
                )
            yield notify

    def _is_table(self, table: Any, place: Place) -> bool:
        if isinstance(table, dict):
            return True
        name = place_in_words(place)
        self.problems.append((place, f"must be a table: write [{name}] on a line of its own, its keys below"))
        return False


# ---------------------------------------------------------------- the environment


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    problems = []
    for key in KEYS.values():
        text = environ.get(key.variable or "")
        if key.variable is None or not text:
            continue
        try:
            values[key.name] = checked(typed(text, key), key)
        except Unfit as error:
            problems.append(f"{key.variable} in the environment ({key.name}): {error}")
    if problems:
        raise ConfigError("\n".join(problems))
    return values


# ---------------------------------------------------------------- everything together


def _config(values: Mapping[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name != "notify":
            section, _, last = name.partition(".")
            sections.setdefault(section, {})[last] = value
    tables: dict[str, Any] = {name: SECTIONS[name](**fields) for name, fields in sections.items()}
    return Config(**tables, notify=values.get("notify", ()))


def _check_together(config: Config, where: str) -> None:
    claude = config.claude
    if claude.dangerously_skip_permissions and claude.permission_mode not in ("default", "bypassPermissions"):
        raise ConfigError(
            f"{where}: claude.dangerously_skip_permissions starts sessions in bypassPermissions, not in "
            f"{claude.permission_mode}: unset it, or claude.permission_mode"
        )
    ids = [user.id for user in config.telegram.users]
    if twice := next((each for each in ids if ids.count(each) > 1), None):
        raise ConfigError(f"{where}: telegram.users has {twice} twice: one person has one role")
    if claude.fallback_model is not None and claude.fallback_model == claude.model:
        raise ConfigError(f"{where}: claude.fallback_model must be another model than claude.model: unset it")
