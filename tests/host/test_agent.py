"""The agent with a hub: sessions are started, followed, steered and answered from there, and survive its absence."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from handrail.errors import (
    AlreadyDecided,
    ConfigError,
    HandrailError,
    HostError,
    HostRefused,
    LocalProtocolError,
    SessionLimit,
    SessionNotFound,
    StoreFull,
)
from handrail.events.codec import decode_event, decode_item
from handrail.events.model import Delta, Text
from handrail.host.agent import HostAgent, News
from handrail.host.capacity import live_sessions
from handrail.host.facts import FactsSource
from handrail.host.identity import HostIdentity
from handrail.host.limits import HostLimits
from handrail.link import wire
from handrail.policy.storage.loading import Asked
from handrail.store.base import Store
from handrail.store.sqlite import SqliteStore
from handrail.testing import simulated as sim

from .fake_hub import FakeHub, Sink, fake_hub
from .support import ASKS, RunningHost, eventually, host_manager, made, running_host


@pytest.fixture
async def sink(tmp_path: Path) -> AsyncIterator[Sink]:
    store = SqliteStore(str(made(tmp_path / "hub") / "hub.db"))
    await store.open()
    yield Sink(store)
    await store.close()


@asynccontextmanager
async def both(
    tmp_path: Path, sink: Sink, *steps: sim.Step, **limits: Any
) -> AsyncIterator[tuple[FakeHub, RunningHost]]:
    async with fake_hub(sink) as hub, running_host(tmp_path, hub.url, *steps, **limits) as host:
        await hub.connected()
        await host.told("connected")
        yield hub, host


async def said(store: Store, session: str) -> list[str]:
    """What Claude said in a session, as far as it is stored."""
    events = [decode_event(row.body) for row in await store.read(session)]
    return [event.text for event in events if isinstance(event, Text)]


async def started(hub: FakeHub, host: RunningHost, **wanted: Any) -> str:
    options = {"cwd": str(host.projects), **wanted}
    return str((await hub.call("start", options=options))["id"])


# ---------------------------------------------------------------- a session through the hub


@pytest.mark.slow
async def test_a_session_is_started_and_followed_from_the_hub(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        uuid = await hub.call("send", session, content="hello", uuid=None)
        assert uuid
        await eventually(lambda: said(sink.store, session))
        assert await said(sink.store, session) == ["You said hello."]
        row = await sink.store.get_session(session)
        assert row is not None
        assert row.host == sink.host
        assert row.owner == f"host:{sink.host}"


@pytest.mark.slow
async def test_a_reply_says_up_to_where_the_journal_was_written(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        reply = await hub.reply(hub.command("rename", session, title="Another"))
        assert reply.last_seq > 0
        await eventually(lambda: _has(sink.store, session, reply.last_seq))
        row = await sink.store.get_session(session)
        assert row is not None
        assert row.title == "Another"


async def _has(store: Store, session: str, seq: int) -> bool:
    row = await store.get_session(session)
    return row is not None and row.last_seq >= seq


@pytest.mark.slow
async def test_an_ask_is_answered_once_from_the_hub(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink, *ASKS) as (hub, host):
        session = await started(hub, host)
        await hub.call("send", session, content="clean up", uuid=None)
        (ask,) = await eventually(lambda: sink.store.asks(session))
        answer = {"ask_id": ask.id, "answer": {"type": "allow"}, "digest": ask.digest}
        await hub.call("decide", session, **answer)
        with pytest.raises(AlreadyDecided) as refused:
            await hub.call("decide", session, **answer)
        assert refused.value.actor == "ada (web)"
        await eventually(lambda: _says(sink.store, session, "All clean."))


async def _says(store: Store, session: str, words: str) -> bool:
    return words in await said(store, session)


@pytest.mark.slow
async def test_what_is_written_is_shown_while_somebody_watches(tmp_path: Path, sink: Sink) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    async with both(tmp_path, sink, sim.loop_turns(sim.say(words, pause=0.004))) as (hub, host):
        session = await started(hub, host)
        await hub.say(wire.Watch(session=session, on=True))
        turns = 0
        while not _deltas(sink.seen, session):  # a busy machine may be late with all of one turn
            turns += 1
            assert turns <= 5
            await hub.call("send", session, content="talk", uuid=None)
            await eventually(partial(_said_times, sink.store, session, words, turns))
        assert _in_order(sink.seen, session)
        for shown in _written(sink.seen, session):
            assert words.startswith(shown)  # the last of it may come with the whole
        await hub.say(wire.Watch(session=session, on=False))
        before = len(_deltas(sink.seen, session))
        await hub.call("send", session, content="again", uuid=None)
        await eventually(partial(_said_times, sink.store, session, words, turns + 1))
        assert len(_deltas(sink.seen, session)) == before


async def _said_times(store: Store, session: str, words: str, times: int) -> bool:
    return (await said(store, session)).count(words) == times


def _written(seen: list[wire.FromHost], session: str) -> list[str]:
    """What was shown of each block of text."""
    blocks: dict[str, str] = {}
    for delta in _deltas(seen, session):
        if delta.kind == "text":
            blocks[delta.block] = blocks.get(delta.block, "") + delta.text
    return list(blocks.values())


def _deltas(seen: list[wire.FromHost], session: str) -> list[Delta]:
    found = []
    for message in seen:
        if isinstance(message, wire.Deltas) and message.session == session:
            found += [item for each in message.items if isinstance(item := decode_item(each), Delta)]
    return found


def _in_order(seen: list[wire.FromHost], session: str) -> bool:
    """Whether each delta came right behind the event that it says it comes after."""
    last = 0
    for message in seen:
        if isinstance(message, wire.Page) and message.page.session.id == session and message.page.events:
            last = message.page.events[-1].seq
        elif any(delta.after != last for delta in _deltas([message], session)):
            return False
    return True


@pytest.mark.slow
async def test_it_is_known_when_the_hub_has_everything(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        await hub.call("send", session, content="hello", uuid=None)
        await hub.call("stop", session)
        assert await host.agent.flushed(30)
        assert await _is_over(sink.store, session)
        hub.ack = False
        await hub.call("change", session, title="Unheard of")
        assert not await host.agent.flushed(0.1)


# ---------------------------------------------------------------- the hub goes away


@pytest.mark.slow
async def test_a_cut_does_not_touch_what_runs(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink, sim.loop_turns(sim.say("a b c d e f g h", pause=0.05))) as (hub, host):
        session = await started(hub, host)
        await hub.call("send", session, content="talk", uuid=None)
        await hub.cut()
        await eventually(lambda: _says(host.manager.store, session, "a b c d e f g h"))
        await eventually(lambda: _says(sink.store, session, "a b c d e f g h"))
        assert hub.connections == 2
        assert [hello.boot for hello in hub.hellos] == [host.agent.boot] * 2


@pytest.mark.slow
async def test_a_restarted_hub_is_told_what_happened_meanwhile(tmp_path: Path, sink: Sink) -> None:
    async with host_manager(tmp_path) as manager:
        async with fake_hub(sink) as hub:
            port = int(hub.url.rpartition(":")[2])
            async with running_host(tmp_path, hub.url, manager=manager) as host:
                await hub.connected()
                session = await started(hub, host)
        async with running_host(tmp_path, hub.url, manager=manager) as host:
            await manager.session(session).run("while nobody is there")
            assert await said(sink.store, session) == []
            async with fake_hub(sink, port=port):
                await eventually(lambda: said(sink.store, session))


@pytest.mark.slow
async def test_a_command_is_done_once_however_often_it_comes(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        command = hub.command("send", session, content="once", uuid=None)
        first = await hub.reply(command)
        await hub.cut()
        again = await hub.reply(command)
        assert (again.result, again.error) == (first.result, first.error)
        await eventually(lambda: said(sink.store, session))
        assert len(await host.manager.store.messages(session)) == 1


@pytest.mark.slow
async def test_the_reply_to_a_command_survives_a_cut(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        command = hub.command("start", options={"cwd": str(host.projects)})
        asked = asyncio.ensure_future(hub.reply(command))
        await eventually(lambda: host.agent.commands.running)
        await hub.cut()
        reply = await asked
        assert reply.error is None
        assert len(await host.manager.list()) == 1


async def test_a_command_that_a_dead_agent_had_begun_is_not_begun_again(tmp_path: Path, sink: Sink) -> None:
    from handrail.host.commands import CALLER, _hash
    from handrail.store.base import KeptReply

    async with both(tmp_path, sink) as (hub, host):
        command = hub.command("start", options={"cwd": str(host.projects)})
        begun = KeptReply(caller=CALLER, key=command.id, request_hash=_hash(command), at=1e12)
        assert await host.manager.store.begin_reply(begun, forget_before=0) is None
        reply = await hub.reply(command)
        assert reply.error is not None
        assert "restarted before this was done" in reply.error.message
        assert await host.manager.list() == []


@pytest.mark.slow
async def test_a_host_that_restarts_says_what_was_lost(tmp_path: Path, sink: Sink) -> None:
    async with fake_hub(sink) as hub:
        async with running_host(tmp_path, hub.url, *ASKS) as host:
            await hub.connected()
            session = await started(hub, host)
            await hub.call("send", session, content="clean up", uuid=None)
            await eventually(lambda: sink.store.asks(session))
            boot = hub.hellos[-1].boot
        async with running_host(tmp_path, hub.url, *ASKS):
            await eventually(lambda: _is_over(sink.store, session))
            assert hub.hellos[-1].boot != boot
        (ask,) = await sink.store.asks(session)
        assert ask.state not in ("pending", "decided")


async def _is_over(store: Store, session: str) -> bool:
    row = await store.get_session(session)
    return row is not None and row.owner is None and row.status in ("stopped", "failed")


# ---------------------------------------------------------------- the owner's word


async def test_outside_of_the_roots_nothing_is_started(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        outside = made(tmp_path / "elsewhere")
        (host.projects / "link").symlink_to(outside)
        for path in (str(outside), str(host.projects / "link"), "/", f"{host.projects}/../elsewhere"):
            with pytest.raises(HostRefused, match="is not inside"):
                await hub.call("start", options={"cwd": path})
        assert await host.manager.list() == []


@pytest.mark.slow
async def test_what_could_switch_the_policy_off_is_refused(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        for option, value in (
            ("cli_path", "/bin/sh"),
            ("env", {"PATH": "/tmp"}),
            ("extra_args", {"dangerously-skip-permissions": None}),
            ("permission_mode", "bypassPermissions"),
            ("settings", {"hooks": {}}),
        ):
            with pytest.raises(HostRefused):
                await started(hub, host, **{option: value})
        session = await started(hub, host)
        with pytest.raises(HostRefused, match="bypass"):
            await hub.call("set_permission_mode", session, mode="bypassPermissions")
        with pytest.raises(HostRefused, match="mcp_set_servers"):
            await hub.call("control", session, subtype="mcp_set_servers", fields={"servers": {}})
        with pytest.raises(HostRefused, match="profile trusted"):
            await hub.call("start", options={"cwd": str(host.projects)}, policy={"profile": "trusted"})


@pytest.mark.slow
async def test_every_session_is_held_to_a_policy(tmp_path: Path, sink: Sink) -> None:
    from handrail.sessions.launching import decode_settings

    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        row = await host.manager.session(session).row()
        assert decode_settings(row.settings).policy is not None


@pytest.mark.slow
async def test_a_full_host_takes_no_further_session(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink, capacity=1) as (hub, host):
        first = await started(hub, host)
        with pytest.raises(SessionLimit):
            await started(hub, host)
        await hub.call("stop", first)
        assert await started(hub, host) != first


@pytest.mark.slow
async def test_sessions_start_beside_each_other_until_the_host_is_full(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with both(tmp_path, sink, capacity=2) as (hub, host):
        begin, all_in = host.manager.begin, asyncio.Barrier(2)

        async def together(*how: Any) -> Any:
            async with asyncio.timeout(20):
                await all_in.wait()
            return await begin(*how)

        monkeypatch.setattr(host.manager, "begin", together)
        begun = await asyncio.gather(*(started(hub, host) for _ in range(5)), return_exceptions=True)
        assert sorted(type(each).__name__ for each in begun) == ["SessionLimit"] * 3 + ["str"] * 2
        assert await live_sessions(host.manager) == 2


@pytest.mark.slow
async def test_a_drained_host_starts_nothing_and_says_so(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        await hub.call("drain", on=True)
        with pytest.raises(HostRefused, match="drained"):
            await started(hub, host)
        await eventually(lambda: any(isinstance(m, wire.Facts) and m.facts.draining for m in sink.seen))
        await hub.call("send", session, content="still here", uuid=None)
        await hub.call("stop", session)
        with pytest.raises(HostRefused, match="drained"):
            await hub.call("send", session, content="too late", uuid=None)
        await hub.call("drain", on=False)
        await hub.call("resume", session)


@pytest.mark.slow
async def test_a_conversation_that_is_taken_over_is_run_as_the_owner_says(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    from handrail.sessions.launching import decode_settings

    def keep(name: str, cwd: Path) -> None:
        line = {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u1", "cwd": str(cwd)}
        at = {"timestamp": "2026-01-01T10:00:00.000Z", "sessionId": name, "version": "2.1.325", "isSidechain": False}
        kept = made(tmp_path / "claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str(cwd)))
        (kept / f"{name}.jsonl").write_text(json.dumps({**line, **at}) + "\n")

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    inside, outside = str(uuid4()), str(uuid4())
    async with both(tmp_path, sink, policy=Asked(profile="readonly", deny=("WebFetch",)), budget=2.0) as (hub, host):
        keep(inside, host.projects)
        keep(outside, made(tmp_path / "elsewhere"))
        assert [each["session_id"] for each in await hub.call("adoptable", cwd=None)] == [inside]
        with pytest.raises(HostRefused, match="is not inside"):
            await hub.call("adopt", cli_session_id=outside)
        adopted = (await hub.call("adopt", cli_session_id=inside))["id"]
        settings = decode_settings((await host.manager.session(adopted).row()).settings)
        assert settings.policy == Asked()  # the owner's own is added whenever it becomes live
        assert settings.budget == 2.0
        assert settings.options.cli_path == str(tmp_path / "cli" / "claude")
        assert settings.options.cwd == str(host.projects)


# ---------------------------------------------------------------- what else it does


async def test_it_tells_what_it_is(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        facts = hub.hellos[0].facts
        assert facts.roots == (str(host.projects),)
        assert facts.labels == ("gpu",)
        assert facts.clis[0].version
        assert facts.free_bytes
        assert facts.trouble == ""
        assert facts.profiles == ("careful", "edits", "readonly")
        assert (await hub.call("claude"))["found"]


@pytest.mark.slow
async def test_whatever_keeps_it_from_connecting_it_tries_again(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        with monkeypatch.context() as patch:
            patch.setattr(FactsSource, "look", _fails)
            await hub.cut()
            await eventually(lambda: any("of no use" in news.text for news in host.news if news.kind == "lost"))
        await eventually(lambda: len(hub.hellos) > 1)
        assert await host.manager.session(session).is_live()


async def _fails(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError("of no use")


@pytest.mark.slow
async def test_a_full_disk_is_said_and_said_to_be_over(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)

        async def full(*args: Any, **further: Any) -> None:
            raise StoreFull("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(host.manager.store, "begin_reply", full)
            with pytest.raises(StoreFull):
                await hub.call("send", session, content="hello", uuid=None)
            await eventually(lambda: _told_of(sink, "the disk is full"))
        host.agent.store_trouble("the disk was full")
        await eventually(lambda: not _latest(sink).trouble)
        assert await host.manager.session(session).is_live()


def _latest(sink: Sink) -> wire.HostFacts:
    return [message.facts for message in sink.seen if isinstance(message, wire.Facts)][-1]


def _told_of(sink: Sink, trouble: str) -> bool:
    return any(isinstance(message, wire.Facts) and message.facts.trouble == trouble for message in sink.seen)


@pytest.mark.slow
async def test_it_shows_its_directories_and_files(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        made(host.projects / "one" / ".git")
        (host.projects / "one" / "main.py").write_text("")
        listing = await hub.call("directories", path="", hidden=False)
        assert [item["name"] for item in listing["items"]] == ["one"]
        assert listing["root"]
        with pytest.raises(HostRefused):
            await hub.call("directories", path="/etc", hidden=False)
        session = await started(hub, host, cwd=str(host.projects / "one"))
        found = await hub.call("files", session, q="main", limit=5)
        assert found["items"][0]["path"] == "main.py"


@pytest.mark.slow
async def test_frames_are_read_where_they_are(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        await hub.call("send", session, content="hello", uuid=None)
        await eventually(lambda: said(sink.store, session))
        frames = await hub.call("frames", session, after=0, limit=3)
        assert [frame["number"] for frame in frames] == sorted(frame["number"] for frame in frames)
        assert 0 < len(frames) <= 3


@pytest.mark.slow
async def test_a_session_is_forked_changed_and_deleted(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        await hub.call("send", session, content="hello", uuid=None)
        await eventually(lambda: said(sink.store, session))
        forked = (await hub.call("fork", session, title="Other way", changes={}))["id"]
        assert forked != session
        await hub.call("stop", session)
        await hub.call("change", session, archived=True)
        await eventually(lambda: _is_archived(sink.store, session))
        await hub.call("delete", session)
        await eventually(lambda: wire.Gone(session=session) in sink.seen)
        with pytest.raises(SessionNotFound):
            await hub.call("stop", session)


async def _is_archived(store: Store, session: str) -> bool:
    row = await store.get_session(session)
    return row is not None and row.archived


async def test_a_command_that_nobody_knows_is_answered(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, _):
        with pytest.raises(LocalProtocolError, match="knows no command 'fly'"):
            await hub.call("fly")
        with pytest.raises(LocalProtocolError, match="say which"):
            await hub.call("stop")
        with pytest.raises(LocalProtocolError, match="WantedSession"):
            await hub.call("start", options=[])


@pytest.mark.slow
async def test_a_program_elsewhere_answers_a_hook(tmp_path: Path, sink: Sink) -> None:
    steps = (sim.turn(sim.hook("UserPromptSubmit", {"prompt": "hello"}), "Done."), sim.loop_turns("You said $text."))
    async with both(tmp_path, sink, *steps) as (hub, host):
        hub.answer = lambda callback: wire.CallbackReply(id=callback.id, result=b"{}")
        program = {"id": "p1", "hooks": [{"name": "judge", "events": ["UserPromptSubmit"]}]}
        session = (await hub.call("start", options={"cwd": str(host.projects)}, program=program))["id"]
        await hub.call("send", session, content="hello", uuid=None)
        await eventually(lambda: _says(sink.store, session, "Done."))
        (callback,) = hub.callbacks
        assert (callback.program, callback.session, callback.kind, callback.name) == ("p1", session, "hook", "judge")
        assert b'"hello"' in callback.payload


@pytest.mark.slow
async def test_a_program_that_does_not_answer_is_given_up(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        with pytest.raises(HandrailError, match="did not answer within"):
            await host.agent.programs.call(
                wire.Callback(id="c1", session="s", program="p1", kind="mcp", name="x"), timeout=0.05
            )
        assert [callback.id for callback in hub.callbacks] == ["c1"]


@pytest.mark.slow
async def test_a_call_to_a_program_is_made_again_after_a_cut(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        callback = wire.Callback(id="c1", session="s", program="p1", kind="mcp", name="x")
        calling = asyncio.ensure_future(host.agent.programs.call(callback, timeout=30))
        await eventually(lambda: hub.callbacks)
        hub.answer = lambda callback: wire.CallbackReply(id=callback.id, result=b"42")
        await hub.cut()
        assert await calling == 42
        assert [each.id for each in hub.callbacks] == ["c1", "c1"]


# ---------------------------------------------------------------- when it is not wanted


@pytest.mark.slow
async def test_a_host_that_the_hub_does_not_know_ends_with_words(tmp_path: Path, sink: Sink) -> None:
    async with fake_hub(sink) as hub, host_manager(tmp_path) as manager:
        agent = _agent(manager, hub.url, tmp_path, key="wrong")
        async with agent:
            with pytest.raises(HostRefused, match="enrol it again"):
                await agent.run()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "words"), [(4401, "enrol it again"), (4409, "another agent"), (4426, "upgrade the older one")]
)
async def test_it_ends_if_the_hub_will_never_take_it(tmp_path: Path, sink: Sink, code: int, words: str) -> None:
    async with fake_hub(sink) as hub, host_manager(tmp_path) as manager:
        hub.close_with = code
        agent = _agent(manager, hub.url, tmp_path)
        async with agent:
            with pytest.raises(HostRefused, match=words):
                await agent.run()


@pytest.mark.slow
async def test_a_conflict_later_does_not_end_what_runs(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        hub.close_with = 4409
        await hub.cut()
        news = await host.told("refused")
        assert "another agent" in news.text
        assert news.retry_in == 30
        assert await host.manager.session(session).is_live()


@pytest.mark.slow
async def test_a_login_that_something_else_wants_does_not_end_what_runs(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        hub.behind_a_login = True
        await hub.cut()
        assert "takes no hosts: it answered with 401" in (await host.told("refused")).text
        assert await host.manager.session(session).is_live()
        assert not host.running.done()


@pytest.mark.slow
async def test_a_proxy_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("socks_proxy", "socks5://127.0.0.1:9")
    async with running_host(tmp_path, "https://hub.example.com") as host:
        assert "SOCKS proxy" in (await host.told("lost")).text


async def test_what_is_no_hub_is_tried_again(tmp_path: Path, sink: Sink) -> None:
    async with fake_hub(sink) as hub, running_host(tmp_path, hub.url + "/other") as host:
        assert "takes no hosts" in (await host.told("refused")).text


async def test_a_hub_that_is_not_there_is_tried_again(tmp_path: Path, sink: Sink) -> None:
    async with running_host(tmp_path, "http://127.0.0.1:9") as host:
        news = await host.told("lost")
        assert news.text == "http://127.0.0.1:9 cannot be reached: Connection refused"
        assert news.retry_in == 0.5


@pytest.mark.slow
async def test_a_hub_that_ends_each_connection_is_tried_ever_less_often(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        while len(_lost(host)) < 3:
            await hub.connected()
            before = len(_lost(host))
            await hub.cut()
            await eventually(lambda before=before: len(_lost(host)) > before)  # type: ignore[misc]
        assert [news.retry_in for news in _lost(host)] == [0.5, 1, 2]


def _lost(host: RunningHost) -> list[News]:
    return [news for news in host.news if news.kind == "lost"]


async def test_a_hub_of_another_version_is_told_apart(tmp_path: Path, sink: Sink) -> None:
    async with fake_hub(sink) as hub:
        hub.version = 99
        async with running_host(tmp_path, hub.url) as host:
            assert "speaks version 99" in (await host.told("refused")).text


@pytest.mark.slow
async def test_noise_from_the_hub_ends_the_connection_only(tmp_path: Path, sink: Sink) -> None:
    async with both(tmp_path, sink) as (hub, host):
        session = await started(hub, host)
        await hub.say(wire.Ack(session=session, number=99, last_seq=1))
        assert "does not understand" in (await host.told("refused")).text
        assert await host.manager.session(session).is_live()


async def test_the_hub_is_reached_through_tls_unless_it_is_on_this_machine(tmp_path: Path) -> None:
    async with host_manager(tmp_path) as manager:
        with pytest.raises(ConfigError, match="TLS"):
            _agent(manager, "http://hub.example.com", tmp_path)
        with pytest.raises(ConfigError, match="not the address of a hub"):
            _agent(manager, "hub.example.com", tmp_path)


def _agent(manager: object, url: str, tmp_path: Path, *, key: str = "hrh_secret") -> HostAgent:
    limits = HostLimits(roots=(str(tmp_path),))
    identity = HostIdentity(hub=url, host_id="h1", name="box", key=key)
    return HostAgent(manager, identity=identity, limits=limits, facts=FactsSource(tmp_path, limits))  # type: ignore[arg-type]


async def test_too_many_commands_at_once_are_refused(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.host.commands.MOST_AT_ONCE", 0)
    async with both(tmp_path, sink) as (hub, _):
        with pytest.raises(HostError, match="try again later"):
            await hub.call("claude")
