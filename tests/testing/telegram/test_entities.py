"""What the server makes of entities: counted in UTF-16, put in order, nested, trimmed, at most a hundred."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.testing.telegram import Entity
from handrail.testing.telegram.detecting import detected
from handrail.testing.telegram.entities import nested, part_of, tidied, units
from handrail.testing.telegram.formatting import formatted

from .support import raw_bot

KINDS = ("bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote")
characters = st.sampled_from("ab \n\r\t😀é\u202e\u0333")


def written(text: str, start: int, end: int, kind: str) -> Entity:
    """An entity over characters, counted as Telegram counts."""
    return Entity(
        kind, units(text[:start]), units(text[start:end]), url="https://example.org/" if kind == "text_link" else ""
    )


@st.composite
def marked_texts(draw: st.DrawFn) -> tuple[str, list[Entity]]:
    text = draw(st.text(characters, min_size=1, max_size=20))
    place = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(place, place, st.sampled_from(KINDS)), max_size=6))
    return text, [written(text, min(start, end), max(start, end), kind) for start, end, kind in spans]


@settings(max_examples=25)
@given(marked_texts())
def test_entities_end_up_nested_and_inside_the_text(marked: tuple[str, list[Entity]]) -> None:
    text, entities = tidied(*marked)
    assert text == text.rstrip(" \n")
    for entity in entities:
        assert 0 <= entity.offset < entity.end <= units(text)
        assert "\ufffd" not in part_of(text, entity)
    for one, other in combinations(entities, 2):
        apart = one.end <= other.offset or other.end <= one.offset
        inside = (one.offset <= other.offset and other.end <= one.end) or (
            other.offset <= one.offset and one.end <= other.end
        )
        assert apart or inside
        assert apart or one.type != other.type
    assert nested(entities) == entities
    assert tidied(text, entities) == (text, entities)


@settings(max_examples=25)
@given(marked_texts())
def test_nothing_is_styled_that_was_not_marked(marked: tuple[str, list[Entity]]) -> None:
    _, given_entities = marked
    for entity in nested(given_entities):
        covering = [other for other in given_entities if other.type == entity.type]
        for unit in range(entity.offset, entity.end):
            assert any(other.offset <= unit < other.end for other in covering)


@pytest.mark.parametrize(
    ("given_entities", "kept"),
    [
        ([("bold", 0, 4), ("italic", 2, 4)], [("bold", 0, 4), ("italic", 2, 2), ("italic", 4, 2)]),
        ([("bold", 0, 2), ("bold", 2, 2)], [("bold", 0, 4)]),
        ([("code", 0, 4), ("bold", 2, 4)], [("code", 0, 4), ("bold", 4, 2)]),
        ([("bold", 0, 6), ("pre", 2, 2)], [("bold", 0, 2), ("pre", 2, 2), ("bold", 4, 2)]),
        ([("code", 0, 4), ("text_link", 2, 4)], [("code", 0, 4)]),
        ([("italic", 0, 6), ("bold", 0, 6)], [("bold", 0, 6), ("italic", 0, 6)]),
        ([("bold", 3, 0)], []),
    ],
)
def test_what_crosses(given_entities: list[tuple[str, int, int]], kept: list[tuple[str, int, int]]) -> None:
    result = nested([Entity(*entity) for entity in given_entities])
    assert [(entity.type, entity.offset, entity.length) for entity in result] == kept


def test_whitespace_goes_and_entities_move_along() -> None:
    assert tidied("  hi  ", [Entity("bold", 2, 4)]) == ("hi", [Entity("bold", 0, 2)])
    assert tidied("  hi", [Entity("bold", 0, 4)]) == ("  hi", [Entity("bold", 0, 4)])
    assert tidied("a\r\nb\u202ec", [Entity("bold", 1, 4)]) == ("a\nbc", [Entity("bold", 1, 2)])
    assert tidied("a\tb", []) == ("a b", [])


def test_links_and_commands_are_found() -> None:
    text = "/new@a_bot see https://example.org/x, mail ann@example.org, ask @ann_b #fix 😀 /stop"
    found = [(entity.type, part_of(text, entity)) for entity in detected(text)]
    assert found == [
        ("bot_command", "/new@a_bot"),
        ("url", "https://example.org/x"),
        ("email", "ann@example.org"),
        ("mention", "@ann_b"),
        ("hashtag", "#fix"),
        ("bot_command", "/stop"),
    ]
    assert detected("a/b /etc/passwd 10/2 x@y") == []


def test_nothing_is_found_in_code() -> None:
    text = formatted("/new and /old", "", [{"type": "code", "offset": 0, "length": 4}])
    assert [(entity.type, entity.offset) for entity in text.entities] == [("code", 0), ("bot_command", 9)]


async def test_a_hundred_entities_are_kept_and_styles_go_first() -> None:
    async with raw_bot() as (bot, _, chat):
        styles = [{"type": "bold", "offset": 2 * number, "length": 1} for number in range(110)]
        code = [{"type": "code", "offset": 2 * number, "length": 1} for number in range(200, 210)]
        await bot.say(chat, "x " * 250, entities=[*styles, *code])
        [message] = chat.messages
        assert (len(message.entities), message.dropped_entities) == (100, 20)
        assert sum(entity.type == "code" for entity in message.entities) == 10


async def test_links_are_answered_as_telegram_writes_them() -> None:
    async with raw_bot() as (bot, _, chat):
        link = {"type": "text_link", "offset": 0, "length": 2, "url": "Example.org"}
        sent = await bot.say(chat, "hi", entities=[link])
        assert sent["entities"] == [{**link, "url": "http://example.org/"}]
