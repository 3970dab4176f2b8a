"""Sessions whose CLI dials in: what the next owner makes of what the last one left."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import SessionNotLive
from handrail.events.codec import encode_event
from handrail.events.model import Completed, ProcessExited, Started
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.dialled_in import ASK_AGAIN, DialledIn, link_again
from handrail.sessions.launching import SessionSettings, encode_settings
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import Holder
from handrail.store.base import Batch, EventRow, FrameRow, MessageRow, RunRow, SessionRow, StartRow
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore
from handrail.transports.ingress.transport import IngressTransport

DEAD = msgspec.json.encode(Holder(2**22 + 1, started=1.0, socket="/nowhere/handrail.sock")).decode()
INIT = {"type": "system", "subtype": "init", "uuid": "i", "claude_code_version": "2.1.62"}


def places_in(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


def row(**settings: Any) -> SessionRow:
    stored = encode_settings(
        SessionSettings(options=Options(cwd="/there", transport="websocket"), dials_in=True, **settings)
    )
    now = time.time()
    return SessionRow(id="a" * 32, cwd="/there", created_at=now, updated_at=now, status="running", settings=stored)


def hook(request_id: str, command: str) -> dict[str, Any]:
    given = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    body = {"subtype": "hook_callback", "callback_id": "PreToolUse-0", "input": given}
    return {"type": "control_request", "request_id": request_id, "request": body}


def answer(request_id: str) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": "success", "request_id": request_id, "response": {}}}


def frame(direction: Any, sent: dict[str, Any]) -> FrameRow:
    return FrameRow(direction=direction, at=time.time(), line=json.dumps(sent).encode())


async def left_behind(places: Places, session: SessionRow, batch: Batch) -> None:
    """A journal whose owner died."""
    store = SqliteStore(store_path(places))
    await store.open()
    try:
        await store.create_session(session)
        lease = await store.acquire(session.id, DEAD, now=time.time(), force=True)
        await store.append(lease, batch)
    finally:
        await store.close()


async def link_after(tmp_path: Path, frames: Sequence[FrameRow], **settings: Any) -> Any:
    places = places_in(tmp_path)
    session = row(**settings)
    await left_behind(places, session, Batch(frames=frames))
    async with Manager.local(places) as manager:
        return await link_again(manager.store, session)


def taken_over(link: Any) -> Any:
    """What follows once the CLI says that it was initialised before."""
    link.connected(None, now=0.0)
    line = b'{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}\n'
    link.send(line, now=0.0)
    refused = {"subtype": "error", "request_id": "init", "error": "Already initialized"}
    return link.receive(json.dumps({"type": "control_response", "response": refused}) + "\n", now=0.0)


async def test_what_a_dead_hub_left_open_is_closed_in_words_that_are_true(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    session = row()
    started = Started(resume="c", run=1, seq=1, at=1.0)
    event = EventRow(seq=1, at=1.0, type="started", body=encode_event(started), run=1)
    batch = Batch(
        events=[event],
        runs=[RunRow(number=1, started_seq=1, started_at=1.0)],
        messages=[MessageRow(uuid="m", content=b'"hi"', at=time.time() + 1, by="me", surface="web", state="sent")],
        starts=[StartRow(at=time.time(), why="dialled in")],
    )
    await left_behind(places, session, batch)
    async with Manager.local(places) as manager:
        handle = manager.session(session.id)
        assert (await handle.row()).status == "waiting"
        events = await handle.events()
        ends = [each for each in events if isinstance(each, Completed | ProcessExited)]
        assert len(ends) == 2
        assert all("goes on elsewhere" in str(each) for each in ends)
        with pytest.raises(SessionNotLive, match="waits for its Claude Code"):
            await handle.resume()
        lease = await manager.store.acquire(session.id, DEAD, now=time.time(), force=True)
        again = await DialledIn.of(IngressTransport(), manager.store, lease)
        assert again.earlier == ("m",)
        assert again.ask_suffix


async def test_what_was_seen_is_known_again(tmp_path: Path) -> None:
    link = await link_after(tmp_path, [frame("in", INIT), frame("out", {"type": "user", "uuid": "ours"})])
    assert link.cli_version == "2.1.62"
    link.connected(None, now=0.0)
    assert link.receive(json.dumps(INIT) + "\n", now=0.0).data == b""


async def test_a_request_without_an_answer_is_asked_again(tmp_path: Path) -> None:
    frames = [frame("in", hook("open", "ls")), frame("in", hook("done", "ls")), frame("out", answer("done"))]
    received = taken_over(await link_after(tmp_path, frames))
    asked = [json.loads(line) for line in received.data.splitlines()]
    assert [each["request_id"] for each in asked if each["type"] == "control_request"] == ["open"]


async def test_an_answer_that_may_not_have_arrived_is_given_again(tmp_path: Path) -> None:
    frames = [frame("in", hook("done", "ls")), frame("out", answer("done"))]
    received = taken_over(await link_after(tmp_path, frames, undelivered=("done",)))
    assert b'"done"' in received.data


async def test_what_was_withdrawn_or_is_listed_by_the_cli_is_not_asked_again(tmp_path: Path) -> None:
    permission = {"type": "control_request", "request_id": "p", "request": {"subtype": "can_use_tool"}}
    withdrawn = {"type": "control_cancel_request", "request_id": "gone"}
    frames = [frame("in", permission), frame("in", hook("gone", "ls")), frame("in", withdrawn)]
    received = taken_over(await link_after(tmp_path, frames))
    assert len(received.data.splitlines()) == 1


async def test_what_the_journal_kept_only_a_part_of_is_refused(tmp_path: Path) -> None:
    """A policy could be wrong about a command of which a part was taken out."""
    received = taken_over(await link_after(tmp_path, [frame("in", hook("h", "TOKEN=[redacted] run"))]))
    assert b"[redacted]" not in received.data
    (refusal,) = [json.loads(line) for line in received.reply.splitlines()]
    decision = refusal["response"]["response"]["hookSpecificOutput"]
    assert (decision["permissionDecision"], decision["permissionDecisionReason"]) == ("deny", ASK_AGAIN)


async def test_a_fresh_cli_inherits_nothing(tmp_path: Path) -> None:
    link = await link_after(tmp_path, [frame("in", hook("open", "ls"))])
    link.connected(None, now=0.0)
    line = b'{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}\n'
    link.send(line, now=0.0)
    received = link.receive(json.dumps(answer("init")) + "\n", now=0.0)
    assert len(received.data.splitlines()) == 1
    assert received.reply == b""
