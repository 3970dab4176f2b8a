"""What is a command, and for whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.telegram.commands.parsing import CommandLine, command_line, first_word
from handrail.telegram.projects import branch_at_start, worktree_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/new", CommandLine("new")),
        ("  /New  fix it\nnow ", CommandLine("new", "fix it\nnow")),
        ("/new@Handrail_Bot fix", CommandLine("new", "fix")),
        ("/new@other_bot fix", CommandLine("new", "fix", False)),
        ("/new\nfix", CommandLine("new", "fix")),
        ("/usr/bin/env", None),
        ("/", None),
        ("//", None),
        ("/2fast", None),
        ("/new!", None),
        ("look at /new", None),
        ("/" + "x" * 33, None),
        ("", None),
    ],
)
def test_commands_are_told_from_messages(text: str, expected: CommandLine | None) -> None:
    assert command_line(text, "handrail_bot") == expected


@given(st.text())
def test_any_text_is_a_command_or_none(text: str) -> None:
    line = command_line(text, "bot")
    assert line is None or (text.lstrip().startswith("/") and line.rest in text)


@given(st.from_regex(r"\A[a-z][a-z0-9_]{0,31}\Z"), st.text(), st.booleans())
def test_what_was_written_comes_back(name: str, rest: str, names_us: bool) -> None:
    line = command_line(f"/{name}{'@bot' if names_us else ''} {rest}", "bot")
    assert line == CommandLine(name, rest.strip())


@given(st.text())
def test_the_first_word_has_no_space(text: str) -> None:
    word, rest = first_word(text)
    assert [word, *rest.split()] == (text.split() or [""])


@pytest.mark.parametrize(
    ("text", "branch", "rest"),
    [
        ("@fix-login do it", "fix-login", "do it"),
        ("  @feature/login\ndo it", "feature/login", "do it"),
        ("@v1.2", "v1.2", ""),
        ("@handrail_bot do it", "", "@handrail_bot do it"),
        ("@my_bot, do it", "", "@my_bot, do it"),
        ("do it @there", "", "do it @there"),
        ("@", "", "@"),
        ("@-", "", "@-"),
        ("ann@example.org", "", "ann@example.org"),
    ],
)
def test_a_branch_is_at_the_start(text: str, branch: str, rest: str) -> None:
    assert branch_at_start(text, "handrail_bot") == (branch, rest)


def test_a_worktree_has_a_name_without_slashes() -> None:
    assert worktree_name("feature/login/") == "feature-login"
