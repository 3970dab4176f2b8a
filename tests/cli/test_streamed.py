"""Streamed Markdown: finished blocks come out whole and in order, whatever the pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.cli.showing.streamed import StreamedText

lines = st.sampled_from(["", "", "word and word", "- item", "# heading", "```python", "```", "~~~~", "~~~", "    code"])
documents = st.lists(lines).map("\n".join)


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def content(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


@given(documents, st.lists(st.integers(0, 10_000), max_size=20))
def test_nothing_is_lost_and_nothing_comes_twice(text: str, cuts: list[int]) -> None:
    streamed = StreamedText()
    shown = [streamed.feed(piece) for piece in pieces_of(text, cuts)]
    shown.append(streamed.finish(text))
    assert content("\n".join(shown)) == content(text)


@given(documents, st.lists(st.integers(0, 10_000), max_size=20), documents)
def test_the_whole_text_is_the_truth(text: str, cuts: list[int], truth: str) -> None:
    streamed = StreamedText()
    shown = [streamed.feed(piece) for piece in pieces_of(text, cuts)]
    rest = streamed.finish(truth)
    assert content(truth)[-len(content(rest)) :] == content(rest) or not content(rest)
    if not "".join(shown).strip():
        assert content(rest) == content(truth)


def test_a_block_is_finished_at_its_blank_line() -> None:
    streamed = StreamedText()
    assert streamed.feed("one\nmore") == ""
    assert streamed.preview() == "one\nmore"
    assert streamed.feed("\n\ntwo") == "one\nmore\n\n"
    assert streamed.preview() == "two"
    assert streamed.finish() == "two"


def test_a_code_block_is_not_torn_apart() -> None:
    streamed = StreamedText()
    assert streamed.feed("```sh\na\n\nb\n``\n\n") == ""
    assert streamed.feed("```\n\nafter") == "```sh\na\n\nb\n``\n\n```\n\n"


def test_a_long_preview_is_its_end() -> None:
    streamed = StreamedText()
    streamed.feed("```sh\n" + "line\n" * 2000 + "last")
    preview = streamed.preview()
    assert preview.startswith("```sh\nline\n")
    assert preview.endswith("last")
    assert len(preview) < 5000
