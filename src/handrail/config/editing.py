"""Changes the file of settings: comments and layout survive, and what is not valid is never written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from handrail import whole_files
from handrail.config.keys import Key, split_name
from handrail.config.model import TelegramUser
from handrail.config.reading import parse_config, read_file
from handrail.config.template import template
from handrail.config.values import Unfit, checked, typed
from handrail.errors import ConfigError
from handrail.places import Places
from handrail.toml_text import NotToml, parse_toml

__all__ = ["add_telegram_user", "edit_settings", "set_value", "unset_value"]


def set_value(places: Places, name: str, texts: Sequence[str]) -> Any:
    """Set one setting to what was typed; several texts make a list. Returns the value."""
    key, inside = split_name(name)
    value = _typed_value(key, inside, texts)
    with _changing(places) as change:
        change(lambda document: _put(document, key, inside, value))
    return value


def unset_value(places: Places, name: str) -> bool:
    """Take a setting out of the file, so that its default holds; returns whether it was there."""
    key, inside = split_name(name)
    with _changing(places) as change:
        return change(lambda document: _remove(document, [*key.name.split("."), *([inside] if inside else [])]))


def add_telegram_user(places: Places, user: TelegramUser, *, api_url: str | None = None) -> None:
    """Let somebody use the Telegram bot, or change what they may do there; with `api_url`, also where the bot lives."""
    entry = msgspec.to_builtins(user)

    def apply(document: MutableMapping[str, Any]) -> bool:
        telegram = document.setdefault("telegram", tomlkit.table())
        if api_url is not None:
            telegram["api_url"] = api_url
        users = telegram.setdefault("users", tomlkit.aot())
        known = next((each for each in users if isinstance(each, dict) and each.get("id") == user.id), None)
        if known is not None:
            known.update(entry)
        else:
            users.append(_new_entry(entry, users))
        return True

    with _changing(places) as change:
        change(apply)


def _new_entry(entry: Mapping[str, Any], entries: Any) -> Any:
    """One more table of a list, written as the others are: below a line in brackets, or inside of the list."""
    is_apart = isinstance(entries, AoT)
    table: Any = tomlkit.table() if is_apart else tomlkit.inline_table()
    table.update(entry)
    if is_apart:
        table.trivia.indent = "\n"
    return table


def _typed_value(key: Key, inside: str | None, texts: Sequence[str]) -> Any:
    where = f"{key.name}.{inside}" if inside else key.name
    if inside is not None:
        if len(texts) != 1:
            raise ConfigError(f"{where}: must be one text, not {len(texts)}")
        return texts[0]
    if len(texts) > 1 and not key.is_list:
        raise ConfigError(f"{where}: must be {key.wanted}, not {len(texts)} values: put quotes around them")
    value = typed(texts[0], key) if len(texts) == 1 else list(texts)
    try:
        checked(value, key)
    except Unfit as error:
        raise ConfigError(f"{where}: {error}") from None
    return value


# ---------------------------------------------------------------- the text

Change = Callable[[MutableMapping[str, Any]], bool]


@contextmanager
def _changing(places: Places) -> Iterator[Callable[[Change], bool]]:
    """Gives what changes the file in one step, beside other processes that do the same."""
    path = _real(places.config_file)
    with _locked(path):

        def change(apply: Change) -> bool:
            before = read_file(path) or b""
            document = _document(before, path)
            if not apply(document):
                return False
            after = tomlkit.dumps(document).encode()
            parse_config(after, path)
            _write(path, after)
            return True

        yield change


def _document(data: bytes, path: str) -> tomlkit.TOMLDocument:
    try:
        text, _ = parse_toml(data)
        return tomlkit.parse(text)
    except (NotToml, TOMLKitError) as error:
        line = f", line {error.line}" if isinstance(error, NotToml) else ""
        raise ConfigError(f"{path}{line}: {error}; repair it first: handrail config edit") from error


def _put(document: MutableMapping[str, Any], key: Key, inside: str | None, value: Any) -> bool:
    *tables, last = [*key.name.split("."), *([inside] if inside else [])]
    table = document
    for name in tables:
        table = table.setdefault(name, tomlkit.table())
    table[last] = value
    return True


def _remove(document: MutableMapping[str, Any], path: list[str]) -> bool:
    table: Any = document
    for name in path[:-1]:
        table = table.get(name, {})
    if path[-1] not in table:
        return False
    del table[path[-1]]
    return True


# ---------------------------------------------------------------- with an editor

Editor = Callable[[str], None]
"""Lets a person edit the file at a path. Raises `ConfigError` if there is no editor or it failed."""
EditAgain = Callable[[ConfigError], bool]
"""Tells the person what is wrong, and whether to edit again."""


def edit_settings(places: Places, editor: Editor, again: EditAgain) -> bool:
    """Let a person edit a copy, which takes the file's place once it is valid; returns whether anything changed."""
    path = _real(places.config_file)
    before = read_file(path)
    copy = _copy(path, template().encode() if before is None else before)
    try:
        after = _edited(copy, path, editor, again)
        if after is None or after == (template().encode() if before is None else before):
            return False
        with _locked(path):
            if read_file(path) != before:
                kept, copy = copy, ""
                raise ConfigError(f"{path} was changed meanwhile: yours is kept in {kept}, put them together by hand")
            _write(path, after)
        return True
    finally:
        with suppress(OSError):
            os.unlink(copy)


def _edited(copy: str, path: str, editor: Editor, again: EditAgain) -> bytes | None:
    """What the copy holds once it is valid; None if the person gave up."""
    while True:
        editor(copy)
        try:
            after = read_file(copy) or b""
            parse_config(after, path)
        except ConfigError as error:
            if not again(error):
                return None
        else:
            return after


def _copy(path: str, data: bytes) -> str:
    """A private copy. Its name ends as that of the file does, for the editor's colours."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle, copy = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".edited-", suffix=".toml")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ConfigError(f"{path} cannot be edited: {error.strerror}") from error
    return copy


# ---------------------------------------------------------------- the file


def _real(path: str) -> str:
    """The file behind a link, as people who keep their settings in a repository have: it is what is replaced."""
    return os.path.realpath(path)


def _write(path: str, data: bytes) -> None:
    try:
        whole_files.write_whole(path, data)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; it is as it was") from error


@contextmanager
def _locked(path: str) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(whole_files.locked(path))
        except OSError as error:
            raise ConfigError(f"{path} cannot be locked: {error.strerror}") from error
        yield
