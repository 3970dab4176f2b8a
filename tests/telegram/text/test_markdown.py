"""Markdown as entities: what each construct becomes, and that nothing is lost or misread."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.telegram.text.markdown import LONGEST_MARKDOWN, from_markdown, is_link
from handrail.telegram.text.rich import Entity, RichText

from .support import check, looks


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("plain words", "plain words", []),
        ("**b** *i* ~~s~~ `c`", "b i s c", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("***both***", "both", [("bold", "both"), ("italic", "both")]),
        ("# Head\nbelow", "Head\nbelow", [("bold", "Head")]),
        ("Head\n====\n\nbelow", "Head\nbelow", [("bold", "Head")]),
        ("# **Head** `x`", "Head x", [("bold", "Head"), ("code", "x")]),
        ("**a `b` c**", "a b c", [("bold", "a"), ("code", "b"), ("bold", "c")]),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree", []),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("> quoted\n> on\n\nnot", "quoted\non\nnot", [("blockquote", "quoted\non")]),
        ("> a\n> > b", "a\n\n│ b", [("blockquote", "a\n\n│ b")]),
        ("> ```\n> x\n> ```", "x", [("blockquote", "x"), ("pre", "x")]),
        ("```python\nx = 1\n```", "x = 1", [("pre", "x = 1")]),
        ("    indented\n      code", "indented\n  code", [("pre", "indented\n  code")]),
        ("```\n  first line is indented\n```", "  first line is indented", [("pre", "  first line is indented")]),
        ("```\n```", "", []),
        ("<b>no</b> <!-- html -->", "<b>no</b> <!-- html -->", []),
        ("a &lt; b &amp; c", "a < b & c", []),
        (r"\*not\* \`this\`", "*not* `this`", []),
        ("[a]: http://b.c", "[a]: http://b.c", []),
    ],
)
def test_constructs(source: str, text: str, expected: list[tuple[str, str]]) -> None:
    shown = from_markdown(source)
    assert (shown.text, looks(shown)) == (text, expected)
    check(shown)


@pytest.mark.parametrize(
    "text",
    [
        "$HOME and ${PATH}",
        "List<String> and Map<K, V>",
        "a || b && c",
        "snake_case_name and __init__.py of 2 * 3 * 4",
        "C:\\Users\\ann",
        "x -> y => z",
        "100% #1 @ann ~5",
        "{{ template }} {% raw %}",
        "if (a < b) { return [1, 2]; }",
        "שלום, عالم",
        "👩‍👩‍👧‍👦 and 🇩🇪",
    ],
)
def test_is_not_corrupted(text: str) -> None:
    assert from_markdown(text.replace("__", "\\_\\_")).text == text


def test_lists() -> None:
    source = "- a\n- b\n  - c\n    more of c\n  - d\n\n3. x\n4. y\n   1. z\n\n* [ ] to do\n* [x] done\n*\n"
    assert from_markdown(source).text == (
        "• a\n• b\n   • c\n      more of c\n   • d\n\n3. x\n4. y\n   1. z\n\n• ☐ to do\n• ☑ done\n•"
    )


def test_lists_with_blocks() -> None:
    shown = from_markdown("1. run\n   ```sh\n   make\n   ```\n2. > said\n3. ```\n   x\n   ```")
    assert shown.text == "1. run\nmake\n2. │ said\n3. \nx"
    assert shown.entities == (Entity("pre", 7, 4, language="sh"), Entity("pre", 26, 1))


def test_a_box_in_code_is_code() -> None:
    assert from_markdown("- `[x] y`").text == "• [x] y"


def test_fences_keep_the_language_and_what_else_is_said() -> None:
    shown = from_markdown('```ts title="a.ts"\nx\n```\n\n```!!\ny\n```')
    assert shown.text == 'title="a.ts"\nx\n!!\ny'
    assert [entity.language for entity in shown.entities] == ["ts", ""]


def test_links() -> None:
    shown = from_markdown(
        "[site](https://a.b/c?d=e) [mail](mailto:a@b.c) [chat](tg://user?id=1) [file](src/app.py#L3) "
        "[bad](javascript:alert) <https://auto.example> ![pic](http://p.q/r.png) [**b** `c`](http://x.y)"
    )
    assert shown.text == (
        "site mail (a@b.c) chat file (src/app.py#L3) [bad](javascript:alert) https://auto.example 🖼 pic b c"
    )
    assert [(kind, text) for kind, text in looks(shown) if kind != "bold"] == [
        ("text_link", "site"),
        ("text_link", "chat"),
        ("text_link", "🖼 pic"),
        ("text_link", "b c"),
    ]
    check(shown)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://",
        "https:///x",
        "ftp://a.b",
        "/etc/passwd",
        "javascript:x",
        "data:text/html,x",
        "http://[",
        "tg:",
        "http://a b",
        "mailto:a@b.c",
        "http://localhost:80/",
        "http://a@b.c",
        "http://a.b:99999",
    ],
)
def test_is_no_link(address: str) -> None:
    assert not is_link(address)


def test_a_linked_picture_is_one_link() -> None:
    shown = from_markdown("[![alt](http://p.q/r.png)](http://x.y)")
    assert shown.text == "🖼 alt (http://p.q/r.png)"
    assert [entity.url for entity in shown.entities] == ["http://x.y"]


def test_tables() -> None:
    shown = from_markdown("| name | n |\n|:---|---:|\n| `a` | 1 |\n| **日本** | 22 |\n")
    assert shown.text == "name │  n\n─────┼───\na    │  1\n日本 │ 22"
    assert [entity.kind for entity in shown.entities] == ["pre"]


def test_a_table_with_a_cell_too_many_is_shown_as_it_was_written() -> None:
    source = "| a | b |\n|---|---|\n| 1 | 2 | surplus |"
    assert from_markdown(source).text == source


def test_hidden_characters_are_written_out() -> None:
    assert from_markdown("a\u202eb\u200bc\x00 **d\u2066**").text == "a<U+202E>b<U+200B>c<U+0000> d<U+2066>"


def test_an_open_fence_is_code() -> None:
    assert looks(from_markdown("so:\n\n```py\nx = [")) == [("pre", "x = [")]


@pytest.mark.parametrize("depth", [10, 100, 5_000])
def test_deep_quotes_lose_nothing(depth: int) -> None:
    shown = from_markdown("> " * depth + "bottom")
    assert "bottom" in shown.text
    check(shown)


def test_deep_lists_lose_nothing() -> None:
    source = "\n".join("  " * level + f"- item{level}." for level in range(60))
    text = from_markdown(source).text
    assert all(f"item{level}." in text for level in range(60))


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "[" * LONGEST_MARKDOWN,
        "![" * (LONGEST_MARKDOWN // 2),
        "**a" * (LONGEST_MARKDOWN // 3),
        "`" * LONGEST_MARKDOWN,
        "[a](" * (LONGEST_MARKDOWN // 4),
        "> " * (LONGEST_MARKDOWN // 2),
        "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + ("|b" * 100 + "|\n") * 90,
        "x" * 1_000_000,
        "**a** `b`\n" * 100_000,
        "\u202e" * 100_000,
    ],
    ids=lambda source: f"{source[:4]}×{len(source)}",
)
def test_hostile_text_takes_no_seconds(source: str) -> None:
    began = time.process_time()
    check(from_markdown(source))
    assert time.process_time() - began < 2


PIECES = [*"abc \n\t*_`~#>-+.|[]()!<>\\&=:", "\n\n", "    ", "```", "- ", "1. ", "|-|", "http://a.b", "😀", "é", "ש"]
MARKED = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


@given(MARKED)
@settings(max_examples=60, deadline=None)
def test_any_markdown_is_valid(source: str) -> None:
    check(from_markdown(source))


@given(MARKED)
@settings(max_examples=60, deadline=None)
def test_no_letter_is_lost(source: str) -> None:
    shown = from_markdown(source)
    assert not _letters(source) - _letters(_all_of(shown))


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_is_valid(source: str) -> None:
    shown = from_markdown(source)
    check(shown)
    shown.text.encode()


def _letters(text: str) -> Counter[str]:
    return Counter(character for character in text if character.isalpha())


def _all_of(rich: RichText) -> str:
    return rich.text + "".join(entity.url + entity.language for entity in rich.entities)
