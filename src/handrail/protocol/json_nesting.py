"""Where the end of a JSON object may be, told piece by piece: each piece is looked at once, however many there are."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Nesting"]

_INSIDE: Final = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_REST_OF_STRING: Final = re.compile(_INSIDE + b'"', re.DOTALL)
_STRING: Final = re.compile(rb'"%b"|(?P<open>"%b\\?)\Z' % (_INSIDE, _INSIDE), re.DOTALL)
"""A string, or the beginning of one that ends the piece: unmatched, it would be read again from each escaped quote."""


class Nesting:
    """How deep a text is nested at its end, if it is JSON."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaping = False
        """Whether the text ends, inside a string, with a backslash that belongs to what follows."""

    @property
    def is_closed(self) -> bool:
        """Whether everything that was opened is closed: only then can it be whole."""
        return self._depth <= 0 and not self._in_string

    def add(self, piece: bytes) -> None:
        """What follows on the text so far."""
        start = 0
        if self._in_string:
            found = _REST_OF_STRING.match(piece, 1 if self._escaping else 0)
            if found is None:
                self._escaping = _ends_escaping(piece, was_escaping=self._escaping)
                return
            start = found.end()
        outside, quote, inside = _STRING.sub(rb"\g<open>", piece[start:]).partition(b'"')
        self._in_string = bool(quote)
        self._escaping = _ends_escaping(inside)
        opened = outside.count(b"{") + outside.count(b"[")
        self._depth += opened - outside.count(b"}") - outside.count(b"]")


def _ends_escaping(text: bytes, *, was_escaping: bool = False) -> bool:
    """Whether a text inside of a string ends in the middle of an escape."""
    backslashes = len(text) - len(text.rstrip(b"\\"))
    is_all = backslashes == len(text)
    return (backslashes - (was_escaping and is_all and backslashes > 0)) % 2 == 1
