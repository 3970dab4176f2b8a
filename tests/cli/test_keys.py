"""Keys, and the line that is typed with them: the same however the bytes were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from handrail.cli.asking.selection import Selection
from handrail.cli.keyboard.keys import Key, KeyParser
from handrail.cli.keyboard.line_editor import LineEditor


def names(data: bytes) -> list[str]:
    parser = KeyParser()
    return [key.name for key in [*parser.feed(data), *parser.flush()]]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"y", ["y"]),
        ("é→".encode(), ["é", "→"]),
        (b"\r", ["enter"]),
        (b"\n", ["enter"]),
        (b"\t", ["tab"]),
        (b"\x7f\x08", ["backspace", "backspace"]),
        (b"\x07\x04\x15", ["ctrl-g", "ctrl-d", "ctrl-u"]),
        (b"\x1b", ["escape"]),
        (b"\x1b\x1b", ["escape", "escape"]),
        (b"\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        (b"\x1bOA\x1bOH", ["up", "home"]),
        (b"\x1b[Z", ["shift-tab"]),
        (b"\x1b[1;5C\x1b[3;2~\x1b[3~", ["right", "delete", "delete"]),
        (b"\x1b[5~\x1b[1~\x1b[4~", ["page-up", "home", "end"]),
        (b"\x1b[24~\x1b[?1;2c", ["unknown", "unknown"]),
        (b"\x1b\r", ["newline"]),
        (b"\x1bb", ["alt-b"]),
        (b"a\x1b[200~x\x1b[Ay\r\x1b[201~b", ["a", "paste", "b"]),
        (b"\xff\xfey", ["\ufffd", "\ufffd", "y"]),
        (b"\x1b[" + b"1" * 100 + b"y", ["escape", "[", *"1" * 100, "y"]),
    ],
)
def test_keys(data: bytes, expected: list[str]) -> None:
    assert names(data) == expected


def test_what_is_pasted_is_one_key_with_all_of_it() -> None:
    (key,) = KeyParser().feed(b"\x1b[200~one\r\ntwo \x1b[201\x1b[201~")
    assert key == Key("paste", "one\r\ntwo \x1b[201")


def test_an_escape_waits_for_what_may_follow() -> None:
    parser = KeyParser()
    assert parser.feed(b"\x1b") == []
    assert parser.undecided
    assert [key.name for key in parser.feed(b"[A")] == ["up"]
    assert not parser.undecided
    assert parser.flush() == []


@given(
    st.lists(st.one_of(st.binary(max_size=8), st.sampled_from([b"\x1b[200~", b"\x1b[201~", b"\x1b[A", b"\x1b", b"y"]))),
    st.lists(st.integers(0, 200)),
)
def test_how_the_bytes_are_cut_makes_no_difference(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    cut, whole = KeyParser(), KeyParser()
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    assert [key for piece in pieces for key in cut.feed(piece)] == whole.feed(data)


# ---------------------------------------------------------------- the line


def typed(*keys: str) -> LineEditor:
    editor = LineEditor()
    for key in keys:
        editor.press(Key(key, key if len(key) == 1 else ""))
    return editor


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("abc", "abc"),
        (["a", "c", "left", "b"], "abc"),
        (["a", "b", "backspace", "c"], "ac"),
        (["a", "b", "home", "delete"], "b"),
        (["b", "ctrl-a", "a", "end", "c"], "abc"),
        ([*"one two", "ctrl-w"], "one "),
        ([*"one two", "left", "ctrl-u"], "o"),
        ([*"one two", "ctrl-a", "right", "ctrl-k"], "o"),
        (["backspace", "left", "delete", "ctrl-w"], ""),
    ],
)
def test_editing(keys: list[str], expected: str) -> None:
    assert typed(*keys).text == expected


def test_what_is_pasted_keeps_its_lines_and_is_shown_on_one() -> None:
    editor = LineEditor()
    assert editor.press(Key("paste", "one\r\ntwo\x1b[2J"))
    assert editor.text == "one\ntwo\x1b[2J"
    assert editor.row(80) == ("one⏎two<U+001B>[2J", 18)
    assert editor.take() == "one\ntwo\x1b[2J"
    assert editor.text == ""


def test_a_key_that_is_not_for_the_line() -> None:
    assert not LineEditor().press(Key("up"))
    assert not LineEditor().press(Key("ctrl-g"))


@given(st.lists(st.sampled_from(["a", "字", "left", "right", "backspace", "home"]), max_size=60), st.integers(2, 20))
def test_the_row_fits_and_the_cursor_is_in_it(keys: list[str], width: int) -> None:
    row, cursor = typed(*keys).row(width)
    assert cell_len(row) <= width
    assert 0 <= cursor <= cell_len(row)


# ---------------------------------------------------------------- choosing


@given(st.lists(st.sampled_from(["up", "down", "1", "3", "9", " ", "enter", "x", "o", "-", "b"])), st.booleans())
def test_a_selection_never_leaves_its_choices(keys: list[str], several: bool) -> None:
    selection = Selection(3, several=several)
    for key in keys:
        if selection.press(Key(key)) == "done":
            assert selection.taken
            assert several or len(selection.taken) == 1
        assert 0 <= selection.cursor < 3
        assert selection.taken <= {0, 1, 2}
