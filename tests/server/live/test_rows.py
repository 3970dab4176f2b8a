"""Rows for those who page through a conversation, all of one row, and finding a text in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import SessionNotFound
from handrail.events import model as e
from handrail.server.live import timelines
from handrail.server.problems import Problem
from handrail.sessions.manager import Manager

from .support import Served, Writer, places_in


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """Nobody needs a socket here."""
    async with Manager.local(places_in(tmp_path)) as manager:
        served = Served(manager, tmp_path)
        async with served.live:
            yield served


def call(phase: Any, **detail: Any) -> e.Action:
    named = {"tool_name": "Bash", "tool_use_id": "t1"}
    return e.Action(id="t1", kind="command", title="grep", phase=phase, detail=named | detail)


async def a_session(served: Served) -> str:
    writer = await Writer.begun(served.store)
    await writer.write(
        [
            e.Prompt(uuid="u1", content="Please find the Needle."),
            e.Text(block="m1:0", text="**Looking** for it"),
            call("started", tool_input={"command": "grep -r Nadel"}),
            e.Text(block="m2:0", text="a nail, größer", parent="t1"),
            call("completed", content="x\nneedle.txt\ny"),
            e.Completed(ok=True, run=1),
        ]
    )
    return writer.session_id


async def test_pages_of_rows(served: Served) -> None:
    session_id = await a_session(served)
    page = await served.live.rows(session_id, limit=2)
    assert [row.key for row in page.items] == ["3", "4", "6"]
    assert (page.before, page.after, page.total) == ("3", None, 4)
    older = await served.live.rows(session_id, before="3", limit=5)
    assert [row.key for row in older.items] == ["1", "2"]
    assert older.before is None
    assert "<strong>Looking</strong>" in older.items[1].html  # type: ignore[union-attr]
    assert [row.key for row in (await served.live.rows(session_id, after="3")).items] == ["6"]
    assert [row.key for row in (await served.live.rows(session_id, around="4", limit=1)).items] == ["3", "4"]
    with pytest.raises(Problem, match="no row"):
        await served.live.rows(session_id, before="99")
    with pytest.raises(SessionNotFound):
        await served.live.rows("nobody")


async def test_all_of_a_row(served: Served) -> None:
    session_id = await a_session(served)
    events = await served.live.row_source(session_id, "3")
    assert [(event.seq, type(event)) for event in events] == [(3, e.Action), (5, e.Action)]
    assert isinstance(events[1], e.Action)
    assert events[1].detail["content"] == "x\nneedle.txt\ny"
    assert await served.live.row_source(session_id, "5") == []
    assert await served.live.row_source(session_id, "nonsense") == []


FOUND = {
    "needle": ["1", "3"],
    "NADEL": ["3"],
    "GRÖẞER": ["4"],
    "größer": ["4"],
    "needle.txt\ny": ["3"],
    "tool_name": [],
    "t1": [],
    "nothing of the kind": [],
}


async def test_finding_a_text(served: Served) -> None:
    session_id = await a_session(served)
    for text, keys in FOUND.items():
        hits = await served.live.find(session_id, text)
        assert [hit["key"] for hit in hits["items"]] == keys, text
        assert hits["total"] == len(keys)


async def test_what_is_found_stands_between_what_is_around_it(served: Served) -> None:
    session_id = await a_session(served)
    hits = (await served.live.find(session_id, "nail"))["items"]
    assert [(hit["before"], hit["match"], hit["after"]) for hit in hits] == [("a ", "nail", ", größer")]
    assert (hits[0]["parent"], hits[0]["type"]) == ("3", "text")
    few = await served.live.find(session_id, "e", limit=1)
    assert len(few["items"]) == 1
    assert few["total"] > 1


async def test_rows_follow_a_journal_that_goes_on(served: Served) -> None:
    writer = await Writer.begun(served.store)
    for number in range(1, 4):
        await writer.write([e.Text(block=f"b{number}", text="more")])
        assert (await served.live.rows(writer.session_id)).total == number


async def test_sessions_that_nobody_looks_at_are_forgotten(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "KEPT_ROWS", 10)
    for number in range(5):
        writer = await Writer.begun(served.store, f"{number:032x}")
        await writer.write([e.Text(block=f"b{each}", text="x") for each in range(6)])
        await served.live.rows(writer.session_id)
        assert served.live.statistics().rows <= 12
