"""Hidden characters are shown, and nothing that reaches the terminal can steer it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.policy.describing.visible import hidden_characters, hiding, legible, one_line, visible

VISIBLE_FORMAT_CHARACTERS = {
    *range(0x0600, 0x0606),
    0x06DD,
    0x070F,
    0x0890,
    0x0891,
    0x08E2,
    0x110BD,
    0x110CD,
    *range(0x13430, 0x13440),
}
"""Signs around numbers and hieroglyph joiners: of category Cf, but with a shape of their own."""

REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la", "ls -la"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[2Jgone", "<U+001B>[2Jgone"),
        ("\x9b2Jgone", "<U+009B>2Jgone"),
        ("a\rb", "a<U+000D>b"),
        ("bell\x07", "bell<U+0007>"),
        ("rm \u202etxt.exe", "rm <U+202E>txt.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("no\xa0break", "no<U+00A0>break"),
        ("half\ud800", "half<U+D800>"),
        ("\u0301alone", "<U+0301>alone"),
        ("line\u2028end", "line<U+2028>end"),
        ("filler\u3164", "filler<U+3164>"),
        ("é, ü, 漢字, 🙂", "é, ü, 漢字, 🙂"),
    ],
)
def test_what_is_hidden_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["⚠️ careful", "👩‍💻 at work", "1️⃣ first", "10\xa0km", "می‌خواهم", "क्‍ष"])
def test_prose_keeps_what_writing_needs(text: str) -> None:
    assert legible(text) == text
    assert visible(text) != text


@pytest.mark.parametrize(
    "text", ["a\u200bb", "a\u200db", "\ufe0fx", "⚠\ufe0f\ufe0f", "x\u202ey", "\x1b]0;t\x07", "\u200d"]
)
def test_prose_shows_what_hides_for_no_reason(text: str) -> None:
    assert "<U+" in legible(text)


@pytest.mark.slow
def test_every_character_of_unicode() -> None:
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        obeyed = category == "Cc" and character not in "\n\t"
        hidden = category in ("Cs", "Zl", "Zp") or (category == "Cf" and code not in VISIBLE_FORMAT_CHARACTERS)
        odd_space = category == "Zs" and character != " "
        if obeyed or hidden or odd_space:
            assert visible(character) == f"<U+{code:04X}>", hex(code)
        if obeyed or hidden:
            assert legible(character) == f"<U+{code:04X}>", hex(code)


def test_marks_in_a_tall_stack_are_written_out() -> None:
    assert visible("e\u0301\u0302") == "e\u0301\u0302"
    assert visible("e" + "\u0301" * 6) == "e" + "\u0301" * 4 + "<U+0301><U+0301>"


def test_everything_on_one_line() -> None:
    assert one_line("  ls\n  rm \u202e\r\n") == "ls ⏎ rm <U+202E>"


@pytest.mark.slow
@given(any_text)
def test_nothing_hidden_or_reordering_is_left(text: str) -> None:
    for character in visible(text):
        category = unicodedata.category(character)
        assert category not in ("Cc", "Cs", "Zl", "Zp") or character in "\n\t"
        assert category != "Cf" or ord(character) in VISIBLE_FORMAT_CHARACTERS
        assert unicodedata.bidirectional(character) not in {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }


@given(any_text)
def test_what_hides_is_what_prose_writes_out(text: str) -> None:
    assert len(list(hiding(text))) <= legible(text).count("<U+") - text.count("<U+")


@given(any_text)
def test_the_result_can_be_printed_and_is_stable(text: str) -> None:
    for make in (visible, legible):
        shown = make(text)
        shown.encode("utf-8")
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown if c not in "\n\t")
        assert make(shown) == shown


@given(any_text)
def test_hidden_characters_are_counted(text: str) -> None:
    assert hidden_characters(text) == visible(text).count("<U+") - text.count("<U+")


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_left_alone(text: str) -> None:
    assert visible(text) == legible(text) == text
