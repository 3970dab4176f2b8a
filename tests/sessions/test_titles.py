"""The title of a session that nobody named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.sessions.titles import LONGEST, title_from


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Fix the test", "Fix the test"),
        ("\n\n  # Fix   the\ttest  #\nplease", "Fix the test"),
        ("\x1b[31mred\u202e", "[31mred"),
        ("---\n", "---"),
        ("", ""),
        ("\n \n", ""),
        (None, ""),
        (5, ""),
        ([{"type": "image"}, {"type": "text", "text": "Look at this"}], "Look at this"),
        ([{"type": "text", "text": None}, "odd", {"text": "x"}], "x"),
        ("x" * 200, "x" * (LONGEST - 1) + "…"),
    ],
)
def test_the_first_words_that_say_something(content: Any, title: str) -> None:
    assert title_from(content) == title


@given(st.text())
def test_it_is_one_short_line_that_can_be_shown(text: str) -> None:
    title = title_from(text)
    assert len(title) <= LONGEST
    assert title.isprintable()
    assert title == title.strip()
