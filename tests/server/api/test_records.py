"""Rows as they are stored, and frames: what a program reads of a hub."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from handrail.sessions.session import Session
from handrail.store.base import FrameRow
from handrail.testing import simulated as sim

from ..support import ServedHub
from .test_sessions import code


async def done(served: ServedHub, *steps: sim.Step) -> Session:
    """A session that has had a turn."""
    session = await served.session(*(steps or (sim.loop_turns("Yes."),)))
    await session.run("Well?")
    return session


async def get(served: ServedHub, path: str, role: Any = "viewer", **query: Any) -> Any:
    async with served.client(role) as client:
        answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_session_is_as_it_is_stored(served: ServedHub) -> None:
    session = await done(served)
    row = await session.row()
    record = await get(served, f"/api/records/sessions/{session.id}", "owner")
    assert record.pop("live") is True
    assert record.pop("settings") == msgspec.json.decode(row.settings)
    assert record == {name: value for name, value in msgspec.structs.asdict(row).items() if name != "settings"}


async def test_only_an_owner_sees_how_a_session_is_started(served: ServedHub) -> None:
    session = await done(served)
    for role in ("viewer", "approver"):
        assert (await get(served, f"/api/records/sessions/{session.id}", role))["settings"] == {}
        assert (await get(served, "/api/records/sessions", role))["items"][0]["settings"] == {}
        async with served.client(role) as client:
            assert code(await client.get(f"/api/sessions/{session.id}/frames")) == (403, "role_needed")


@pytest.mark.slow
async def test_sessions_are_filtered_and_paged(served: ServedHub) -> None:
    sessions = [await done(served) for _ in range(3)]
    await sessions[0].archive()
    for archived, count in (("no", 2), ("yes", 1), ("any", 3)):
        assert len((await get(served, "/api/records/sessions", archived=archived))["items"]) == count
        assert sum((await get(served, "/api/records/counts", archived=archived))["counts"].values()) == count
    (last,) = (await get(served, "/api/records/sessions", archived="any", limit=1))["items"]
    place = {"before_at": last["updated_at"], "before_id": last["id"]}
    rest = (await get(served, "/api/records/sessions", archived="any", **place))["items"]
    assert {last["id"], *(each["id"] for each in rest)} == {each.id for each in sessions}
    assert len(rest) == 2
    assert (await get(served, "/api/records/sessions", host="nowhere"))["items"] == []
    assert (await get(served, "/api/records/sessions", text="no such title"))["items"] == []


async def test_a_reference_is_looked_up_as_a_manager_does(served: ServedHub) -> None:
    session = await done(served)
    row = await session.row()
    for reference in (session.id, session.id[:10], row.cli_session_id, f"claude --resume {row.cli_session_id}"):
        assert (await get(served, "/api/records/find", reference=reference))["id"] == session.id
    async with served.client("viewer") as client:
        assert code(await client.get("/api/records/find", params={"reference": "ab"})) == (404, "session_not_found")


@pytest.mark.slow
async def test_asks_runs_and_usage(served: ServedHub) -> None:
    session = await served.session()
    await session.send("Clean up.")
    row = await served.asked(session)
    for query in ({}, {"session": session.id, "state": ["pending"]}, {"reference": row.id[:8]}):
        (ask,) = (await get(served, "/api/records/asks", **query))["items"]
        assert (ask["id"], ask["digest"], ask["answer"]) == (row.id, row.digest, None)
        assert ask["body"]["tool_name"] == "Bash"
    assert (await get(served, "/api/records/asks", state="decided"))["items"] == []
    other = await done(served)
    (run,) = (await get(served, f"/api/records/sessions/{other.id}/runs"))["items"]
    assert (run["number"], run["ok"]) == (1, True)
    assert len((await get(served, "/api/records/usage"))["items"]) == 1
    by_session = (await get(served, "/api/records/usage", by=["session", "day"]))["items"]
    assert [each["session_id"] for each in by_session] == [other.id]


async def test_frames_are_the_lines_of_the_wire(served: ServedHub, monkeypatch: Any) -> None:
    session = await done(served)
    path = f"/api/sessions/{session.id}/frames"
    page = await get(served, path, "owner", limit=2)
    assert [frame["number"] for frame in page["items"]] == [1, 2]
    assert page["last"] == 2
    assert msgspec.json.decode(page["items"][0]["line"])["request"]["subtype"] == "initialize"
    following = await get(served, path, "owner", after=page["last"])
    assert following["items"][0]["number"] == 3

    async def broken(session_id: str, *, after: int = 0, limit: int = 0) -> list[FrameRow]:
        return [FrameRow(direction="in", at=1.0, line=b"\xff\xfe", number=9)]

    monkeypatch.setattr(served.manager.store, "frames", broken)
    (frame,) = (await get(served, path, "owner"))["items"]
    assert base64.b64decode(frame["base64"]) == b"\xff\xfe"
    async with served.client() as client:
        assert code(await client.get("/api/sessions/nothing/frames")) == (404, "session_not_found")
