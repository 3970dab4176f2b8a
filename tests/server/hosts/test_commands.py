"""What people do with a host's session is done there: once, also across a cut, and said clearly if it cannot be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.error_records import record_of
from handrail.errors import AlreadyDecided, HostAway, HostRefused, SessionNotLive
from handrail.link import wire
from handrail.protocol.asks import Allow
from handrail.server.hosts import commands
from handrail.sessions.asks import Actor
from handrail.store.base import SessionRow

from ..support import ServedHub
from .fake_host import FakeHost, Link, fake_host, until

MARIA = Actor("maria", "web")


async def copied(host: FakeHost, link: Link, *, live: bool = True) -> str:
    """A session that the hub has a copy of."""
    session_id = await host.session(live=live)
    await link.offer()
    await link.copy(session_id)
    return session_id


def params(command: wire.Command) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(command.params)
    return found


async def test_messages_and_answers_go_to_the_host(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await copied(host, link)
        session = served.manager.session(session_id)
        link.answer("send", lambda command: params(command)["uuid"] or "u1")
        assert await session.send("hello", actor=MARIA, uuid="u0") == "u0"
        sent = await link.hear(wire.Command)
        assert (sent.method, sent.session, sent.actor, sent.surface) == ("send", session_id, "maria", "web")
        assert params(sent)["content"] == "hello"
        link.answer("decide", lambda command: None)
        await session.decide("a1", Allow(), actor=MARIA, digest="d1")
        decided = await link.hear(wire.Command)
        assert params(decided) == {"ask_id": "a1", "answer": {"type": "allow"}, "digest": "d1"}


async def test_an_error_of_the_host_is_raised_as_what_it_was(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session = served.manager.session(await copied(host, link))
        deciding = asyncio.ensure_future(session.decide("a1", Allow(), actor=MARIA, digest="d1"))
        command = await link.hear(wire.Command)
        error = AlreadyDecided("already decided by ada", actor="ada", at=7.0)
        await link.reply(command, error=record_of(error))
        with pytest.raises(AlreadyDecided, match="by ada") as raised:
            await deciding
        assert (raised.value.actor, raised.value.at) == ("ada", 7.0)


async def test_what_a_host_refuses_is_said_with_its_name(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        asking = asyncio.ensure_future(
            served.hub.hosts.call(served.hub.hosts.registry.named("build-box"), "directories")
        )
        command = await link.hear(wire.Command)
        await link.reply(command, error=record_of(HostRefused("there is no directory /x")))
        with pytest.raises(HostRefused, match=r"^on build-box: there is no directory /x$"):
            await asking


async def test_a_command_is_sent_again_on_the_next_link(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session = served.manager.session(await copied(host, link))
        interrupting = asyncio.ensure_future(session.interrupt())
        first = await link.hear(wire.Command)
    async with host.connected() as link:
        again = await link.hear(wire.Command)
        assert again.id == first.id
        await link.reply(again)
        await interrupting


@pytest.mark.slow
async def test_a_host_that_is_away_is_said_to_be(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "COMING_BACK", 0.05)
    async with host.connected() as link:
        session_id = await copied(host, link)
        session = served.manager.session(session_id)
        waiting = asyncio.ensure_future(session.interrupt())
        await link.hear(wire.Command)
    with pytest.raises(HostAway, match="not known"):
        await waiting
    with pytest.raises(HostAway, match=r"build-box is not connected \(last seen"):
        await session.interrupt()
    async with served.client() as client:
        answer = await client.post(f"/api/sessions/{session_id}/interrupt")
        assert (answer.status_code, answer.json()["code"]) == (503, "host_away")
        assert (await client.get(f"/api/sessions/{session_id}")).json()["host_state"] == "away"
        assert (await client.get(f"/api/sessions/{session_id}/events")).status_code == 200


async def test_nobody_waits_for_ever(served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "PATIENCE", 0.05)
    async with host.connected() as link:
        session = served.manager.session(await copied(host, link))
        with pytest.raises(HostAway, match="did not answer"):
            await session.interrupt()
        command = await link.hear(wire.Command)
        assert (await link.hear(wire.Cancel)).id == command.id
        await link.reply(command)  # too late, and harmless
        await link.offer()


async def test_a_revoked_host_does_nothing_any_more_but_its_copies_stay(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await copied(host, link)
        session = served.manager.session(session_id)
        waiting = asyncio.ensure_future(session.interrupt())
        await link.hear(wire.Command)
        async with served.client() as client:
            await client.delete("/api/hosts/build-box")
            with pytest.raises(HostRefused, match=r"was removed.*whether this was done is not known"):
                await waiting
            with pytest.raises(HostRefused, match="was removed"):
                await session.send("go on")
            changed = await client.patch(f"/api/sessions/{session_id}", json={"archived": True})
            assert (changed.json()["archived"], changed.json()["host_state"]) == (True, "revoked")
            assert (await client.delete(f"/api/sessions/{session_id}")).status_code == 204
            assert (await client.get(f"/api/sessions/{session_id}")).status_code == 404


async def test_nobody_is_asked_for_a_host_that_was_removed(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await copied(host, link)
        await host.asks(session_id)
        await link.copy(session_id)
        async with served.client() as client:
            assert len((await client.get("/api/asks")).json()["items"]) == 1
            await client.delete("/api/hosts/build-box")
            assert (await client.get("/api/asks")).json()["items"] == []
            found = (await client.get(f"/api/sessions/{session_id}")).json()
            assert (found["live"], found["status"], found["asks"]) == (False, "stopped", 0)


async def test_a_session_is_started_on_a_host(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:

        async def start(command: wire.Command) -> dict[str, str]:
            assert params(command)["options"]["cwd"] == "~/shop"
            assert "cli_path" not in params(command)["options"]
            session_id = await host.session(params(command)["title"])
            await link.send_page(await host.store.copy_page(session_id, after=0))
            return {"id": session_id}

        link.answer("start", start)
        link.answer("send", lambda command: "u1")
        wanted = {"cwd": "~/shop", "title": "shop", "prompt": "go", "host": "label:linux", "policy": "readonly"}
        async with served.client() as client:
            answer = await client.post("/api/sessions", json=wanted)
            assert answer.status_code == 201, answer.text
            assert (answer.json()["host_name"], answer.json()["live"]) == ("build-box", True)
            listed = (await client.get("/api/sessions", params={"host": "build-box"})).json()["items"]
            assert [each["id"] for each in listed] == [answer.json()["id"]]
            assert (await client.get("/api/sessions", params={"host": ""})).json()["items"] == []
        sent = await link.hear(wire.Command, lambda command: command.method == "send")
        assert params(sent)["content"] == "go"


async def test_a_session_that_is_not_live_is_resumed_there_for_a_message(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await copied(host, link, live=False)
        session = served.manager.session(session_id)
        with pytest.raises(SessionNotLive):
            await session.interrupt()

        async def resume(command: wire.Command) -> None:
            await host.take(session_id)
            await link.send_page(await host.store.copy_page(session_id, after=0))

        link.answer("resume", resume)
        link.answer("send", lambda command: "u1")
        assert await session.send("go on") == "u1"


async def test_what_was_done_is_in_the_copy_when_the_answer_comes(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        ask = await host.asks(session_id)
        await link.offer()
        await link.copy(session_id)
        async with served.client("approver") as client:
            answer = {"digest": "d1", "answer": {"type": "allow"}}
            path = f"/api/asks/{session_id}/{ask.id}/answer"
            answering = asyncio.ensure_future(client.post(path, json=answer))
            command = await link.hear(wire.Command)
            decided = msgspec.structs.replace(ask, state="sent", decided_by="ada", answer=b'{"type":"allow"}')
            await host.says(session_id, "Done.")
            await host.write(session_id, asks=[decided])
            last = (await host.store.get_session(session_id)).last_seq  # type: ignore[union-attr]
            await link.reply(command, last_seq=last)
            await link.copy(session_id)
            assert (await answering).json()["state"] == "sent"


async def test_titles_and_archives_are_changed_there_too(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await copied(host, link, live=False)
        for method in ("change", "delete"):
            link.answer(method, lambda command: None)
        async with served.client() as client:
            changed = await client.patch(f"/api/sessions/{session_id}", json={"title": "New", "archived": True})
            assert (changed.json()["title"], changed.json()["archived"]) == ("New", True)
            assert params(await link.hear(wire.Command)) == {"title": "New"}
            assert params(await link.hear(wire.Command)) == {"archived": True}
            assert (await client.delete(f"/api/sessions/{session_id}")).status_code == 204
            assert (await link.hear(wire.Command)).method == "delete"


@pytest.mark.slow
async def test_a_host_is_drained(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        link.answer("drain", lambda command: None)
        async with served.client() as client:
            answer = await client.post("/api/hosts/build-box/drain", json={"on": True})
            assert answer.json()["state"] == "draining"
            assert params(await link.hear(wire.Command)) == {"on": True}
            refused = await client.post("/api/sessions", json={"cwd": "~", "host": "build-box"})
            assert (refused.status_code, refused.json()["code"]) == (403, "host_refused")
            nowhere = await client.post("/api/sessions", json={"cwd": "~", "host": "any"})
            assert (nowhere.status_code, nowhere.json()["code"]) == (503, "host_away")
    async with host.dialled() as link:
        await link.say(host.hello())
        assert (await link.hear(wire.Welcome)).draining is True


async def test_places_and_sessions_of_a_host_are_asked_for_there(served: ServedHub, host: FakeHost) -> None:
    listing = {"path": "/srv", "parent": None, "root": True, "items": [], "left_out": 0, "roots": ["/srv"]}
    kept = [{"session_id": "abcd", "title": "old", "cwd": "/srv", "updated_at": 1.0, "path": "/x", "size": 3}]
    async with host.connected() as link:
        session_id = await copied(host, link)
        link.answer("directories", lambda command: listing)
        link.answer("files", lambda command: {"items": [{"path": "README.md"}]})
        link.answer("adoptable", lambda command: kept)
        link.answer("adopt", lambda command: {"id": session_id})
        async with served.client() as client:
            found = (await client.get("/api/directories", params={"host": "build-box"})).json()
            assert (found["roots"], [each["path"] for each in found["recent"]]) == (["/srv"], ["/srv/shop"])
            files = (await client.get(f"/api/sessions/{session_id}/files", params={"q": "re"})).json()
            assert files["items"] == [{"path": "README.md", "kind": "file"}]
            (old,) = (await client.get("/api/adoptable", params={"host": host.id})).json()["items"]
            assert old["cli_session_id"] == "abcd"
            adopted = await client.post("/api/adopt", json={"cli_session_id": "abcd", "host": "build-box"})
            assert adopted.json()["id"] == session_id
            missing = await client.get("/api/directories", params={"host": "bild-box"})
            assert (missing.status_code, missing.json()["code"]) == (404, "host_not_found")
            assert "did you mean 'build-box'" in missing.json()["detail"]


async def test_a_host_that_answers_nonsense_is_said_to(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        link.answer("directories", lambda command: {"path": 7})
        async with served.client() as client:
            answer = await client.get("/api/directories", params={"host": "build-box"})
            assert (answer.status_code, answer.json()["code"]) == (502, "host_error")


async def test_calls_to_programs_are_made_once(served: ServedHub, host: FakeHost) -> None:
    called: list[tuple[str, str]] = []
    may_answer = asyncio.Event()

    async def program(host_id: str, callback: wire.Callback) -> wire.CallbackReply:
        called.append((host_id, callback.id))
        await may_answer.wait()
        return wire.CallbackReply(id=callback.id, result=b'"yes"')

    served.hub.hosts.on_callback = program
    callback = wire.Callback(id="c1", session="s", program="p", kind="hook", name="h")
    async with host.connected() as link:
        await link.say(callback)
        await until(lambda: called)
    async with host.connected() as link:
        await link.say(callback)
        may_answer.set()
        assert (await link.hear(wire.CallbackReply)).result == b'"yes"'
        await link.say(callback)
        assert (await link.hear(wire.CallbackReply)).result == b'"yes"'
    assert called == [(host.id, "c1")]


@pytest.mark.slow
async def test_a_removed_hosts_sessions_can_come_back_with_another(
    served: ServedHub, host: FakeHost, tmp_path: Path
) -> None:
    async with host.connected() as link:
        session_id = await copied(host, link)
    async with fake_host(served, tmp_path / "..", "thief") as thief, thief.connected() as link:
        thief.store, own = host.store, thief.store
        await link.say(wire.Offer(heads=await host.store.heads(), done=True))
        await link.send_page(await host.store.copy_page(session_id, after=0))
        assert (await link.hear(wire.CopyRefused)).session == session_id
        async with served.client() as client:
            await client.delete("/api/hosts/build-box")
        thief.store = own
    row: SessionRow = await served.manager.session(session_id).row()
    assert row.host == host.id
    async with fake_host(served, tmp_path / "..", "build-box") as again:
        own, again.store = again.store, host.store
        async with again.connected() as link:
            await link.offer()
            await link.copy(session_id)
        again.store = own
        row = await served.manager.session(session_id).row()
        assert row.host == again.id
