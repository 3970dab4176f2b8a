"""The list of sessions and what waits for a person, as it is told to everybody who looks."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.errors import StoreLocked
from handrail.protocol.asks import Deny
from handrail.server.live import home
from handrail.sessions.asks import Actor
from handrail.sessions.session import Session
from handrail.testing import simulated as sim

from .support import Client, Served, Writer

ASKING = sim.tool("Bash", {"command": "rm -r build"})


@pytest.fixture(autouse=True)
def look_round_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "LOOK_ROUND", 0.5)


async def asked(client: Client) -> dict[str, Any]:
    await client.until(lambda: bool(client.home.asks))
    return next(iter(client.home.asks.values()))


async def status(client: Client, session: Session, wanted: str) -> dict[str, Any]:
    await client.until(lambda: client.home.sessions.get(session.id, {}).get("status") == wanted)
    return client.home.sessions[session.id]


@pytest.mark.slow
async def test_what_waits_for_a_person_is_told_to_everybody_and_so_is_the_answer(served: Served) -> None:
    session = await served.start(sim.turn(ASKING, "Done."))
    async with Client.connected(served.url) as one, Client.connected(served.url) as two:
        for client in (one, two):
            await client.say("home", on=True)
            await status(client, session, "idle")
        await session.send("go")
        card = await asked(one)
        assert await asked(two) == card
        assert (card["session"], card["state"], card["what"]["type"]) == (session.id, "pending", "command")
        listed = await status(one, session, "needs_you")
        assert (listed["asks"], listed["live"], listed["owner"]) == (1, True, "here")
        assert one.home.counts["needs_you"] == one.home.counts["asks"] == 1
        await session.decide(card["ask_id"], Deny("no"), actor=Actor("bob", "web"), digest=card["digest"])
        for client in (one, two):
            await client.until(lambda client=client: bool(client.home.closed))
            closed = client.home.closed[0]
            assert (closed["session"], closed["ask"], closed["by"]) == (session.id, card["ask_id"], "bob")
            assert "denied by bob" in closed["words"]
            assert client.home.asks == {}
            await status(client, session, "idle")


@pytest.mark.slow
async def test_an_ask_whose_process_ended_can_still_be_answered(served: Served) -> None:
    session = await served.start(sim.turn(sim.sleep(0.05), ASKING, "Done."), sim.loop_turns())
    async with Client.connected(served.url) as client:
        await client.say("home", on=True)
        await session.send("go")
        card = await asked(client)
        await session.stop()
        await client.until(lambda: any(each["state"] == "lost" for each in client.home.asks.values()))
        lost = client.home.asks[session.id, card["ask_id"]]
        assert lost["answerable"]
        assert lost["resumes"]
        await session.decide(card["ask_id"], Deny("no"), actor=Actor("bob", "web"), digest=card["digest"], resume=True)
        # The simulated CLI begins anew, and so asks anew.
        await client.until(lambda: (session.id, card["ask_id"]) not in client.home.asks)


@pytest.mark.slow
async def test_sessions_come_change_and_go(served: Served) -> None:
    writer = await Writer.begun(served.store)
    session = served.manager.session(writer.session_id)
    async with Client.connected(served.url) as client:
        await client.say("home", on=True)
        await client.until(lambda: writer.session_id in client.home.sessions)
        other = await Writer.begun(served.store, "b" * 32)
        await client.until(lambda: other.session_id in client.home.sessions)
        await session.rename("another name")
        await client.until(lambda: client.home.sessions[session.id]["title"] == "another name")
        await session.archive()
        await client.until(lambda: session.id not in client.home.sessions)
        await session.archive(False)
        await client.until(lambda: session.id in client.home.sessions)
        await served.manager.session(other.session_id).delete()
        await client.until(lambda: other.session_id not in client.home.sessions)
        assert client.home.counts["idle"] == 1
        assert [message["reset"] for message in client.of("home")].count(True) == 1


async def test_a_viewer_that_turns_it_off_hears_nothing_more(served: Served) -> None:
    writer = await Writer.begun(served.store)
    async with Client.connected(served.url) as client, Client.connected(served.url) as other:
        for each in (client, other):
            await each.say("home", on=True)
            await each.until(lambda each=each: writer.session_id in each.home.sessions)
        await client.say("home", on=False)
        await client.say("ping")
        await client.until(lambda: bool(client.of("pong")))
        heard = client.home.messages
        await served.manager.session(writer.session_id).rename("new")
        await other.until(lambda: other.home.sessions[writer.session_id]["title"] == "new")
        assert client.home.messages == heard
        await client.say("home", on=True)
        await client.until(lambda: client.home.sessions[writer.session_id]["title"] == "new")


async def test_a_store_that_cannot_be_read_is_told_and_the_list_comes_once_it_can(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "RETRY", 0.05)
    writer = await Writer.begun(served.store)

    async def locked(*_: Any, **__: Any) -> Any:
        raise StoreLocked("another process keeps the database locked")

    async with Client.connected(served.url) as client:
        with monkeypatch.context() as patch:
            patch.setattr(served.store, "list_sessions", locked)
            await client.say("home", on=True)
            await client.until(lambda: bool(client.of("problem")))
        assert client.of("problem")[0]["code"] == "store_unavailable"
        await client.until(lambda: writer.session_id in client.home.sessions)
        assert len(client.of("problem")) == 1


async def test_a_list_that_nobody_looks_at_costs_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = await Writer.begun(served.store)
    async with Client.connected(served.url) as client:
        await client.say("home", on=True)
        await client.until(lambda: writer.session_id in client.home.sessions)
        await client.say("home", on=False)
        await client.say("ping")
        await client.until(lambda: bool(client.of("pong")))
        read = served.store.list_sessions
        monkeypatch.setattr(served.store, "list_sessions", None)
        await served.manager.session(writer.session_id).rename("unseen")
        monkeypatch.setattr(served.store, "list_sessions", read)
        await client.say("home", on=True)
        await client.until(lambda: client.home.sessions[writer.session_id]["title"] == "unseen")


@pytest.mark.slow
async def test_a_list_begins_with_the_latest_however_many_were_touched(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "LISTED", 3)
    names = [f"{number:032}" for number in range(8)]
    async with Client.connected(served.url) as first:
        await first.say("home", on=True)
        await first.until(lambda: bool(first.of("home")))
        for name in names:
            await Writer.begun(served.store, name)
        await first.until(lambda: set(names) <= first.home.sessions.keys())
        async with Client.connected(served.url) as second:
            await second.say("home", on=True)
            await second.until(lambda: bool(second.of("home")))
            assert sorted(second.home.sessions) == names[-3:]
            assert second.of("home")[0]["more"]
            await served.manager.session(names[0]).rename("an old one")
            await second.until(lambda: second.home.sessions.get(names[0], {}).get("title") == "an old one")
        await served.manager.session(names[1]).delete()
        await first.until(lambda: names[1] not in first.home.sessions)
