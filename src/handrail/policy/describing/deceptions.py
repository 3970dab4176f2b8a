"""Text that shows one thing and is another: hidden characters, letters that look like others, things out of sight."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Literal, TypeAlias

from handrail.policy.describing.visible import hiding
from handrail.protocol.descriptions import Flag, Level

__all__ = ["Kind", "deceptions", "lookalikes"]

Kind: TypeAlias = Literal["code", "content", "prose"]
"""What runs as it stands; what is written to a file; what somebody is to read."""

LONGEST_LINE: dict[str, int] = {"code": 1_000, "content": 10_000, "prose": 10_000}
WIDEST_GAP: dict[str, int] = {"code": 40, "content": 150, "prose": 150}
MOST_BLANK_LINES = 12
MOST_COUNTED = 1_000
MOST_LOOKED_AT = 100_000
LONGEST_FOR_LOOKALIKES = 100_000

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_LINES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
_BIDI = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ODD_SPACE = re.compile(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800\u3164\uffa0\u2028\u2029]")
_OTHERWISE_FLAGGED = re.compile("|".join((_CONTROL.pattern, _BIDI.pattern, _ODD_SPACE.pattern)))
_GAPS = re.compile(r"[ \t]{40,}+")
_BLANK_LINES = re.compile(r"(?:\n[ \t\r]*+){13,}+")
_WORD = re.compile(r"[^\W_]+")

_LIKE_LATIN = frozenset("авсеһіјкӏмнорԛѕтухѡүԁԝɡαονρτυχικ" + "АВСЕНІЈКМОРЅТУХЅԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "օսոհցսք")
_LIKE_SIGNS = {
    "\u2024": ".", "\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u037e": ";", "\u2236": ":", "\ua789": ":",
    "\u2223": "|", "\u01c0": "|", "\u2216": "\\", "\u2217": "*", "\u02c8": "'", "\u055a": "'", "\u02ba": '"',
}  # fmt: skip
_FULL_WIDTH = re.compile(r"[\uff01-\uff5e]")
_SCRIPTS_WITH_LOOKALIKES = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "MATHEMATICAL", "FULLWIDTH"}


def deceptions(text: str, where: str, kind: Kind) -> Iterator[Flag]:
    """What is hidden or out of sight in `text`; `where` names it."""
    yield from _control(text, where, kind)
    if not text.isascii():
        yield from _bidi(text, where)
        yield from _without_width(text, where)
        if kind == "code":
            yield from _odd_spaces(text, where)
    yield from _out_of_sight(text, where, kind)


def _control(text: str, where: str, kind: Kind) -> Iterator[Flag]:
    if text.isprintable():
        return
    # Lines of a file may end in CRLF; in a command a return is something to wonder about.
    found = _counted(_CONTROL if kind == "code" else _CONTROL_IN_LINES, text)
    if found:
        words = f"{_many(len(found), 'control character')} ({_names(found)}), which a terminal may obey"
        yield Flag(code="control-characters", words=words, where=where, level=_level(kind))


def _bidi(text: str, where: str) -> Iterator[Flag]:
    found = _counted(_BIDI, text)
    if found:
        words = f"{_many(len(found), 'character')} that change the order in which text is shown ({_names(found)})"
        yield Flag(code="bidi", words=words, where=where, level="high")


def _without_width(text: str, where: str) -> Iterator[Flag]:
    """Characters without width that no writing system asks for at their place."""
    candidates = islice(hiding(text), MOST_LOOKED_AT)
    found = list(islice((each for each in candidates if not _OTHERWISE_FLAGGED.match(each)), MOST_COUNTED))
    if found:
        words = f"{_many(len(found), 'invisible character')} ({_names(found)})"
        yield Flag(code="zero-width", words=words, where=where, level="high")


def _odd_spaces(text: str, where: str) -> Iterator[Flag]:
    found = _counted(_ODD_SPACE, text)
    if found:
        words = f"{_many(len(found), 'character')} that look like a space and are none ({_names(found)})"
        yield Flag(code="odd-spaces", words=words, where=where)


def _level(kind: Kind) -> Level:
    return "high" if kind == "code" else "medium"


# ---------------------------------------------------------------- out of sight


def _out_of_sight(text: str, where: str, kind: Kind) -> Iterator[Flag]:
    for gap in _gaps(text, WIDEST_GAP[kind]):
        words = f"more follows after {gap} spaces, where it may be out of sight"
        yield Flag(code="long-tail", words=words, where=where, level=_level(kind))
        break
    if "\n\n" in text or "\n " in text or "\n\t" in text or "\n\r" in text:
        yield from _after_blank_lines(text, where, kind)
    longest = max(map(len, text.split("\n"))) if len(text) > LONGEST_LINE[kind] else 0
    if longest > LONGEST_LINE[kind]:
        level: Level = "medium" if kind == "code" else "low"
        yield Flag(code="long-line", words=f"one line has {longest:,} characters", where=where, level=level)


def _gaps(text: str, widest: int) -> Iterator[int]:
    if " " * 20 not in text and "\t" not in text:
        return
    for match in _GAPS.finditer(text):
        length = match.end() - match.start()
        indents = match.start() == 0 or text[match.start() - 1] == "\n"
        if length >= (3 * widest if indents else widest) and text[match.end() : match.end() + 1] not in (
            "",
            "\n",
            "\r",
        ):
            yield length


def _after_blank_lines(text: str, where: str, kind: Kind) -> Iterator[Flag]:
    for match in _BLANK_LINES.finditer(text):
        lines = match[0].count("\n") - 1
        if lines >= MOST_BLANK_LINES and match.end() < len(text):
            words = f"more follows after {lines} blank lines, where it may be out of sight"
            yield Flag(code="long-tail", words=words, where=where, level=_level(kind))
            return


# ---------------------------------------------------------------- lookalikes


def lookalikes(text: str, where: str, *, names: bool = False) -> Iterator[Flag]:
    """Words with letters that look like others. In `names` of hosts and programs, wholly foreign words count too."""
    if text.isascii():
        return
    for word in dict.fromkeys(_WORD.findall(text[:LONGEST_FOR_LOOKALIKES])):
        reason = _deceives(word, names=names)
        if reason:
            words = f"{word!r} {reason}"
            yield Flag(code="lookalike", words=words, where=where, level="high")
            return
    signs = [sign for sign in text[:LONGEST_FOR_LOOKALIKES] if sign in _LIKE_SIGNS or _FULL_WIDTH.match(sign)]
    if signs:
        words = f"signs that look like others: {_names(signs)}"
        yield Flag(code="lookalike", words=words, where=where, level="high" if names else "medium")


def _deceives(word: str, *, names: bool) -> str:
    if word.isascii():
        return ""
    scripts = {_script(letter) for letter in word if letter.isalpha()}
    mixed = scripts & _SCRIPTS_WITH_LOOKALIKES
    if len(mixed) > 1:
        return f"mixes letters of {' and '.join(sorted(script.title() for script in mixed))}"
    foreign = [letter for letter in word if letter.isalpha() and not letter.isascii()]
    if names and len(foreign) > 1 and all(letter in _LIKE_LATIN for letter in foreign):
        return f"looks Latin and is {' and '.join(sorted(script.title() for script in mixed))}"
    return ""


def _script(letter: str) -> str:
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "UNKNOWN").split(" ", 1)[0].split("-", 1)[0]


# ---------------------------------------------------------------- words


def _counted(pattern: re.Pattern[str], text: str) -> list[str]:
    return [match[0] for match in islice(pattern.finditer(text), MOST_COUNTED)]


def _many(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{'at least ' if count == MOST_COUNTED else ''}{count:,} {noun}s"


def _names(characters: list[str]) -> str:
    codes = list(dict.fromkeys(f"U+{ord(character):04X}" for character in characters))
    return ", ".join(codes[:4]) + (", …" if len(codes) > 4 else "")
