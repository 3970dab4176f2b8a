"""Listings show every character, however narrow the terminal is."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from handrail.cli.asking.ask_view import Asking, ask_panel
from handrail.cli.showing.listing import diff_listing, hunk_listing, text_listing
from handrail.policy.describing.diffs import unified_hunks
from handrail.policy.describing.visible import visible

from .support import permission, plain

words = st.text(st.characters(min_codepoint=32, max_codepoint=126))


@pytest.mark.slow
@given(words, st.integers(1, 120))
def test_one_line_is_folded_and_nothing_is_lost(text: str, width: int) -> None:
    lines = plain(text_listing(text), width).split("\n")[:-1]
    assert "".join(lines) == text
    assert all(len(line) <= width for line in lines)


@pytest.mark.slow
@given(st.lists(words, min_size=2, max_size=12), st.integers(20, 120))
def test_several_lines_are_numbered_so_that_folds_show(texts: list[str], width: int) -> None:
    shown = plain(text_listing("\n".join(texts)), width).split("\n")[:-1]
    gutter = len(str(len(texts))) + 1
    found: list[str] = []
    for line in shown:
        assert len(line) <= width
        if line[:gutter].strip():
            assert int(line[:gutter]) == len(found) + 1
            found.append(line[gutter:])
        else:
            found[-1] += line[gutter:]
    assert found == texts


def test_a_diff_shows_both_sides() -> None:
    shown = plain(diff_listing("a\nb\nc\n", "a\nB\nc\n"))
    assert shown.splitlines() == ["  a", "- b", "+ B", "  c"]


def test_a_diff_shows_a_newline_at_the_end_and_hidden_characters() -> None:
    assert plain(diff_listing("a\n", "a")).splitlines() == ["- a", "+ a", "  no newline at the end"]
    assert plain(diff_listing("a", "a\u200b")).splitlines() == ["- a", "+ a<U+200B>"]
    assert "no change" in plain(diff_listing("a", "a"))


def test_distant_changes_are_set_apart() -> None:
    before = "\n".join(str(number) for number in range(40))
    shown = plain(diff_listing(before, before.replace("3\n", "x\n", 1).replace("35", "y")))
    assert "⋮" in shown


def test_a_diff_of_a_file_is_numbered_and_says_what_it_leaves_out() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 31))
    after = before.replace("line 10\n", "ten\n").replace("line 25\n", "")
    shown = plain(hunk_listing(unified_hunks(before, after), 30)).splitlines()
    assert shown == [
        "     ⋮ 6 unchanged lines",
        *(f"{number:>2}   line {number}" for number in (7, 8, 9)),
        "10 - line 10",
        "10 + ten",
        *(f"{number:>2}   line {number}" for number in (11, 12, 13)),
        "     ⋮ 8 unchanged lines",
        *(f"{number:>2}   line {number}" for number in (22, 23, 24)),
        "25 - line 25",
        *(f"{number - 1:>2}   line {number}" for number in (26, 27, 28)),
        "     ⋮ 2 unchanged lines",
    ]


names = st.one_of(st.sampled_from(["command", "file_path", "content", "url", "plan"]), st.text(min_size=1))
values = st.one_of(words, st.integers(), st.booleans(), st.lists(words))
tools = st.sampled_from(["Bash", "Edit", "Write", "WebFetch", "ExitPlanMode", "mcp__a__b", "Other"])


@pytest.mark.slow
@settings(deadline=None)
@example({"a key that is longer than the terminal is wide " * 3: "the value"}, 40, "Other")
@given(st.dictionaries(names, values), st.integers(20, 120), tools)
def test_every_field_of_an_input_is_shown(fields: dict[str, object], width: int, tool: str) -> None:
    shown = squeezed(plain(ask_panel(permission(tool, fields), Asking()), width))
    for name, value in fields.items():
        # A plan is read as Markdown; a file of no lines has none to show.
        if isinstance(value, str) and name != "plan":
            assert squeezed(visible(value)) in shown


def squeezed(text: str) -> str:
    """`text` without the frame around it and without spaces, which the folds may move."""
    return "".join(text.replace("│", "").split())


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1), values, min_size=1), st.integers(20, 120))
def test_the_panel_around_an_ask_cuts_nothing_off(fields: dict[str, object], width: int) -> None:
    shown = plain(ask_panel(permission("Other", fields), Asking()), width)
    assert all(cell_len(line) <= width for line in shown.splitlines())
    for value in fields.values():
        if isinstance(value, str):
            assert squeezed(visible(value)) in squeezed(shown)
