"""Policy files: what they say, and messages that name file, line, key and remedy."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import InvalidPolicy
from handrail.policy.documents import WrittenRule, parse_document
from handrail.toml_text import toml_lines

FULL = """\
# what everybody gets
profile = "edits"
allow = [
  "Bash(git status)",   # harmless, "Bash(x)"
  'WebFetch(domain:docs.python.org)',
]
deny = ["Bash(git push *)", "Read(.env)"]
expire_after = "30m"

[plan]
outline_cooldown = true
"""


def test_a_whole_document() -> None:
    document = parse_document(FULL.encode(), "p.toml")
    assert document.profile == "edits"
    assert document.rules == (
        WrittenRule("Bash(git status)", "allow", 4),
        WrittenRule("WebFetch(domain:docs.python.org)", "allow", 5),
        WrittenRule("Bash(git push *)", "deny", 7),
        WrittenRule("Read(.env)", "deny", 7),
    )
    assert document.expire_after == 1800
    assert document.outline_cooldown is True


def test_an_empty_file_says_nothing() -> None:
    document = parse_document(b"", "p.toml")
    assert (document.profile, document.rules, document.expire_after, document.outline_cooldown) == (
        None,
        (),
        None,
        None,
    )


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5h", 5400), ("1d", 86400)])
def test_durations(text: str, seconds: float) -> None:
    assert parse_document(f'expire_after = "{text}"'.encode(), "p").expire_after == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('profile = "careful"\nalow = []', "p.toml, line 2, alow: there is no such key: did you mean 'allow'?"),
        ("[plan]\ncooldown = true", "line 2, plan.cooldown: there is no such key"),
        ('\nprofile = "edit"', "line 2, profile: there is no profile 'edit': did you mean 'edits'?"),
        ("profile = 1", "line 1, profile: must be one of careful, edits, readonly and trusted, in quotes"),
        ('allow = "Bash"', 'line 1, allow: must be a list of rules: write allow = ["Bash(git status)"]'),
        ('deny = [\n  "Bash(x)",\n  3,\n]', "line 3, deny[1]: 3 is not a rule"),
        ('deny = [\n  "Bash(x",\n]', "line 2, deny[0]: "),
        ('deny = ["Edit(/src/**)"]', "line 1, deny[0]: "),
        ('expire_after = "soon"', 'line 1, expire_after: "soon" is not a duration: write a number and a unit'),
        ("expire_after = 30", "line 1, expire_after: 30 is not a duration"),
        ('expire_after = "0s"', "is no time at all"),
        ("plan = true", "line 1, plan: must be a table"),
        ('[plan]\noutline_cooldown = "on"', 'line 2, plan.outline_cooldown: must be true or false, not "on"'),
        ("plan.outline_cooldown = 1", "line 1, plan.outline_cooldown: must be true or false"),
        ("a = 1\nb = ", "line 2: this is not TOML"),
        ("allow = [", "line 1: this is not TOML"),
        ("profile = 'a'\nprofile = 'b'", "line 2: this is not TOML"),
        ("allow = " + "[" * 5000, "this is not TOML"),
        ("x = " + "1" * 5000, "p.toml, line 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        parse_document(text.encode(), "p.toml")
    assert message in str(caught.value)


def test_everything_that_is_wrong_is_said_at_once_in_order() -> None:
    with pytest.raises(InvalidPolicy) as caught:
        parse_document(b'deny = ["Bash(x"]\nprofil = "careful"\nexpire_after = 3', "p.toml")
    assert [line.split(",")[1] for line in str(caught.value).splitlines()] == [" line 1", " line 2", " line 3"]


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match=r"p.toml, line 2: this is not UTF-8 text"):
        parse_document(b'profile = "careful"\n# \xff\n', "p.toml")


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
basic = texts.map(lambda text: json.dumps(text, ensure_ascii=False))
literal = texts.filter(lambda text: "'" not in text).map(lambda text: f"'{text}'")
strings = st.one_of(basic, literal, st.sampled_from(["1", "true", "[1, 2]", '{a = "]"}', '"""x\n]"""', "'''\n#'''"]))
gaps = st.sampled_from(["", " ", "\n", ' # ] , "\n', "\n\n"])


@given(st.lists(st.tuples(gaps, strings, gaps), max_size=6))
def test_items_of_a_list_are_found_on_their_lines(items: list[tuple[str, str, str]]) -> None:
    text, lines = "before = 1\nallow = [", []
    for before, item, after in items:
        text += before
        lines.append(text.count("\n") + 1)
        text += f"{item}{after},"
    text += "\n]\nafter = ['x']\n"
    assert len(tomllib.loads(text)["allow"]) == len(items)
    found = toml_lines(text)
    assert [found["allow", index] for index in range(len(items))] == lines
    assert found["after", 0] == text.count("\n")


@pytest.mark.slow
@given(st.text(max_size=80))
def test_any_text_is_a_document_or_an_error_that_names_the_file(text: str) -> None:
    message = "p.toml, line 0"
    try:
        parse_document(text.encode("utf-8", "replace"), "p.toml")
    except InvalidPolicy as error:
        message = str(error)
    assert all(line.startswith("p.toml, line ") for line in message.split("\n"))
