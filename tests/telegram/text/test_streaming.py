"""Markdown that is still being written: nothing flickers, nothing is misread, whatever the last character is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.telegram.text.rich import RichText
from handrail.telegram.text.streaming import closed_for_now, from_unfinished, last_part

from .support import check, looks
from .test_markdown import MARKED

ANSWER = """# What I did

I changed **two files** and ran `make test`, see [the log](https://ci.example/1).

- `a.py`: *renamed*
- ~~b.py~~

```python
def f(x):
    return x ** 2
```

| a | b |
|---|---|
| 1 | 2 |

Done.
"""


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("so **it is", "so it is", [("bold", "it is")]),
        ("so **it is*", "so it is", [("bold", "it is")]),
        ("so **", "so", []),
        ("run `make te", "run make te", [("code", "make te")]),
        ("run `", "run", []),
        ("***both", "both", [("bold", "both"), ("italic", "both")]),
        ("~~not", "not", [("strikethrough", "not")]),
        ("see [the log](https://ci.exa", "see the log", []),
        ("see ![pic](http://p", "see pic", []),
        ("2 * 3 and a*b", "2 * 3 and a*b", []),
        ("* item\n* **bold", "• item\n• bold", [("bold", "bold")]),
        ("so:\n\n```", "so:", []),
        ("so:\n\n```py", "so:", []),
        ("so:\n\n```py\nx", "so:\nx", [("pre", "x")]),
        ("so:\n\n```py\nx **y `z\n``", "so:\nx **y `z", [("pre", "x **y `z")]),
        ("```\nx\n```\nand **more", "x\nand more", [("pre", "x"), ("bold", "more")]),
        ("words\n-", "words", []),
        ("words\n==", "words", []),
        ("**done**\n\nand *on", "done\n\nand on", [("bold", "done"), ("italic", "on")]),
        (r"not \*this", "not *this", []),
    ],
)
def test_what_is_open_is_closed(source: str, text: str, expected: list[tuple[str, str]]) -> None:
    shown = from_unfinished(source)
    assert (shown.text, looks(shown)) == (text, expected)


@pytest.mark.slow
def test_at_each_moment_no_mark_is_seen_as_text() -> None:
    for end in range(1, len(ANSWER)):
        shown = from_unfinished(ANSWER[:end])
        check(shown)
        assert "**" not in _outside_of_code(shown)
        assert "`" not in _outside_of_code(shown)
        assert "](" not in shown.text


def _outside_of_code(rich: RichText) -> str:
    text = rich.text
    for entity in reversed(rich.entities):
        if entity.kind == "pre":
            text = text[: entity.offset] + text[entity.offset + entity.length :]
    return text


def test_the_last_part_begins_with_a_line() -> None:
    assert last_part("short", 100) == "short"
    assert last_part("one\ntwo\nthree", 7) == "three"
    assert last_part("x" * 50, 10) == "x" * 10


def test_the_last_part_of_code_is_code() -> None:
    source = "so:\n\n```py\n" + "\n".join(f"x{number} = 1" for number in range(100))
    part = last_part(source, 50)
    assert part.startswith("```py\nx")
    assert looks(from_unfinished(part))[0][0] == "pre"
    assert not last_part(source + "\n```\n" + "words\n" * 20, 50).startswith("```")


def test_a_megabyte_is_quick() -> None:
    source = ("words **and** `more` of it\n" * 3 + "```\ncode\n```\n") * 10_000
    began = time.process_time()
    check(from_unfinished(last_part(source, 4_000)))
    assert time.process_time() - began < 0.5


@given(MARKED)
@settings(max_examples=50, deadline=None)
def test_any_beginning_is_valid(source: str) -> None:
    check(from_unfinished(source))


@given(MARKED, st.integers(1, 60))
@settings(max_examples=50, deadline=None)
def test_any_end_is_valid(source: str, characters: int) -> None:
    check(from_unfinished(last_part(source, characters)))


@given(st.text(alphabet="ab *`~[]()\n", max_size=60))
@settings(max_examples=50, deadline=None)
def test_no_word_is_lost(source: str) -> None:
    """But for the address of a link that is not there yet."""
    closed = closed_for_now(source)
    lost = sum(map(str.isalpha, source)) - sum(map(str.isalpha, closed))
    assert lost == 0 or "](" in source or "``" in source or "~~" in source
