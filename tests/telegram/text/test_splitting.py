"""Long texts in several messages: what is lost at a cut is white space, and what is cut looks as it did."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.telegram.text.building import tidied
from handrail.telegram.text.markdown import from_markdown
from handrail.telegram.text.rich import EMPTY, Entity, EntityKind, RichText, bold, joined, plain, pre, utf16_length
from handrail.telegram.text.splitting import beginning, left_out, shortened, split

from .support import check, check_sendable, covered
from .test_markdown import MARKED


def texts(parts: list[RichText]) -> list[str]:
    return [part.text for part in parts]


def test_what_fits_is_one_message() -> None:
    rich = joined([bold("a"), " and ", pre("b", "py")])
    assert split(rich) == [rich]
    assert split(EMPTY) == []
    assert split(plain(" \n\n ")) == []


def test_paragraphs_before_lines_before_words() -> None:
    assert texts(split(plain("aaaa bbbb\n\ncccc\ndddd eeee"), 18)) == ["aaaa bbbb", "cccc\ndddd eeee"]
    assert texts(split(plain("aaaa bbbb\ncccc dddd"), 12)) == ["aaaa bbbb", "cccc dddd"]
    assert texts(split(plain("aaaa bbbb cccc"), 11)) == ["aaaa bbbb", "cccc"]
    assert texts(split(plain("a" * 25), 10)) == ["a" * 10, "a" * 10, "a" * 5]


def test_a_block_of_code_that_fits_a_message_is_not_cut() -> None:
    code = "\n".join(f"line {number}" for number in range(12))
    parts = split(joined([plain("words " * 8 + "\n"), pre(code, "py"), "\n\nafter"]), 100)
    assert any(part.text == code or part.text.startswith(code) for part in parts)
    assert [entity.language for part in parts for entity in part.entities] == ["py"]


def test_a_longer_one_goes_on_in_its_language() -> None:
    code = "\n".join(f"    line {number}" for number in range(100))
    parts = split(pre(code, "py"), 200)
    assert len(parts) > 5
    assert "\n".join(texts(parts)) == code
    for part in parts:
        assert part.text.startswith("    line")
        assert part.entities == (Entity("pre", 0, part.length, language="py"),)


@pytest.mark.slow
def test_at_most_so_many_entities() -> None:
    rich = from_markdown("\n".join(f"- **b{number}** and `c{number}`" for number in range(500)))
    parts = split(rich)
    assert all(len(part.entities) <= 100 for part in parts)
    assert sum(len(part.entities) for part in parts) == 1000
    assert sum(part.text.count("•") for part in parts) == 500


def test_more_entities_in_one_place_than_a_message_may_have() -> None:
    kinds: list[EntityKind] = ["bold", "italic", "underline"]
    rich = RichText("word", tuple(Entity(kind, 0, 4) for kind in kinds))
    (part,) = split(rich, most_entities=2)
    assert len(part.entities) == 2


@pytest.mark.parametrize(
    "character",
    [
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "👍🏽",
        "e\u0301",
        "✌️",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "𝕏",
        "한",
    ],
)
def test_no_character_is_cut_in_two(character: str) -> None:
    for part in split(plain(character * 40), 31):
        assert part.text == character * (len(part.text) // len(character))


def test_a_character_that_is_longer_than_a_message() -> None:
    endless = "a" + "\u0301" * 500
    assert "".join(texts(split(plain(endless), 50))) == endless
    assert "".join(texts(split(plain("😀" * 20), 3))) == "😀" * 20


@pytest.mark.slow
def test_a_megabyte_takes_no_second() -> None:
    entities = tuple(Entity("bold", 30 * number, 2) for number in range(30_000))
    rich = RichText("ab " * 350_000, entities)
    began = time.process_time()
    parts = split(rich)
    assert time.process_time() - began < 2
    assert sum(len(part.entities) for part in parts) == len(entities)


@pytest.mark.parametrize("nothing", [" " * 500_000, "\n" * 500_000, " \n" * 250_000, "\u3000" * 500_000])
def test_much_white_space_takes_no_second(nothing: str) -> None:
    began = time.process_time()
    parts = split(plain(f"a{nothing}b{nothing}"))
    assert time.process_time() - began < 1
    assert [part.strip() for part in texts(parts)] == ["a", "b"]


def test_shortened() -> None:
    rich = joined(["say ", bold("many words"), " here"])
    assert shortened(rich, 40) == rich
    short = shortened(rich, 10)
    assert (short.text, covered(short, short.entities[0])) == ("say many…", "many")
    assert shortened(rich, 1).text == "…"
    assert shortened(plain("a b"), 2, mark="").text == "a"


def test_left_out_says_how_much() -> None:
    lines = plain("\n".join(f"line {number}" for number in range(1_300)))
    short = left_out(lines, 60)
    shown, _, more = short.text.rpartition("\n")
    assert more == f"… {1_300 - shown.count(chr(10)) - 1:,} more lines"
    assert short.length <= 60
    assert left_out(plain("x" * 100), 50).text == "x" * 28 + "\n… 72 more characters"
    assert left_out(plain("x" * 50), 50).text == "x" * 50


KINDS: list[EntityKind] = ["bold", "italic", "underline", "strikethrough", "code", "pre", "text_link", "blockquote"]
PIECES = ["word", "a", " ", "  ", "\n", "\n\n", "😀", "👩‍👩‍👧", "e\u0301", "ש", "日本語", "\u0a0a", "x" * 30]


@st.composite
def rich_texts(draw: st.DrawFn) -> RichText:
    """A text whose entities are in order and apart, as far as kinds demand it."""
    text = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=60)))
    length = utf16_length(text)
    starts = draw(st.lists(st.integers(0, max(length, 1)), max_size=12, unique=True).map(sorted))
    entities = []
    for start, end in zip(starts, [*starts[1:], length], strict=False):
        kind = draw(st.sampled_from(KINDS))
        url = "http://a.b" if kind == "text_link" else ""
        entities.append(Entity(kind, start, max(0, end - start), url, "py" if kind == "pre" else ""))
    return _whole_characters(text, entities)


def _whole_characters(text: str, entities: list[Entity]) -> RichText:
    """Without entities that begin or end inside of a surrogate pair."""
    pairs = {utf16_length(text[:index]) + 1 for index, character in enumerate(text) if character > "\uffff"}
    return tidied(text, [each for each in entities if not {each.offset, each.offset + each.length} & pairs])


@given(rich_texts(), st.integers(4, 60), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_nothing_but_white_space_is_lost(rich: RichText, limit: int, most: int) -> None:
    parts = split(rich, limit, most)
    for part in parts:
        assert part.text.strip()
        assert part.text == part.text.rstrip()
        check(part, longest=limit, most_entities=most)
    assert _seen(parts) == _seen([rich])


@given(rich_texts(), st.integers(2, 80))
@settings(max_examples=60, deadline=None)
def test_what_is_shortened_fits(rich: RichText, limit: int) -> None:
    short = shortened(rich, limit)
    check(short, longest=limit)
    assert short == rich or short.text.endswith("…")
    assert rich.text.startswith(beginning(rich, limit).text) or not rich.text.strip() or rich.text[:1].isspace()
    check(left_out(rich, limit + 40), longest=limit + 40)


@given(MARKED, st.integers(20, 200))
@settings(max_examples=60, deadline=None)
def test_telegram_takes_every_part_as_it_is(source: str, limit: int) -> None:
    for part in split(from_markdown(source), limit):
        check_sendable(part)


def test_links_take_room() -> None:
    rich = from_markdown(" ".join(f"[{number}](https://a.example/{'x' * 900}/{number})" for number in range(20)))
    parts = split(rich)
    assert len(parts) > 1
    for part in parts:
        check_sendable(part)
    assert sum(len(part.entities) for part in parts) == 20


def _seen(parts: list[RichText]) -> list[tuple[str, frozenset[str]]]:
    """Every character that is no white space, with the looks that it has."""
    seen = []
    for part in parts:
        at = 0
        for character in part.text:
            around = [entity for entity in part.entities if entity.offset <= at < entity.offset + entity.length]
            at += utf16_length(character)
            if not character.isspace():
                seen.append((character, frozenset(f"{entity.kind}{entity.language}" for entity in around)))
    return seen
