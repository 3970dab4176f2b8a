"""Where things stand in a TOML text."""

from __future__ import annotations

import pytest

from handrail.toml_text import NotToml, line_of, parse_toml, place_in_words, toml_lines

TEXT = """\
[claude]
env.LANG = "C"

[[notify]]
on = ["ask",
  "failed"]

[[notify]]
command = ["x"]

[notify.more]
deep = 1

[[notify.each]]
a = 1
[[notify.each]]
a = 2
"""


def test_tables_that_stand_there_several_times_are_counted() -> None:
    lines = toml_lines(TEXT)
    assert lines["claude", "env", "LANG"] == 2
    assert (lines["notify", 0], lines["notify", 1]) == (4, 8)
    assert lines["notify", 0, "on", 1] == 6
    assert lines["notify", 1, "command"] == 9
    assert lines["notify", 1, "more", "deep"] == 12
    assert [lines["notify", 1, "each", number, "a"] for number in (0, 1)] == [15, 17]


def test_what_has_no_line_has_that_of_what_is_around_it() -> None:
    lines = toml_lines(TEXT)
    assert line_of(("notify", 0, "webhook"), lines) == 4
    assert line_of(("nothing",), lines) == 1


def test_places_in_words() -> None:
    assert place_in_words(("notify", 1, "on", 0)) == "notify[1].on[0]"


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"a = 1\nb = \n", 2, 5), (b"a = 1\n[b", 2, None), (b"a = 1\nb = '\xff'", 2, None)],
)
def test_what_is_not_toml_has_a_place(data: bytes, line: int, column: int | None) -> None:
    with pytest.raises(NotToml) as raised:
        parse_toml(data)
    assert (raised.value.line, raised.value.column) == (line, column)
