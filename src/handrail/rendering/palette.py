"""The 256 colours of terminals: which of them is nearest to a colour, and the CSS that makes each readable.

Text is darkened on a light page and lightened on a dark one until it can be read; a background brings along the colour
of the text on it. So no choice of colours can hide anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

__all__ = ["NAMED", "Colour", "contrast", "nearest", "palette_css"]

Colour = tuple[int, int, int]

LIGHT_GROUND: Colour = (0xF3, 0xF4, 0xF6)
DARK_GROUND: Colour = (0x26, 0x2A, 0x30)
"""The least favourable grounds on which text in these colours may come to stand."""
READABLE = 4.5
"""WCAG's contrast for text of ordinary size (AA)."""
NAMED = 16
"""The first colours have names, and a stylesheet says itself how they look."""
_CUBE = 232
_LEVELS = (0, 95, 135, 175, 215, 255)
_BLACK: Colour = (0, 0, 0)
_WHITE: Colour = (255, 255, 255)


def nearest(colour: Colour) -> int:
    """The number of the colour, from 16 on, that looks most like `colour`."""
    levels = [min(range(6), key=lambda step: abs(_LEVELS[step] - part)) for part in colour]
    in_cube = NAMED + 36 * levels[0] + 6 * levels[1] + levels[2]
    grey = _CUBE + max(0, min(23, round((sum(colour) / 3 - 8) / 10)))
    return min((in_cube, grey), key=lambda number: _distance(_colour(number), colour))


def palette_css(numbers: Iterable[int] = range(NAMED, 256), *, within: str = "") -> str:
    """Rules for the classes `f16` … `f255` (text) and `b16` … `b255` (ground); `within` is put before each selector."""
    return "".join(rule for number in numbers for rule in _rules(number, within))


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours as WCAG reckons it, from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _rules(number: int, within: str) -> Iterator[str]:
    colour = _colour(number)
    light, dark = _readable(colour, LIGHT_GROUND, _BLACK), _readable(colour, DARK_GROUND, _WHITE)
    on_it = max((_BLACK, _WHITE), key=lambda text: contrast(text, colour))
    yield f"{within}.f{number} {{ color: light-dark({_hex(light)}, {_hex(dark)}); }}\n"
    yield f"{within}.b{number} {{ background: {_hex(colour)}; color: {_hex(on_it)}; }}\n"


@cache
def _colour(number: int) -> Colour:
    if number >= _CUBE:
        return (8 + 10 * (number - _CUBE),) * 3
    cube = number - NAMED
    return _LEVELS[cube // 36], _LEVELS[cube // 6 % 6], _LEVELS[cube % 6]


def _readable(colour: Colour, ground: Colour, towards: Colour) -> Colour:
    """`colour`, moved as far `towards` black or white as it takes."""
    for step in range(101):
        moved = _mixed(colour, towards, step / 100)
        if contrast(moved, ground) >= READABLE:
            return moved
    return towards


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _distance(one: Colour, other: Colour) -> int:
    return sum(weight * (a - b) ** 2 for weight, a, b in zip((3, 6, 1), one, other, strict=True))


def _luminance(colour: Colour) -> float:
    red, green, blue = (_linear(part / 255) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
