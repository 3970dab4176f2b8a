"""Resume lines in texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.events.resume import find_resume_token, resume_line


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("claude --resume abc", "abc"),
        ("`claude --resume 8f3c-x`", "8f3c-x"),
        ("done\n\n  Claude -r   any_thing:really  \nbye", "any_thing:really"),
        ("claude --resume one\ntext\nclaude -r two", "two"),
        ("run claude --resume abc", None),
        ("claude --resume", None),
        ("claude --resume two words", None),
        ("", None),
    ],
)
def test_tokens(text: str, token: str | None) -> None:
    assert find_resume_token(text) == token


@given(st.text(st.characters(exclude_characters="`", exclude_categories=["Z", "C"]), min_size=1))
def test_a_line_gives_its_token_back(token: str) -> None:
    if token.split() == [token]:  # no space of any kind
        assert find_resume_token(f"as before:\n{resume_line(token)}\n") == token
