"""Text that came from elsewhere, made safe to print: nothing hidden, nothing that a terminal would obey.

`visible` is for what runs when it is allowed (commands, paths, file contents): every character that a reader cannot
see, or cannot tell from another, becomes `<U+202E>`. `legible` is for prose: it leaves alone what good typography
needs, such as no-break spaces, joined emoji, and the joiners inside words of scripts that use them.

Both leave newlines and tabs as they are, and nothing else that is not printed.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["hidden_characters", "legible", "visible"]

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_REORDERING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINE_ENDS = r"\u2028\u2029"
_WITHOUT_WIDTH = (
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK_LETTERS = r"\u2800\u3164\uffa0"
_NOT_TEXT = r"\ud800-\udfff"
_HIDDEN = _OBEYED + _REORDERING + _LINE_ENDS + _WITHOUT_WIDTH + _BLANK_LETTERS + _NOT_TEXT
_ODD_SPACES = r"\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"

_CODE_PATTERN = re.compile(f"[{_HIDDEN}{_ODD_SPACES}]")
_PROSE_PATTERN = re.compile(f"[{_HIDDEN}]")

_JOINERS = "\u200c\u200d"
_EMOJI_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_KEYCAPS = "#*0123456789"
_LETTERS_WITH_EMOJI_STYLE = "ℹ"


def visible(text: str) -> str:
    """`text` with every hidden or misleading character written out."""
    return _show_lone_marks(_CODE_PATTERN.sub(_name, text))


def legible(text: str) -> str:
    """`text`, as prose: only what is hidden for no good reason is written out."""
    return _show_lone_marks(_PROSE_PATTERN.sub(_name_unless_in_place, text))


def hidden_characters(text: str) -> int:
    """How many characters of `text` `visible` would write out."""
    return len(_CODE_PATTERN.findall(text)) + _lone_marks(_CODE_PATTERN.sub(_name, text))


def _name(match: re.Match[str]) -> str:
    return _code_point(match[0])


def _code_point(character: str) -> str:
    return f"<U+{ord(character):04X}>"


def _name_unless_in_place(match: re.Match[str]) -> str:
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    return match[0] if _in_place(match[0], before, after) else _name(match)


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


def _show_lone_marks(text: str) -> str:
    """A combining mark with nothing to combine with has no width of its own, so it is written out too."""
    if text.isascii():
        return text
    return "".join(
        _code_point(character) if _is_lone_mark(before, character) else character
        for before, character in zip("\n" + text, text, strict=False)
    )


def _lone_marks(text: str) -> int:
    if text.isascii():
        return 0
    return sum(_is_lone_mark(before, character) for before, character in zip("\n" + text, text, strict=False))


def _is_lone_mark(before: str, character: str) -> bool:
    return before.isspace() and unicodedata.category(character) in ("Mn", "Me")
