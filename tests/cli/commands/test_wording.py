"""Short words for tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.cli.commands.wording import SHORTEST_ID, age, from_home, short_ids


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "now"), (0, "now"), (1, "1 s"), (59.9, "59 s"), (60, "1 min"), (7200, "2 h"), (86400 * 3, "3 d")],
)
def test_an_age_is_in_its_largest_unit(seconds: float, words: str) -> None:
    assert age(seconds) == words


@given(st.lists(st.text("abcd0123", min_size=12, max_size=12), unique=True))
def test_short_ids_tell_sessions_apart(ids: list[str]) -> None:
    short = short_ids(ids)
    assert len(set(short.values())) == len(ids)
    for whole, prefix in short.items():
        assert whole.startswith(prefix)
        assert len(prefix) >= SHORTEST_ID
        assert [each for each in ids if each.startswith(prefix)] == [whole]


def test_the_home_directory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/maria")
    assert from_home("/home/maria") == "~"
    assert from_home("/home/maria/src/api") == "~/src/api"
    assert from_home("/home/mariana/src") == "/home/mariana/src"
