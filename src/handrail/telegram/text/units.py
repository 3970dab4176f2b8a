"""Positions in a text as Telegram counts them, and where it may be cut without spoiling a character."""

from __future__ import annotations

import unicodedata

__all__ = ["UNIT", "Units", "is_space"]

UNIT = 2
"""The bytes of a UTF-16 code unit."""

_LOW_SURROGATES = range(0xDC00, 0xE000)
_JOINER = 0x200D
_SELECTORS = range(0xFE00, 0xFE10)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_TAGS = range(0xE0020, 0xE0080)
_MOST_FLAG_LETTERS = 512
_LONGEST_CHARACTER = 64
"""So many units are looked at for the beginning of what a reader takes for one character."""


class Units:
    """A text by its UTF-16 code units: slices cost what they hold, wherever they are."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-16-le", "surrogatepass")
        self.length = len(self._bytes) // UNIT

    def slice(self, start: int, end: int) -> str:
        return self._bytes[start * UNIT : end * UNIT].decode("utf-16-le", "surrogatepass")

    def unit(self, at: int) -> int:
        return int.from_bytes(self._bytes[at * UNIT : (at + 1) * UNIT], "little")

    def is_space(self, at: int) -> bool:
        return is_space(self.unit(at))

    def find_last(self, what: str, start: int, end: int) -> int:
        """Where `what` begins for the last time inside of start … end, or -1."""
        wanted = what.encode("utf-16-le")
        stop = end * UNIT
        while (found := self._bytes.rfind(wanted, start * UNIT, stop)) >= 0:
            if found % UNIT == 0:
                return found // UNIT
            stop = found + len(wanted) - 1  # half of one character and half of the next
        return -1

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """start … end without white space at either side; empty if there is nothing else."""
        while start < end and self.is_space(start):
            start += 1
        while end > start and self.is_space(end - 1):
            end -= 1
        return start, end

    def safe_cut(self, at: int, after: int) -> int:
        """The last place up to `at`, and behind `after`, where no character that a reader sees is cut in two."""
        for place in range(at, max(after, at - _LONGEST_CHARACTER), -1):
            if self.is_between_characters(place):
                return place
        return self._between_code_points(at, after)

    def _between_code_points(self, at: int, after: int) -> int:
        inside = 0 < at < self.length and self.unit(at) in _LOW_SURROGATES
        return at - 1 if inside and at - 1 > after else at

    def is_between_characters(self, at: int) -> bool:
        """Whether a cut here leaves every character whole that a reader sees."""
        if at <= 0 or at >= self.length:
            return True
        if self.unit(at) in _LOW_SURROGATES:
            return False
        following, before = self._code_point(at), self._code_point_before(at)
        if before == _JOINER or _clings(following):
            return False
        return not (following in _FLAG_LETTERS and self._flag_letters_before(at) % 2)

    def _code_point(self, at: int) -> int:
        width = 2 if at + 1 < self.length and self.unit(at + 1) in _LOW_SURROGATES else 1
        return ord(self.slice(at, at + width)[:1])

    def _code_point_before(self, at: int) -> int:
        low = self.unit(at - 1) in _LOW_SURROGATES and at >= UNIT
        return ord(self.slice(at - (2 if low else 1), at)[:1])

    def _flag_letters_before(self, at: int) -> int:
        """How many letters of flags stand before `at`: two of them are one flag."""
        letters = 0
        while at - 2 * letters >= UNIT and letters < _MOST_FLAG_LETTERS:
            if self._code_point_before(at - 2 * letters) not in _FLAG_LETTERS:
                break
            letters += 1
        return letters


def is_space(unit: int) -> bool:
    """Whether Telegram trims it: only what Python's `str.isspace` knows, too."""
    return chr(unit).isspace()


def _clings(code_point: int) -> bool:
    """Whether it is shown as a part of what stands before it."""
    if code_point < 0x300:
        return False
    if code_point == _JOINER or code_point in _SELECTORS or code_point in _SKIN_TONES or code_point in _TAGS:
        return True
    return unicodedata.category(chr(code_point))[0] == "M"
