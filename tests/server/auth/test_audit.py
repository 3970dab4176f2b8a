"""The audit log: who did what to what, with which outcome, and nothing that was said or secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.errors import StoreFull
from handrail.server.auth.audit import Audit
from handrail.server.auth.secret_words import TOKEN_PREFIX, new_secret
from handrail.server.calls import Caller

from .support import Clock, opened, stored_in

ANN = Caller(name="Ann", role="owner", surface="web", token_id="t1")


async def test_who_did_what(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        audit = Audit(store, Clock(5.0))
        await audit.note(ANN, "asks.answer", path={"session": "s1", "ask": "a1"}, outcome="already_decided")
        await audit.note(ANN, "sessions.stop", path={"id": "s2"})
        await audit.note(ANN, "tokens.revoke", path={"token": "t9"})
        rows = await audit.read()
        assert [(row.action, row.session_id, row.ask_id, row.outcome, row.detail) for row in rows] == [
            ("tokens.revoke", "", "", "ok", "token t9"),
            ("sessions.stop", "s2", "", "ok", ""),
            ("asks.answer", "s1", "a1", "already_decided", ""),
        ]
        assert {(row.actor, row.surface, row.at) for row in rows} == {("Ann", "web", 5.0)}


async def test_it_is_read_page_by_page(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        audit = Audit(store)
        for number in range(5):
            await audit.note(ANN, f"sessions.{number}", path={"id": "s1" if number % 2 else "s2"})
        first = await audit.read(limit=2)
        second = await audit.read(limit=2, before=first[-1].number)
        assert [row.action for row in (*first, *second)] == [f"sessions.{number}" for number in (4, 3, 2, 1)]
        assert [row.action for row in await audit.read(session_id="s1")] == ["sessions.3", "sessions.1"]


async def test_a_secret_in_a_detail_is_left_out(tmp_path: Path) -> None:
    secret = new_secret(TOKEN_PREFIX)
    async with opened(tmp_path) as store:
        audit = Audit(store)
        await audit.note(ANN, "login.login", detail=f"tried {secret} " + "x" * 1000)
        (row,) = await audit.read()
        assert secret not in row.detail
        assert len(row.detail) == 200
    assert secret.encode() not in stored_in(tmp_path)


async def test_what_was_done_does_not_fail_because_it_cannot_be_written_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(row: object) -> None:
        raise StoreFull("the disk is full")

    async with opened(tmp_path) as store:
        store.audit = full  # type: ignore[method-assign]
        await Audit(store).note(ANN, "sessions.stop", path={"id": "s1"})
    assert "the disk is full" in caplog.text
    assert "Ann did sessions.stop" in caplog.text
