"""Bytes from a terminal as keys. Pure: bytes in, keys out, however they were cut into pieces."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["PASTE_OFF", "PASTE_ON", "Key", "KeyParser"]

PASTE_ON = "\x1b[?2004h"
"""Asks the terminal to mark what is pasted, so that it is not taken for keys."""
PASTE_OFF = "\x1b[?2004l"

_ESCAPE = "\x1b"
_PASTE_ENDS = "\x1b[201~"
_SEQUENCE = re.compile(r"\x1b(?:\[(?P<csi>[0-?]{0,32}[ -/]{0,8}[@-~])|O(?P<ss3>[ -~])|(?P<alt>[^\[O\x1b]))")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}|O)?")
_MODIFIERS = re.compile(r"^(\d*)(?:;\d+)*(?=[@-~]$)")

_FINAL: Mapping[str, str] = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "F": "end",
    "H": "home",
    "Z": "shift-tab",
    "1~": "home",
    "3~": "delete",
    "4~": "end",
    "5~": "page-up",
    "6~": "page-down",
    "7~": "home",
    "8~": "end",
    "200~": "paste",
}
_CONTROL: Mapping[str, str] = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key that was pressed: `name` is the character itself, or a word such as enter, up, shift-tab or ctrl-g.

    What was pasted is one key too, named paste. `text` is what it would write.
    """

    name: str
    text: str = ""


class KeyParser:
    """Follows what a terminal sends."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._pasting = False
        self._pasted = ""

    @property
    def undecided(self) -> bool:
        """Whether the Escape key may have been pressed: what follows a real one comes later than a sequence would."""
        return not self._pasting and self._waiting.startswith(_ESCAPE)

    def feed(self, data: bytes) -> list[Key]:
        """The keys that are known now."""
        self._waiting += self._decoder.decode(data)
        return list(self._finished())

    def flush(self) -> list[Key]:
        """Nothing followed for a while: an Escape that waits is the key."""
        if not self.undecided:
            return []
        rest, self._waiting = self._waiting[1:], ""
        return [Key("escape"), *(_plain(character) for character in rest)]

    def _finished(self) -> Iterator[Key]:
        while self._waiting:
            if self._pasting:
                if not self._end_of_paste():
                    return
                yield Key("paste", self._pasted)
                self._pasted = ""
            elif not self._waiting.startswith(_ESCAPE):
                character, self._waiting = self._waiting[0], self._waiting[1:]
                yield _plain(character)
            elif _UNFINISHED.fullmatch(self._waiting):
                return
            elif (key := self._sequence()) is not None:
                yield key

    def _sequence(self) -> Key | None:
        match = _SEQUENCE.match(self._waiting)
        if match is None:
            self._waiting = self._waiting[1:]
            return Key("escape")
        self._waiting = self._waiting[match.end() :]
        if match["alt"] is not None:
            return _with_alt(match["alt"])
        name = _name(match["csi"] or match["ss3"])
        if name == "paste":
            self._pasting = True
            return None
        return Key(name)

    def _end_of_paste(self) -> bool:
        """Take what was pasted so far; whether that was all of it."""
        text, marker, rest = self._waiting.partition(_PASTE_ENDS)
        if marker:
            self._pasted, self._waiting = self._pasted + text, rest
            self._pasting = False
            return True
        # The marker may have come in part.
        kept = max((n for n in range(1, len(_PASTE_ENDS)) if text.endswith(_PASTE_ENDS[:n])), default=0)
        cut = len(text) - kept
        self._pasted, self._waiting = self._pasted + text[:cut], text[cut:]
        return False


def _plain(character: str) -> Key:
    if (name := _CONTROL.get(character)) is not None:
        return Key(name)
    if character == _ESCAPE:
        return Key("escape")
    if character < " ":
        return Key(f"ctrl-{chr(ord(character) + 0x60)}")
    return Key(character, character)


def _with_alt(character: str) -> Key:
    """Alt with Enter is a new line; Alt with anything else is nothing here."""
    return Key("newline", "\n") if character in "\r\n" else Key(f"alt-{_plain(character).name}")


def _name(sequence: str) -> str:
    """A sequence's key, whatever modifiers were held with it."""
    final = sequence[-1]
    number = _MODIFIERS.match(sequence)
    short = f"{number[1]}~" if number is not None and final == "~" else final
    return _FINAL.get(short, "unknown")
