"""TOML texts: what they say, and on which line, for messages that people can act on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["NotToml", "Place", "line_of", "parse_toml", "place_in_words", "toml_lines"]

Place: TypeAlias = tuple[str | int, ...]
"""A key's path, and an item's index in the list that a key holds: `("allow", 2)`, `("notify", 0, "on")`."""

_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOKEN = re.compile(
    r"""
    (?P<comment> \#[^\n]*)
  | (?P<text> \"{3}(?:\\.|[^\\])*?\"{3,5}(?!\") | '{3}.*?'{3,5}(?!') | "(?:\\.|[^"\\\n])*" | '[^'\n]*')
  | (?P<sign> [\[\]{},=\n])
  | (?P<space> [ \t\r]+)
  | (?P<bare> [^\s\[\]{},=\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)
_KEY_PART = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|([^.\s\"']+)")


class NotToml(ValueError):
    """A file is not TOML: why, and where."""

    def __init__(self, message: str, *, line: int, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def parse_toml(data: bytes) -> tuple[str, dict[str, Any]]:
    """The text of a file, and what it says. Raises `NotToml`."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotToml("this is not UTF-8 text", line=data.count(b"\n", 0, error.start) + 1) from error
    try:
        return text, tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        message = str(error)
        where = _WHERE.search(message)
        found = where is not None and where[1] is not None
        raise NotToml(
            f"this is not TOML: {_WHERE.sub('', message)}",
            line=int(where[1]) if where and found else text.count("\n") + 1,
            column=int(where[2]) if where and found else None,
        ) from error


def line_of(place: Place, lines: Mapping[Place, int]) -> int:
    """The line of a key or an item, or of the nearest thing around it that has one."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def place_in_words(place: Place) -> str:
    """`plan.outline_cooldown`, `allow[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def toml_lines(text: str) -> dict[Place, int]:
    """The line of each key and of each item of a list, counted from 1. The text must be valid TOML: `tomllib` has
    read it already, and only forgot where it found things."""
    found: dict[Place, int] = {}
    counted: dict[Place, int] = {}
    table: Place = ()
    for statement in _statements(text):
        line = statement[0].line
        if statement[0].text == "[":
            table = _header(statement, counted)
            found.setdefault(table, line)
            continue
        key = _key(statement)
        place = (*table, *key)
        for depth in range(len(table) + 1, len(place) + 1):
            found.setdefault(place[:depth], line)
        for index, item in enumerate(_items(statement)):
            found.setdefault((*place, index), item)
    return found


class _Token:
    __slots__ = ("line", "text")

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup not in ("comment", "space"):
            yield _Token(match[0], line)
        line += match[0].count("\n")


def _statements(text: str) -> Iterator[list[_Token]]:
    """The tokens of each table header and each `key = value`, which may go over several lines inside brackets."""
    statement: list[_Token] = []
    depth = 0
    for token in _tokens(text):
        if token.text == "\n":
            if statement and depth == 0:
                yield statement
                statement = []
            continue
        depth += (token.text in ("[", "{")) - (token.text in ("]", "}"))
        statement.append(token)
    if statement:
        yield statement


def _header(statement: list[_Token], counted: dict[Place, int]) -> Place:
    """The place of a table; one of several (`[[notify]]`) has its number. `counted` keeps the last of each."""
    place: Place = ()
    for part in _parts("".join(token.text for token in statement if token.text not in "[]")):
        if place in counted:
            place = (*place, counted[place])
        place = (*place, part)
    if statement[1].text != "[":
        return place
    counted[place] = counted.get(place, -1) + 1
    return (*place, counted[place])


def _key(statement: list[_Token]) -> tuple[str, ...]:
    names: list[str] = []
    for token in statement:
        if token.text == "=":
            break
        names.append(token.text)
    return _parts("".join(names))


def _parts(key: str) -> tuple[str, ...]:
    return tuple(next(part for part in match.groups() if part is not None) for match in _KEY_PART.finditer(key))


def _items(statement: list[_Token]) -> Iterator[int]:
    """The line of each item, if the value is a list."""
    equals = next((index for index, token in enumerate(statement) if token.text == "="), len(statement))
    value = statement[equals + 1 :]
    if not value or value[0].text != "[":
        return
    depth, expected = 0, True
    for token in value:
        closing = token.text in ("]", "}")
        if depth == 1 and expected and not closing and token.text != ",":
            yield token.line
            expected = False
        if depth == 1 and token.text == ",":
            expected = True
        depth += (token.text in ("[", "{")) - closing
