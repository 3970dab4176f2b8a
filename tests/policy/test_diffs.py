"""Diffs are right for any two texts, and come in bounded time for the worst."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.policy.describing.diffs import NO_NEWLINE, changed_blocks, split_lines, unified_hunks
from handrail.protocol.descriptions import Hunk

lines = st.lists(st.sampled_from(["", "a", "b", "c", " a", "-a", "+b", "\\ c", "a\r", "\u2028"]), max_size=30)
texts = st.one_of(st.text(), st.text("ab\n", max_size=60), lines.map("\n".join))


def applied(before: str, hunks: tuple[Hunk, ...]) -> str:
    """The text that a diff makes of `before`, read as the format says, without any of our own code."""
    old = before.split("\n")
    ends = [*["\n"] * (len(old) - 1), ""]
    old_lines = [line + end for line, end in zip(old, ends, strict=True) if line + end]
    new: list[str] = []
    position = 0
    for hunk in hunks:
        start = hunk.old_start - (1 if hunk.old_count else 0)
        new += old_lines[position:start]
        position = start
        removed = added = 0
        for line, following in zip(hunk.lines, (*hunk.lines[1:], ""), strict=True):
            if line == NO_NEWLINE:
                continue
            text = line[1:] + ("" if following == NO_NEWLINE else "\n")
            if line[0] in " -":
                assert old_lines[position] == text
                position, removed = position + 1, removed + 1
            if line[0] in " +":
                new.append(text)
                added += 1
        assert (removed, added) == (hunk.old_count, hunk.new_count)
    return "".join([*new, *old_lines[position:]])


@given(texts, texts)
def test_the_diff_makes_the_new_text_of_the_old_one(before: str, after: str) -> None:
    assert applied(before, unified_hunks(before, after)) == after


@given(texts, texts, st.integers(0, 5))
def test_any_context_will_do(before: str, after: str, context: int) -> None:
    assert applied(before, unified_hunks(before, after, context=context)) == after


@given(texts)
def test_the_same_text_has_no_diff(text: str) -> None:
    assert unified_hunks(text, text) == ()


@given(texts, texts)
def test_without_a_budget_the_diff_is_longer_and_still_right(before: str, after: str) -> None:
    old, new = split_lines(before), split_lines(after)
    rebuilt: list[str] = []
    position = 0
    for block in changed_blocks(old, new, steps=0):
        rebuilt += old[position : block.old_start] + new[block.new_start : block.new_end]
        position = block.old_end
    assert rebuilt + old[position:] == new


def test_a_small_change_is_a_small_diff() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    (hunk,) = unified_hunks(before, before.replace("10\n", "ten\n"))
    assert hunk.header == "@@ -7,7 +7,7 @@"
    assert hunk.lines == (" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13")


def test_a_missing_newline_at_the_end_is_a_difference() -> None:
    (hunk,) = unified_hunks("a\n", "a")
    assert hunk.lines == ("-a", "+a", NO_NEWLINE)


def test_new_and_emptied_texts() -> None:
    (created,) = unified_hunks("", "a\nb\n")
    assert (created.header, created.lines) == ("@@ -0,0 +1,2 @@", ("+a", "+b"))
    (emptied,) = unified_hunks("a\nb\n", "")
    assert (emptied.header, emptied.lines) == ("@@ -1,2 +0,0 @@", ("-a", "-b"))


def test_the_shortest_script_is_found_where_lines_repeat() -> None:
    (hunk,) = unified_hunks("{\n}\n{\n}\n{\n}\n", "{\n}\n{\nx\n}\n{\n}\n")
    assert [line for line in hunk.lines if line[0] != " "] == ["+x"]


MANY = 50_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "most_changed"),
    [
        pytest.param(
            "\n".join(map(str, range(MANY))),
            "\n".join(f"{'x' if number % 17 == 0 else ''}{number}" for number in range(MANY)),
            2 * MANY // 17 + 2,
            id="changed here and there",
        ),
        pytest.param("a\n" * MANY, "a\n" * 3 + "b\n" + "a\n" * MANY, 4, id="one line many times"),
        pytest.param("a\nb\n" * MANY, "b\na\nc\n" * MANY, 5 * MANY, id="nothing to hold on to"),
        pytest.param(
            "\n".join(map(str, range(MANY))), "\n".join(map(str, range(MANY, 0, -1))), 2 * MANY, id="reversed"
        ),
        pytest.param("x" * 10_000_000, "y" * 10_000_000, 2, id="one enormous line"),
    ],
)
def test_the_worst_texts_take_a_bounded_number_of_steps(before: str, after: str, most_changed: int) -> None:
    hunks = unified_hunks(before, after)
    assert applied(before, hunks) == after
    assert sum(line[0] in "+-" for hunk in hunks for line in hunk.lines) <= most_changed
