"""HTML, MarkdownV2 and Markdown: what they come to, and what is wrong with them in the server's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.testing.telegram import Entity
from handrail.testing.telegram.entities import part_of, units
from handrail.testing.telegram.parsing_html import parse_html
from handrail.testing.telegram.parsing_markdown import parse_markdown, parse_markdown_v2

from .support import raw_bot


def spans(text: str, entities: list[Entity]) -> list[tuple[str, str]]:
    return [(entity.type, part_of(text, entity)) for entity in entities]


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("a <b>b</b> &lt;c&gt; &amp;nbsp;", "a b <c> &nbsp;", [("bold", "b")]),
        ("<b>x<i>y</i></b>", "xy", [("italic", "y"), ("bold", "xy")]),
        ('<a href="https://e.org?a=1&amp;b">z</a>', "z", [("text_link", "z")]),
        ("<a href='nope'>z</a>", "z", []),
        ('<pre><code class="language-py">x = 1</code></pre>', "x = 1", [("pre", "x = 1")]),
        ("<span class='tg-spoiler'>s</span>", "s", [("spoiler", "s")]),
        ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", "q")]),
        ("😀<u>😀</u>", "😀😀", [("underline", "😀")]),
    ],
)
def test_html(source: str, text: str, found: list[tuple[str, str]]) -> None:
    parsed, entities = parse_html(source)
    assert (parsed, spans(parsed, entities)) == (text, found)


def test_a_block_of_code_knows_its_language() -> None:
    assert parse_html('<pre><code class="language-py">x</code></pre>')[1] == [Entity("pre", 0, 1, language="py")]
    assert parse_markdown_v2("```py\nx```")[1] == [Entity("pre", 0, 1, language="py")]
    assert parse_markdown("```py\nx```")[1] == [Entity("pre", 0, 1, language="py")]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("é</b>", "Unexpected end tag at byte offset 2"),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b>x</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("<List>", 'Unsupported start tag "list" at byte offset 0'),
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("a <b", "Unclosed start tag at byte offset 2"),
        ("<a href=x/y>", "Unexpected end of name token at byte offset 8"),
        ("<span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ('<a href="x', "Unclosed start tag at byte offset 0"),
    ],
)
def test_wrong_html(source: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_html(source)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        (r"*a* _b_ __c__ ~d~ ||e|| `f`", "a b c d e f", "bold italic underline strikethrough spoiler code"),
        (r"1\.5 \*x\*", "1.5 *x*", ""),
        ("[z](https://e.org/a_b)", "z", "text_link"),
        ("`a_b*c`", "a_b*c", "code"),
        (">a\n>b\nc", "a\nb\nc", "blockquote"),
        (">a\n>b||", "a\nb", "expandable_blockquote"),
        ("![x](tg://emoji?id=5)", "x", "custom_emoji"),
    ],
)
def test_markdown_v2(source: str, text: str, found: str) -> None:
    parsed, entities = parse_markdown_v2(source)
    assert (parsed, " ".join(entity.type for entity in entities)) == (text, found)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("a.b", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("a | b", "Character '|' is reserved and must be escaped with the preceding '\\'"),
        ("é *b", "Can't find end of Bold entity at byte offset 3"),
        ("[a](b", "Can't find end of a URL at byte offset 4"),
        ("```x", "Can't find end of Pre entity at byte offset 0"),
    ],
)
def test_wrong_markdown_v2(source: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_markdown_v2(source)
    assert str(refused.value) == problem


def test_markdown() -> None:
    text, entities = parse_markdown(r"*a* _b_ `c` [d](https://e.org) \_ 1.5")
    assert text == "a b c d _ 1.5"
    assert spans(text, entities) == [("bold", "a"), ("italic", "b"), ("code", "c"), ("text_link", "d")]
    with pytest.raises(ValueError, match=r"^Can't find end of the entity starting at byte offset 2$"):
        parse_markdown("a *b")


@settings(max_examples=25)
@given(st.sampled_from([parse_html, parse_markdown, parse_markdown_v2]), st.text("<>/abi =\"'&;_*`[]()|\\\n.!é😀"))
def test_any_text_is_parsed_or_refused(parse: Callable[[str], tuple[str, list[Entity]]], source: str) -> None:
    try:
        text, entities = parse(source)
    except ValueError:
        return
    assert all(0 <= entity.offset < entity.end <= units(text) for entity in entities)


async def test_a_refusal_says_what_could_not_be_parsed() -> None:
    async with raw_bot() as (bot, _, chat):
        words = await bot.refusal("sendMessage", chat_id=chat.id, text="<b>x", parse_mode="HTML")
        assert words == "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""
        await bot.say(chat, "a <b>x</b>", parse_mode="HTML")
        assert (chat.messages[0].text, chat.messages[0].entities) == ("a x", [Entity("bold", 2, 1)])
