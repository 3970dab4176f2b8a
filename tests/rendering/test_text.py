"""Text, code and prose: shown as they are, with nothing hidden and nothing that acts."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.policy.describing.visible import legible, visible
from handrail.rendering.code import LANGUAGES, LONGEST_HIGHLIGHTED, code_html
from handrail.rendering.marks import exact_html, line_html, text_html
from handrail.rendering.prose import LONGEST_MARKDOWN, prose_html
from handrail.rendering.review import review_blocks, review_html

from .hostile import NASTY
from .safe_html import check_html, shown_text


def unbracketed(text: str) -> str:
    """A mark shows `U+202E`, where the text has `<U+202E>`."""
    return re.sub(r"<(U\+[0-9A-F]{4,6})>", r"\1", text)


# ---------------------------------------------------------------- hidden characters


def test_a_hidden_character_is_marked_and_named() -> None:
    assert exact_html("a\u202eb") == 'a<mark title="RIGHT-TO-LEFT OVERRIDE">U+202E</mark>b'
    assert line_html("a\x00\nb") == 'a<mark title="a character that cannot be seen">U+0000</mark> ⏎ b'
    assert text_html("x\u200by") == '<div class="plain">x<mark title="ZERO WIDTH SPACE">U+200B</mark>y</div>'


def test_a_character_reference_cannot_hide_anything() -> None:
    html = prose_html("&#8238;evil &ZeroWidthSpace;")
    assert "RIGHT-TO-LEFT OVERRIDE" in html
    assert "ZERO WIDTH SPACE" in html
    check_html(html)


def test_a_mark_stands_in_text_only() -> None:
    html = prose_html('[a](https://x.example/\u202e "\u202e <U+202E>") <U+202E>')
    check_html(html)
    assert html.count("<mark") == 1


@settings(deadline=None, max_examples=40)
@given(NASTY)
def test_exact_text_is_all_there(text: str) -> None:
    for html in (exact_html(text), code_html(text)):
        check_html(html)
        assert unbracketed(shown_text(html)) == unbracketed(visible(text))
    check_html(text_html(text))
    assert unbracketed(shown_text(text_html(text))) == unbracketed(legible(text))


# ---------------------------------------------------------------- code


def test_code_has_the_colours_of_its_language() -> None:
    assert '<span class="k">def</span>' in code_html("def x(): pass", "python")
    assert '<span class="k">def</span>' in code_html("def x(): pass", file_name="/a/b.py")
    assert "<span" not in code_html("def x(): pass", "no-such-language")
    assert "<span" not in code_html("def x(): pass", file_name="b.unknown")


def test_blank_lines_and_spaces_stay() -> None:
    text = "\n\n  x = 1\n\n\n"
    assert shown_text(code_html(text, "python")) == text


def test_long_code_is_folded_and_whole() -> None:
    text = "\n".join(f"line_{number} = {number}" for number in range(300))
    html = code_html(text, "python", shown=120)
    check_html(html)
    assert "<summary>Show all 300 lines</summary>" in html
    assert shown_text(html).replace("Show all 300 lines", "\n") == text
    assert "details" not in code_html(text, "python")


def test_what_a_language_does_not_know_is_shown_all_the_same() -> None:
    assert shown_text(code_html("no prompt here", "console")) == "no prompt here"


def test_very_long_code_has_no_colours() -> None:
    assert "<span" not in code_html("x = 1\n" * LONGEST_HIGHLIGHTED, "python")


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(NASTY, st.sampled_from(sorted(set(LANGUAGES.values()))))
def test_code_of_any_language_is_harmless_and_whole(text: str, language: str) -> None:
    html = code_html(text, language)
    check_html(html)
    assert unbracketed(shown_text(html)) == unbracketed(visible(text))


# ---------------------------------------------------------------- prose


def test_prose_is_rendered() -> None:
    html = prose_html("# Title\n\n- *a*\n\n```python\nimport os\n```\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n")
    check_html(html)
    for part in ("<h1>Title</h1>", "<em>a</em>", '<pre class="code">', 'class="kn"', '<th class="right">', "center"):
        assert part in html


def test_an_image_is_a_link() -> None:
    html = prose_html("![chart](https://example.com/x.png)")
    assert html == (
        '<div class="prose"><p><a href="https://example.com/x.png" rel="noopener noreferrer">🖼 chart</a></p>\n</div>'
    )


def test_a_line_that_was_typed_stays_a_line() -> None:
    assert 'class="prose as-typed"' in prose_html("a\nb", as_typed=True)


@pytest.mark.slow
def test_endless_prose_is_shown_as_it_was_typed() -> None:
    text = "[" * (LONGEST_MARKDOWN + 1)
    assert shown_text(prose_html(text)) == text
    assert len(review_blocks("a\n\n" * LONGEST_MARKDOWN)) == LONGEST_MARKDOWN


@settings(deadline=None, max_examples=40)
@given(NASTY)
def test_any_prose_is_harmless(text: str) -> None:
    check_html(prose_html(text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["[" * 8_000, "*a " * 4_000, "![" * 4_000, "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|b\n" * 5_000, "&" * 9_000],
    ids=["brackets", "stars", "images", "table", "references"],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    prose_html(text)
    assert time.process_time() - began < 5


# ---------------------------------------------------------------- what is to be approved


def test_a_plan_comes_in_parts() -> None:
    plan = "# Plan\n\nFirst\nthis.\n\n1. one\n2. two\n   - sub\n\n```sh\nls\n\nls\n```\n"
    blocks = review_blocks(plan)
    assert [block.text for block in blocks] == [
        "# Plan",
        "First\nthis.",
        "1. one",
        "2. two\n   - sub",
        "```sh\nls\n\nls\n```",
    ]
    assert '<ol start="2">' in blocks[3].html
    for block in blocks:
        check_html(block.html)


def test_where_a_link_leads_is_seen() -> None:
    html = review_html('[good.example](https://evil.example "title") and <https://plain.example>')
    assert "(https://evil.example title)" in shown_text(html)
    assert shown_text(html).count("plain.example") == 1


HIDDEN = [
    "[//]: # (rm -rf hidden)",
    "> [x]: https://a.example 'hidden'",
    "- [x]: https://a.example 'hidden'",
    "| a |\n|---|\n| b | hidden |",
    "```sh hidden\nls\n```",
    "[](https://a.example/hidden)",
    "[x](https://a.example 'hidden')",
    "![](https://a.example 'hidden')",
    "text [x][y]\n\n[y]: https://a.example/hidden",
    "<!-- hidden -->",
    "<details>hidden</details>",
    "\n\n\n    hidden\n\n",
]


@pytest.mark.parametrize("plan", HIDDEN)
def test_markdown_hides_nothing_of_a_plan(plan: str) -> None:
    html = review_html(plan)
    check_html(html)
    assert "hidden" in shown_text(html)


def letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


@settings(deadline=None, max_examples=40)
@given(NASTY)
def test_every_word_of_a_plan_is_seen_and_in_its_part(text: str) -> None:
    plan = text.replace("&", "")  # a reference is shown as what it stands for
    blocks = review_blocks(plan)
    for block in blocks:
        check_html(block.html)
        shown = shown_text(block.html)
        for word in re.findall(r"[a-z]{2,}", legible(block.text)):
            assert word in letters(shown)
    source = plan.replace("\r\n", "\n")
    assert letters("".join(block.text for block in blocks)) == letters(source)
