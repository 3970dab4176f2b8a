"""What `handrail ingress` prints: a line that can be pasted, what to know before, and a list."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.cli.ingress_view import id_meant, ingress_table, line_of, remarks_on
from handrail.errors import AmbiguousSession, SessionNotFound

from .support import plain

MADE: dict[str, Any] = {
    "id": "3f2a9c01",
    "url": "wss://hub.example.org/v1/session_ingress/ws/3f2a9c01",
    "token": "hr_secret",
    "command": ["claude", "--print", "--sdk-url=wss://hub.example.org/v1/session_ingress/ws/3f2a9c01"],
    "environment": {"CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2": "1"},
}
NOW = 1_000_000.0


def test_the_line_keeps_the_token_from_what_claude_runs() -> None:
    assert line_of(MADE, as_variable=False) == (
        "CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2=1 CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR=9 claude --print "
        "--sdk-url=wss://hub.example.org/v1/session_ingress/ws/3f2a9c01 </dev/null 9<<<hr_secret"
    )


def test_the_line_for_other_shells_has_it_as_a_variable_and_a_warning() -> None:
    assert "CLAUDE_CODE_SESSION_ACCESS_TOKEN=hr_secret claude --print" in line_of(MADE, as_variable=True)
    assert any("everything that Claude runs" in remark for remark in remarks_on(MADE, as_variable=True))
    assert not any("everything that Claude runs" in remark for remark in remarks_on(MADE, as_variable=False))


def test_the_remarks_say_that_it_is_a_secret_and_which_versions_connect() -> None:
    remarks = list(remarks_on(MADE, as_variable=False))
    assert "is a secret" in remarks[0]
    assert "handrail ingress revoke 3f2a9c01" in remarks[0]
    assert "2.1.120 or older" in remarks[-1]
    assert not any("hr_secret" in remark for remark in remarks)


def test_the_settings_in_it_are_to_be_left_in() -> None:
    held = {**MADE, "command": [*MADE["command"], '--settings={"permissions": {}}']}
    assert any("leave its --settings in" in remark for remark in remarks_on(held, as_variable=False))
    assert not any("--settings" in remark for remark in remarks_on(MADE, as_variable=False))


@pytest.mark.parametrize(("host", "told"), [("127.0.0.1:8421", True), ("[::1]:8421", True), ("hub.example.org", False)])
def test_an_address_that_only_this_machine_reaches_is_said(host: str, told: bool) -> None:
    remarks = remarks_on({**MADE, "url": f"ws://{host}/v1/session_ingress/ws/x"}, as_variable=False)
    assert any("this machine only" in remark for remark in remarks) is told


def test_the_start_of_an_id_is_enough() -> None:
    known = [{"id": "3f2a9c01"}, {"id": "3f77aa02"}, {"id": "3f77aa02b"}]
    assert id_meant("3f2", known) == "3f2a9c01"
    assert id_meant("3f77aa02", known) == "3f77aa02"
    with pytest.raises(AmbiguousSession, match="fits 3 sessions"):
        id_meant("3f", known)
    for unknown in ("", "77"):
        with pytest.raises(SessionNotFound, match="handrail ingress ls"):
            id_meant(unknown, known)


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"connected": True, "last_seen_at": NOW - 5}, "connected"),
        ({"connected": False, "last_seen_at": None}, "waiting"),
        ({"connected": False, "revoked_at": NOW - 60}, "revoked"),
    ],
)
def test_the_list_says_what_became_of_each(row: dict[str, Any], state: str) -> None:
    shown = plain(ingress_table([{"id": "3f2a9c01", "title": "nightly", "transport": "websocket", **row}], now=NOW))
    assert "3f2a9c01  nightly" in shown
    assert state in shown
