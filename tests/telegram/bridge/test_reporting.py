"""What goes wrong is logged once, and kept for whoever asks."""

from __future__ import annotations

import logging

import pytest

from handrail.telegram.reporting import Report


def test_the_same_trouble_is_logged_once_until_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    report = Report(clock=lambda: 7.0)
    say = report.on("Telegram")
    with caplog.at_level(logging.WARNING, "handrail.telegram"):
        for words in ("away", "away", "", "away", "refuses us"):
            say(words)
    assert [record.message for record in caplog.records] == ["away", "away", "refuses us"]
    assert report.troubles == ("refuses us",)
    assert (report.last_error, report.last_error_at) == ("refuses us", 7.0)


def test_what_is_over_is_still_known_as_the_last_error() -> None:
    report = Report()
    report.on("Telegram")("away")
    report.on("session s1")("cannot be followed")
    report.on("Telegram")("")
    assert report.troubles == ("cannot be followed",)
    report.on("session s1")("")
    assert not report.troubles
    assert report.last_error == "cannot be followed"
