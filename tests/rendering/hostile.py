"""Texts of the pieces that hostile ones are made of."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["NASTY"]

_MARKS = [
    "<",
    ">",
    "`",
    "```",
    "~~~",
    "[",
    "]",
    "(",
    ")",
    "!",
    "\\",
    "- ",
    "> ",
    "# ",
    "|",
    ":",
    '"',
    "'",
    "=",
    "&",
    "*",
    "_",
]
_WORDS = [
    "<b>",
    "</pre>",
    "</td>",
    "</details>",
    "javascript:",
    "<!--",
    "-->",
    "<script>",
    "&lt;",
    "&#58;",
    "&#8238;",
    "a",
]
_ODD = [
    "\x1b[31m",
    "\x1b[48;5;16m",
    "\x1b[0m",
    "\x1b]8;;x\x07",
    "\x9b1m",
    "\u202e",
    "\u200b",
    "\x00",
    "\r",
    "\ufeff",
    "<U+202E>",
]
_GAPS = [" ", "    ", "\t", "\n", "\n\n", "|-|\n", "1. ", "[x]: y\n"]

NASTY = st.lists(st.sampled_from([*_MARKS, *_WORDS, *_ODD, *_GAPS]), max_size=30).map("".join) | st.text()
