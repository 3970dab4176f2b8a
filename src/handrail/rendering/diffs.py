"""Changes of files as HTML: each line with its numbers and a sign, and what changed within a line pointed out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from handrail.policy.describing.diffs import NO_NEWLINE
from handrail.policy.describing.visible import visible
from handrail.protocol.descriptions import Hunk
from handrail.rendering.folding import fold, split_at
from handrail.rendering.marks import marked

__all__ = ["DIFF_LINES", "diff_html"]

DIFF_LINES = 200
"""What comes after so many lines is folded."""
MINUS = "−"
_LEAST_ALIKE = 0.4
"""Two lines that share less than this are shown as two lines: to point out nearly all of them says nothing."""
_LONGEST_COMPARED = 2_000

_KINDS = {"+": ("added", "+"), "-": ("removed", MINUS), " ": ("same", "")}


def diff_html(hunks: Sequence[Hunk], *, shown: int | None = DIFF_LINES, numbered: bool = True) -> str:
    """The hunks, whole. `numbered` is false where their numbers are not those of lines of a file."""
    rows = [row for hunk in hunks for row in _rows(hunk, numbered)]
    head = split_at(rows, shown)
    first = _table(rows[:head])
    if head == len(rows):
        return first
    return fold(first, _table(rows[head:]), sum(len(hunk.lines) for hunk in hunks))


def _table(rows: Iterable[str]) -> str:
    return marked(f'<table class="diff"><tbody>{"".join(rows)}</tbody></table>')


def _rows(hunk: Hunk, numbered: bool) -> Iterator[str]:
    if numbered:
        yield f'<tr class="hunk"><td colspan="4">{hunk.header}</td></tr>'
    old, new = hunk.old_start, hunk.new_start
    for sign, html in _lines(hunk.lines):
        if sign not in _KINDS:
            yield f'<tr class="note"><td colspan="4">{html}</td></tr>'
            continue
        name, shown = _KINDS[sign]
        before = str(old) if numbered and sign != "+" else ""
        after = str(new) if numbered and sign != "-" else ""
        yield (
            f'<tr class="{name}"><td class="number">{before}</td><td class="number">{after}</td>'
            f'<td class="sign">{shown}</td><td class="line">{html}</td></tr>'
        )
        old += sign != "+"
        new += sign != "-"


def _lines(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sign and the HTML of each line; of a note there is no sign."""
    at = 0
    while at < len(lines):
        removed = _stretch(lines, at, "-")
        added = _stretch(lines, at + len(removed), "+")
        if len(removed) == len(added) > 0:
            yield from _compared(removed, added)
        else:
            yield from map(_line, removed + added or [lines[at]])
        at += len(removed) + len(added) or 1


def _stretch(lines: Sequence[str], at: int, sign: str) -> list[str]:
    end = at
    while end < len(lines) and lines[end].startswith(sign):
        end += 1
    return list(lines[at:end])


def _line(line: str) -> tuple[str, str]:
    if line == NO_NEWLINE:
        return "", escape(line.lstrip("\\ "))
    return line[:1], escape(visible(line[1:]), quote=False)


# ---------------------------------------------------------------- within a line


def _compared(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[str, str]]:
    pairs = [_pair(visible(old[1:]), visible(new[1:])) for old, new in zip(removed, added, strict=True)]
    yield from (("-", old) for old, _ in pairs)
    yield from (("+", new) for _, new in pairs)


def _pair(old: str, new: str) -> tuple[str, str]:
    start, end = _common_ends(old, new)
    if start + end < _LEAST_ALIKE * max(len(old), len(new)):
        return escape(old, quote=False), escape(new, quote=False)
    return _pointed_out(old, start, end, "del"), _pointed_out(new, start, end, "ins")


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters are the same at the start and at the end, up to the edges of words."""
    most = min(len(old), len(new))
    if most > _LONGEST_COMPARED:
        return 0, 0
    start = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    while start and _inside_word(old, start) | _inside_word(new, start):
        start -= 1
    while end and _inside_word(old, len(old) - end) | _inside_word(new, len(new) - end):
        end -= 1
    return start, end


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at])


def _in_word(character: str) -> bool:
    # What a hidden character is written out with belongs together.
    return character.isalnum() or character in "_<>+"


def _pointed_out(text: str, start: int, end: int, tag: str) -> str:
    changed = text[start : len(text) - end]
    before, after = escape(text[:start], quote=False), escape(text[len(text) - end :], quote=False)
    return f"{before}<{tag}>{escape(changed, quote=False)}</{tag}>{after}" if changed else before + after
