"""What programs print to a terminal: colours become runs of styled text, every other command is left out.

A carriage return alone ends a line here: a terminal would write over what was there before, and here nothing is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from handrail.rendering.palette import nearest

__all__ = ["PLAIN", "Style", "plain_output", "styled_output"]

_COMMANDS = re.compile(
    r"(?:\x1b\[|\x9b)(?P<parameters>[0-9;:]*)m"  # colours and weights
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # every other control sequence
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b)|\Z)"  # titles, links
    r"|\x1b[ -/]*[0-~]"  # short commands
)
_LINE_ENDS = re.compile(r"\r+\n|\r")

_MOST_PARAMETERS = 64


class Style(NamedTuple):
    """How a run of text looks. A colour is the number of one of 256; any other is told as the nearest of them."""

    colour: int | None = None
    background: int | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    struck: bool = False
    inverse: bool = False


PLAIN = Style()


def plain_output(text: str) -> str:
    """`text` without any command to the terminal."""
    return "".join(run for run, _ in styled_output(text))


def styled_output(text: str) -> Iterator[tuple[str, Style]]:
    """Runs of text, each with its style."""
    style, position = PLAIN, 0
    for command in _COMMANDS.finditer(text):
        if command.start() > position:
            yield _lines(text[position : command.start()]), style
        position = command.end()
        if command["parameters"] is not None:
            style = _restyled(style, command["parameters"])
    if position < len(text):
        yield _lines(text[position:]), style


def _lines(text: str) -> str:
    return _LINE_ENDS.sub("\n", text) if "\r" in text else text


def _restyled(style: Style, parameters: str) -> Style:
    codes = iter([int(part[:6] or "0") for part in re.split("[;:]", parameters)[:_MOST_PARAMETERS]])
    for code in codes:
        if code in (38, 48):
            colour = _long_colour(codes)
            style = style._replace(colour=colour) if code == 38 else style._replace(background=colour)
        else:
            style = _with_code(style, code)
    return style


def _with_code(style: Style, code: int) -> Style:
    if code == 0:
        return PLAIN
    if code in _SWITCHES:
        return style._replace(**_SWITCHES[code])
    if 30 <= code <= 37 or 90 <= code <= 97:
        return style._replace(colour=code - 30 if code < 90 else code - 82)
    if 40 <= code <= 47 or 100 <= code <= 107:
        return style._replace(background=code - 40 if code < 100 else code - 92)
    return style


_SWITCHES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"inverse": True},
    9: {"struck": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"inverse": False},
    29: {"struck": False},
    39: {"colour": None},
    49: {"background": None},
}


def _long_colour(codes: Iterator[int]) -> int | None:
    """The colour that follows 38 or 48: one of 256, or red, green and blue."""
    kind = next(codes, None)
    if kind == 5:
        number = next(codes, 0)
        return number if number < 256 else None
    if kind == 2:
        return nearest((_level(codes), _level(codes), _level(codes)))
    return None


def _level(codes: Iterator[int]) -> int:
    return min(next(codes, 0), 255)
