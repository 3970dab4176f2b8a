"""Diffs as HTML: numbers, signs, what changed within a line; whole, and harmless."""

from __future__ import annotations

import re

from hypothesis import given, settings

from handrail.policy.describing.diffs import unified_hunks
from handrail.policy.describing.visible import visible
from handrail.rendering.diffs import DIFF_LINES, diff_html

from .hostile import NASTY
from .safe_html import check_html, shown_text
from .test_text import unbracketed


def cells(html: str) -> list[tuple[str, ...]]:
    """Of each line: its kind, its two numbers, its sign and its text."""
    found = re.findall(
        r'<tr class="(\w+)"><td class="number">(\d*)</td><td class="number">(\d*)</td>'
        r'<td class="sign">(.?)</td><td class="line">(.*?)</td></tr>',
        html,
        re.DOTALL,
    )
    return [(*row[:4], shown_text(row[4])) for row in found]


def test_lines_have_numbers_and_signs() -> None:
    html = diff_html(unified_hunks("a\nb\nc\n", "a\nB\nc\nd\n"))
    check_html(html)
    assert "@@ -1,3 +1,4 @@" in html
    assert cells(html) == [
        ("same", "1", "1", "", "a"),
        ("removed", "2", "", "−", "b"),
        ("added", "", "2", "+", "B"),
        ("same", "3", "3", "", "c"),
        ("added", "", "4", "+", "d"),
    ]


def test_what_changed_within_a_line_is_pointed_out() -> None:
    html = diff_html(unified_hunks("return round(total, 2)\n", "return floor(total, 2)\n"))
    assert "return <del>round</del>(total, 2)" in html
    assert "return <ins>floor</ins>(total, 2)" in html


def test_lines_with_little_in_common_are_left_alone() -> None:
    html = diff_html(unified_hunks("import os\n", "class Weather:\n"))
    assert "<del>" not in html
    assert "<ins>" not in html


def test_a_missing_newline_is_told() -> None:
    assert '<tr class="note"><td colspan="4">No newline at end of file</td></tr>' in diff_html(
        unified_hunks("a\n", "a")
    )


def test_pieces_have_no_numbers() -> None:
    html = diff_html(unified_hunks("a\n", "b\n"), numbered=False)
    assert "@@" not in html
    assert [row[1:3] for row in cells(html)] == [("", ""), ("", "")]


def test_a_long_diff_is_folded_and_whole() -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    html = diff_html(unified_hunks("", text))
    check_html(html)
    assert "<summary>Show all 1,000 lines</summary>" in html
    head, _, tail = html.partition("<details")
    assert len(cells(head)) == DIFF_LINES - 1
    assert [row[4] for row in cells(head) + cells(tail)] == text.splitlines()


@settings(deadline=None, max_examples=40)
@given(NASTY, NASTY)
def test_any_diff_is_harmless_and_whole(before: str, after: str) -> None:
    hunks = unified_hunks(before, after)
    html = diff_html(hunks, shown=None)
    check_html(html)
    lines = [line for hunk in hunks for line in hunk.lines if not line.startswith("\\")]
    assert [unbracketed(row[4]) for row in cells(html)] == [unbracketed(visible(line[1:])) for line in lines]
    assert [row[3] for row in cells(html)] == [{"+": "+", "-": "−", " ": ""}[line[0]] for line in lines]
