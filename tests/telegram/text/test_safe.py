"""Text from elsewhere among our own words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.telegram.text.rich import utf16_length
from handrail.telegram.text.safe import isolated, line, path_line, within


def test_one_line_of_bounded_length() -> None:
    assert line("make\n  test") == "make ⏎ test"
    assert line("a\u202eb") == "a<U+202E>b"
    assert line("x" * 50, 10) == "x" * 9 + "…"
    assert line("ab" + " " * 500 + "tail", 10) == "ab …"


def test_a_path_keeps_its_end() -> None:
    assert path_line("src/app.py", 20) == "src/app.py"
    assert path_line("/a/very/long/way/to/app.py", 12) == "…y/to/app.py"
    assert path_line("/x\n/\u202ey") == "/x ⏎ /<U+202E>y"


def test_a_character_is_not_cut() -> None:
    assert within("ab👩‍👩‍👧cd", 8) == "ab…"
    assert path_line("/ab🇩🇪cd", 5) == "…cd"


def test_right_to_left_is_kept_apart() -> None:
    assert isolated("plain ünïcode") == "plain ünïcode"
    assert isolated("echo שלום") == "\u2068echo שלום\u2069"


@pytest.mark.slow
@pytest.mark.parametrize("shorten", [line, path_line])
@given(text=st.text(max_size=300), limit=st.integers(2, 60))
@settings(max_examples=60, deadline=None)
def test_never_longer_than_it_may_be(shorten: object, text: str, limit: int) -> None:
    shown = shorten(text, limit)  # type: ignore[operator]
    assert utf16_length(shown) <= limit
    assert "\n" not in shown
    shown.encode()
