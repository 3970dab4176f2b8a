"""Resume lines in texts."""

from __future__ import annotations

import re
import time

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


@pytest.mark.slow
@given(st.text(st.characters(exclude_characters="`", exclude_categories=["Z", "C"]), min_size=1))
def test_a_line_gives_its_token_back(token: str) -> None:
    if token.split() == [token]:  # no space of any kind
        assert find_resume_token(f"as before:\n{resume_line(token)}\n") == token


AS_SPECIFIED = re.compile(r"(?im)^\s*`?claude\s+(?:--resume|-r)\s+(?P<token>[^`\s]+)`?\s*$")
PIECES = ["claude", "Claude", "--resume", "-r", "abc", "`", " ", "\n", "\r\n", "\t", "\u2028", "\x85"]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_the_same_lines_are_found_as_specified(text: str) -> None:
    expected = [match["token"] for match in AS_SPECIFIED.finditer(text)]
    assert find_resume_token(text) == (expected[-1] if expected else None)


@pytest.mark.parametrize("text", ["\n" * 50_000, "\n" * 25_000 + "claude" + "\n" * 25_000, "claude -r " * 5_000])
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    assert find_resume_token(text) is None
    assert time.process_time() - started < 1.0
