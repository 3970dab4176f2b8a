"""Where the keys of a TOML text stand, and the items of its lists: line numbers for messages.

The text must be valid TOML: `tomllib` has read it already, and only forgot where it found things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["Place", "toml_lines"]

Place: TypeAlias = tuple[str | int, ...]
"""A key's path, and an item's index in the list that a key holds: `("allow", 2)`, `("plan", "outline_cooldown")`."""

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


def toml_lines(text: str) -> dict[Place, int]:
    """The line of each key and of each item of a list, counted from 1."""
    found: dict[Place, int] = {}
    table: tuple[str, ...] = ()
    for statement in _statements(text):
        line = statement[0].line
        key = _key(statement)
        if statement[0].text == "[":
            table = _parts("".join(token.text for token in statement if token.text not in "[]"))
            found.setdefault(table, line)
            continue
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
