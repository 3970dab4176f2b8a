"""Amounts, modes and footers in words."""

from __future__ import annotations

import time

import pytest

from handrail.telegram.show.amounts import cost, duration, elapsed, moment, waiting_time
from handrail.telegram.show.footer import model_words
from handrail.telegram.show.mode_words import MODES, PLANMODES, mode_hint, mode_words, planmode_words

NOON = time.mktime((2026, 5, 4, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "0 s"),
        (4, "0 s"),
        (59, "55 s"),
        (61, "1:00"),
        (134, "2:00"),
        (590, "9:45"),
        (700, "11 min"),
        (7_800, "2 h 10 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_how_long_it_has_been_going_on(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words


def test_amounts() -> None:
    assert (duration(850), duration(134_000), duration(7_800_000)) == ("0.8 s", "2 min 14 s", "2 h 10 min")
    assert (cost(0), cost(0.0031), cost(12.3)) == ("$0.00", "$0.0031", "$12.30")
    assert (waiting_time(5), waiting_time(3_600), waiting_time(172_800)) == ("1 min", "1 h", "2 d")
    assert (moment(NOON, NOON), moment(NOON + 86_400, NOON)) == ("12:00", "May 5, 12:00")


def test_modes() -> None:
    assert [mode_words(mode) for mode in MODES] == ["Ask", "Accept edits", "Plan", "Don't ask", "Bypass", "Auto"]
    assert mode_words("") == "Ask"
    assert mode_words("new\u202eMode") == "new<U+202E>Mode"
    assert all(mode_hint(mode) for mode in MODES)


def test_the_plan_mode_auto_is_not_taken_for_the_clis_own() -> None:
    assert PLANMODES["auto"] == "plan first, then go on by itself (not the CLI's own mode auto)"
    assert "auto" not in planmode_words("auto").lower()
    assert planmode_words("off") == ""


def test_models() -> None:
    assert model_words("claude-opus-4-1-20250805") == "opus-4-1"
    assert model_words("claude-sonnet-5") == "sonnet-5"
    assert model_words("") == ""
