"""Markdown that is still being written: what is open is shown as if it were closed, so that nothing flickers."""

from __future__ import annotations

import re

from handrail.telegram.text.markdown import from_markdown
from handrail.telegram.text.rich import RichText

__all__ = ["closed_for_now", "from_unfinished", "last_part"]

_FENCE = re.compile(r"^[ \t>]*(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_BARE_FENCE = re.compile(r"(?:\A|\n)[ \t>]*(?:`{3,}|~{3,})[^\n]*\n?\Z")
_MAYBE_FENCE = re.compile(r"\n {0,3}[`~]{1,2}$")
_MAYBE_UNDERLINE = re.compile(r"\n {0,3}(?:-+|=+) *$")
_CODE = re.compile(r"(`+)(?:.*?[^`])\1(?!`)|`+|\\.", re.DOTALL)
_UNFINISHED_LINK = re.compile(r"!?\[(?P<words>[^\[\]\n]*)\]\([^()\s]*$")
_MARK = re.compile(r"\*{1,3}|~{1,2}")
_LONG_MARKS = frozenset({"**", "***", "~~"})
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def from_unfinished(source: str) -> RichText:
    """The text so far."""
    return from_markdown(closed_for_now(source))


def closed_for_now(source: str) -> str:
    """The Markdown so far, with what was begun at its end closed, or left out where it says nothing yet."""
    if _open_fence(source):
        return _MAYBE_FENCE.sub("", _BARE_FENCE.sub("", source))
    text = _MAYBE_UNDERLINE.sub("", _MAYBE_FENCE.sub("", source))
    at = _last_paragraph(text)
    return text[:at] + _closed_paragraph(text[at:])


def last_part(source: str, characters: int) -> str:
    """The end of a text, from the beginning of a line; inside a block of code, as one."""
    if len(source) <= characters:
        return source
    start = len(source) - characters
    line = source.find("\n", start)
    if 0 <= line < len(source) - 1:
        start = line + 1
    opening = _open_fence(source[:start])
    return f"{opening}\n{source[start:]}" if opening else source[start:]


def _open_fence(source: str) -> str:
    """The line that opened the block of code at the end of `source`; nothing if there is none."""
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(source):
        if opening is None:
            opening = fence
        elif _closes(fence, opening):
            opening = None
    return opening[0].strip() if opening is not None else ""


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    mark, opened = fence["mark"], opening["mark"]
    return mark[0] == opened[0] and len(mark) >= len(opened) and not fence["info"].strip()


def _last_paragraph(text: str) -> int:
    """Where the last paragraph begins: only there something can be open."""
    blanks = [match.end() for match in _BLANK_LINE.finditer(text, max(0, len(text) - 4_000))]
    return blanks[-1] if blanks else max(0, text.rfind("\n", 0, max(0, len(text) - 4_000)) + 1)


def _closed_paragraph(text: str) -> str:
    text = _UNFINISHED_LINK.sub(lambda match: match["words"], text)
    rest, ticks = _without_code(text)
    if ticks:
        return text + ticks if not text.endswith(ticks) else text[: -len(ticks)]
    return _closed_emphasis(text, rest)


def _without_code(text: str) -> tuple[str, str]:
    """The text without code and escaped characters; and the ticks of code that is open at its end."""
    open_ticks = ""

    def left_out(match: re.Match[str]) -> str:
        nonlocal open_ticks
        found = match[0]
        if set(found) == {"`"}:
            open_ticks = found
        return " " if not open_ticks else ""

    return _CODE.sub(left_out, text), open_ticks


def _closed_emphasis(text: str, rest: str) -> str:
    """`rest` is the text without what only looks like a mark."""
    open_marks: list[str] = []
    for match in _MARK.finditer(rest):
        mark = match[0]
        before, after = rest[match.start() - 1 : match.start()], rest[match.end() : match.end() + 1]
        if open_marks and open_marks[-1] == mark and before.strip():
            open_marks.pop()
        elif not after and (mark in _LONG_MARKS or (open_marks and open_marks[-1].startswith(mark))):
            text = text[: -len(mark)]  # it opens something that is not there yet, or is half of what closes it
        elif after.strip() and not before.isalnum() and mark != "~":
            open_marks.append(mark)
    return text.rstrip() + "".join(reversed(open_marks)) if open_marks else text
