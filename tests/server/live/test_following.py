"""Following a session over a real socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail.events import model as e
from handrail.protocol.asks import Allow
from handrail.server.live import credit
from handrail.sessions.asks import Actor
from handrail.testing import simulated as sim

from .support import STORY, Client, Served, Writer

WORK = ("I look.", sim.tool("Bash", {"command": "ls"}, ask=False), "Done.")


def said(*numbers: int) -> list[e.Event]:
    return [e.Text(block=f"m{number}:0", text=f"line {number}") for number in numbers]


@pytest.mark.slow
async def test_events_come_once_in_order_and_deltas_between(served: Served) -> None:
    session = await served.start(sim.loop_turns(sim.say(STORY, pause=0.05)))
    async with Client.connected(served.url) as client:
        await client.follow(session, 0)
        await session.run("go")
        last = (await session.row()).last_seq
        await client.until(lambda: last in client.seqs(session))
        assert client.seqs(session) == list(range(1, last + 1))
        deltas = [message["delta"] for message in client.of("delta")]
        assert deltas
        assert "".join(delta["text"] for delta in deltas) in STORY
        hello = client.messages[0]
        assert hello["type"] == "hello"
        assert hello["me"] == {"name": "alice", "role": "owner"}


@pytest.mark.slow
async def test_a_view_is_told_and_kept_up_to_date(served: Served) -> None:
    session = await served.start(sim.loop_turns(*WORK))
    async with Client.connected(served.url) as client:
        await client.follow(session, form="view")
        await client.until(lambda: session.id in client.views)
        view = client.views[session.id]
        assert view.rows == {}
        await session.run("go")
        last = (await session.row()).last_seq
        await client.until(lambda: view.seq >= last)
        assert view.types == ["prompt", "text", "action", "text", "end"]
        assert view.state["status"] == "idle"
        assert view.state["owner"] == "here"
        assert view.total == 5
        assert [message["reset"] for message in client.of("view")].count(True) == 1


async def test_whoever_comes_back_gets_what_they_missed_and_nothing_twice(served: Served) -> None:
    session = await served.start(sim.loop_turns(*WORK))
    await session.run("go")
    async with Client.connected(served.url) as client:
        await client.follow(session, 0)
        await client.follow(session, form="view")  # takes the place of the other
        await client.until(lambda: session.id in client.views)
        view = client.views[session.id]
        before = client.views[session.id].seq
    await session.run("again")
    last = (await session.row()).last_seq
    async with Client.connected(served.url) as client:
        client.views[session.id] = view
        await client.follow(session, before, form="view")
        await client.until(lambda: view.seq >= last)
        message = client.of("view")[0]
        assert message["reset"] is False
        assert all(int(row["key"]) > before for row in message["rows"])
        assert view.types == ["prompt", "text", "action", "text", "end"] * 2
    async with Client.connected(served.url) as client:
        await client.follow(session, before)
        await client.until(lambda: bool(client.of("caught_up")))
        assert client.seqs(session) == list(range(before + 1, last + 1))


@pytest.mark.slow
async def test_an_ask_has_its_card_and_says_who_answered(served: Served) -> None:
    session = await served.start(sim.turn(sim.tool("Bash", {"command": "rm -r build"}), "Done."))
    async with Client.connected(served.url) as client:
        await client.follow(session, form="view")
        await session.send("go")
        await client.until(lambda: _asks(client, session.id) != [])
        row = _asks(client, session.id)[0]
        assert row["outcome"] is None
        assert row["card"]["what"]["type"] == "command"
        assert "rm -r build" in row["card"]["what"]["text"]
        assert client.views[session.id].state["asks"] == [row["ask_id"]]
        assert client.views[session.id].state["status"] == "needs_you"
        actor = Actor("bob", "web")
        await session.decide(row["ask_id"], Allow(), actor=actor, digest=row["card"]["digest"])
        await client.until(lambda: _asks(client, session.id)[0]["outcome"] == "decided")
        closed = _asks(client, session.id)[0]["card"]["closed"]
        assert (closed["by"], closed["outcome"]) == ("bob", "decided")


def _asks(client: Client, session_id: str) -> list[dict[str, Any]]:
    view = client.views.get(session_id)
    return [row for row in view.rows.values() if row["type"] == "ask"] if view is not None else []


async def test_what_a_subagent_does_is_inside_its_row(served: Served) -> None:
    writer = await Writer.begun(served.store)
    call = {"tool_name": "Agent", "tool_use_id": "t1"}
    await writer.write(
        [
            e.Action(id="t1", kind="subagent", title="explore", phase="started", detail=call),
            e.Task(id="task1", phase="started", title="explore", tool_use_id="t1"),
            e.Text(block="m1:0", text="inside", parent="t1"),
            e.Action(id="t2", kind="tool", title="Read x", phase="started", detail={"tool_name": "Read"}, parent="t1"),
        ]
    )
    async with Client.connected(served.url) as client:
        await client.follow(writer.session_id, form="view")
        await client.until(lambda: writer.session_id in client.views)
        rows, state = client.views[writer.session_id].rows, client.views[writer.session_id].state
        assert [(row["key"], row["parent"]) for row in rows.values()] == [("1", None), ("3", "1"), ("4", "1")]
        assert rows["1"]["children"] == 2
        assert rows["1"]["group"] == "task"
        assert state["tasks"][0]["row"] == "1"
        assert state["running"] == [{"key": "1", "title": "explore"}, {"key": "4", "title": "Read x"}]


@pytest.mark.slow
async def test_a_viewer_that_does_not_acknowledge_is_told_no_more_until_it_does(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credit, "MESSAGES", 50)
    writer = await Writer.begun(served.store)
    await writer.write(said(*range(300)))
    async with Client.connected(served.url, acks=False) as client:
        await client.follow(writer.session_id, 0)
        await client.until(lambda: len(client.seqs(writer.session_id)) >= 50)
        await client.say("ping", n=1)
        await client.until(lambda: bool(client.of("pong")))
        assert len(client.seqs(writer.session_id)) == 50
        await client.say("ack", session=writer.session_id, seq=50)
        await client.until(lambda: len(client.seqs(writer.session_id)) >= 100)
        client.acks = True
        await client.say("ack", session=writer.session_id, seq=100)
        await client.until(lambda: bool(client.of("caught_up")))
        assert client.seqs(writer.session_id) == list(range(1, 301))


@pytest.mark.slow
async def test_a_hidden_page_gets_events_and_no_deltas(served: Served) -> None:
    session = await served.start(sim.loop_turns(sim.say(STORY, pause=0.05)))
    async with Client.connected(served.url) as hidden, Client.connected(served.url) as seen:
        await hidden.say("visible", on=False)
        await hidden.follow(session, 0)
        await seen.follow(session, 0)
        await session.run("go")
        last = (await session.row()).last_seq
        for client in (hidden, seen):
            await client.until(lambda client=client: last in client.seqs(session))
            assert client.seqs(session) == list(range(1, last + 1))
        assert hidden.of("delta") == []
        assert seen.of("delta")
        assert served.meter.dropped > 0


@pytest.mark.slow
async def test_whoever_joins_in_the_middle_gets_what_was_written_so_far(served: Served) -> None:
    session = await served.start(sim.loop_turns(sim.say("alpha beta gamma delta epsilon zeta", pause=0.2)))
    async with Client.connected(served.url) as first:
        await first.follow(session, 0)
        await session.send("go")
        await first.until(lambda: len(first.of("delta")) >= 2)
        async with Client.connected(served.url) as second:
            await second.follow(session, form="view")
            await second.until(lambda: bool(second.of("delta")))
            joined = second.of("delta")[0]["delta"]
            assert joined["offset"] == 0
            assert joined["text"].startswith("alpha")
            assert joined["after"] == second.views[session.id].seq


@pytest.mark.slow
async def test_many_sessions_on_one_socket(served: Served) -> None:
    writers = [await Writer.begun(served.store, f"{number:032x}") for number in range(5)]
    async with Client.connected(served.url) as client:
        for writer in writers:
            await client.follow(writer.session_id, 0)
        await asyncio.gather(*(writer.write(said(1, 2, 3)) for writer in writers))
        for writer in writers:
            await client.until(lambda writer=writer: client.seqs(writer.session_id) == [1, 2, 3])
        await client.say("unfollow", session=writers[0].session_id)
        await client.say("ping", n=7)
        await client.until(lambda: bool(client.of("pong")))
        await asyncio.gather(*(writer.write(said(4)) for writer in writers))
        for writer in writers[1:]:
            await client.until(lambda writer=writer: client.seqs(writer.session_id) == [1, 2, 3, 4])
        assert client.seqs(writers[0].session_id) == [1, 2, 3]


@pytest.mark.slow
async def test_a_session_that_is_deleted_is_gone(served: Served) -> None:
    session = await served.start(sim.loop_turns())
    await session.run("go")
    await session.stop()
    async with Client.connected(served.url) as client:
        await client.follow(session, form="view")
        await client.until(lambda: session.id in client.views)
        await session.delete()
        await client.until(lambda: bool(client.of("gone")))
        assert client.of("gone") == [{"type": "gone", "session": session.id}]
        await client.follow(session, 0)
        await client.until(lambda: bool(client.of("problem")))
        assert client.of("problem")[0]["code"] == "session_not_found"


@pytest.mark.slow
async def test_a_title_and_an_owner_that_change_without_an_event_are_told(served: Served) -> None:
    session = await served.start(sim.loop_turns())
    await session.run("go")
    async with Client.connected(served.url) as client:
        await client.follow(session, form="view")
        await client.until(lambda: session.id in client.views)
        view = client.views[session.id]
        await session.stop()
        await client.until(lambda: view.state["live"] is False)
        assert view.state["owner"] is None
        await session.rename("another name")
        await client.until(lambda: view.state["title"] == "another name")
