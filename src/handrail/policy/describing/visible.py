"""Text that came from elsewhere, made safe to print: nothing hidden, nothing that a terminal would obey.

`visible` is for what runs when it is allowed (commands, paths, file contents): every character that a reader cannot
see, or cannot tell from another, becomes `<U+202E>`. `legible` is for prose: it leaves alone what good typography
needs, such as no-break spaces, joined emoji, and the joiners inside words of scripts that use them.

Both leave newlines and tabs as they are, and nothing else that is not printed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["hidden_characters", "hiding", "legible", "one_line", "visible"]

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_REORDERING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINE_ENDS = r"\u2028\u2029"
_WITHOUT_WIDTH = (
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK_LETTERS = r"\u2800\u3164\uffa0"
_NOT_TEXT = r"\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_HIDDEN = _OBEYED + _REORDERING + _LINE_ENDS + _WITHOUT_WIDTH + _BLANK_LETTERS + _NOT_TEXT
_ODD_SPACES = r"\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"

_CODE_PATTERN = re.compile(f"[{_HIDDEN}{_ODD_SPACES}]")
_PROSE_PATTERN = re.compile(f"[{_HIDDEN}]")

_MAY_BE_LONE_MARK = re.compile(r"(?:\A|(?<=\s))[^\x00-\u02ff\s]")
_MAY_BE_STACKED_MARKS = re.compile(r"[^\x00-\u02ff\s]{5,}+")
_MARKS_ON_ONE_LETTER = 4
"""More than any writing system puts on a letter; a tall stack of them covers the lines around it."""

_JOINERS = "\u200c\u200d"
_EMOJI_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_MAY_BE_IN_PLACE = _JOINERS + _EMOJI_STYLE
_KEYCAPS = "#*0123456789"
_LETTERS_WITH_EMOJI_STYLE = "ℹ"


def visible(text: str) -> str:
    """`text` with every hidden or misleading character written out."""
    return _show_misplaced_marks(_CODE_PATTERN.sub(_name, text))


def legible(text: str) -> str:
    """`text`, as prose: only what is hidden for no good reason is written out."""
    return _show_misplaced_marks(_PROSE_PATTERN.sub(_name_unless_in_place, text))


def one_line(text: str) -> str:
    """`text` on one line, safe to print."""
    return visible(" ⏎ ".join(part.strip() for part in text.strip().splitlines()))


def hiding(text: str) -> Iterator[str]:
    """The characters of `text` that `legible` would write out, one by one; misplaced marks are not among them."""
    for match in _PROSE_PATTERN.finditer(text):
        if not _is_in_place(match):
            yield match[0]


def hidden_characters(text: str) -> int:
    """How many characters of `text` `visible` would write out."""
    shown, hidden = _CODE_PATTERN.subn(_name, text)
    return hidden + _show_misplaced_marks(shown).count("<U+") - shown.count("<U+")


def _name(match: re.Match[str]) -> str:
    return _code_point(match[0])


def _code_point(character: str) -> str:
    return f"<U+{ord(character):04X}>"


def _name_unless_in_place(match: re.Match[str]) -> str:
    return match[0] if _is_in_place(match) else _name(match)


def _is_in_place(match: re.Match[str]) -> bool:
    if match[0] not in _MAY_BE_IN_PLACE:
        return False
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    return _in_place(match[0], before, after)


def _in_place(character: str, before: str, after: str) -> bool:
    if character == _EMOJI_STYLE:
        return _is_symbol(before) or (before != "" and before in _KEYCAPS)
    if character == _EMOJI_JOINER and _ends_emoji(before) and _is_symbol(after):
        return True
    return character in _JOINERS and _in_joining_script(before) and _in_joining_script(after)


def _is_symbol(character: str) -> bool:
    if not character or character.isascii():
        return False
    return character in _LETTERS_WITH_EMOJI_STYLE or unicodedata.category(character) in ("So", "Sm", "Po")


def _ends_emoji(character: str) -> bool:
    return character == _EMOJI_STYLE or _is_symbol(character) or "\U0001f3fb" <= character <= "\U0001f3ff"


def _in_joining_script(character: str) -> bool:
    return bool(character) and not character.isascii() and unicodedata.category(character)[0] in "LM"


def _show_misplaced_marks(text: str) -> str:
    """Combining marks that have nothing to combine with, or too many companions, are written out."""
    if text.isascii():
        return text
    return _MAY_BE_STACKED_MARKS.sub(_without_stacks, _MAY_BE_LONE_MARK.sub(_name_if_mark, text))


def _name_if_mark(match: re.Match[str]) -> str:
    return _name(match) if _is_mark(match[0]) else match[0]


def _without_stacks(match: re.Match[str]) -> str:
    pieces = []
    height = 0
    for character in match[0]:
        height = height + 1 if _is_mark(character) else 0
        pieces.append(_code_point(character) if height > _MARKS_ON_ONE_LETTER else character)
    return "".join(pieces)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")
