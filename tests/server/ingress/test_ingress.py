"""Claude Codes that dial in to a hub: seated, turned away, and seated again."""

from __future__ import annotations

import asyncio
import gc
import time
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus

from handrail.errors import SessionError, SessionNotLive, StoreLocked
from handrail.events.model import Action, AskOpened, Completed, ProcessExited, SessionRekeyed
from handrail.protocol.asks import Allow
from handrail.protocol.ingress import IngressLink
from handrail.server.auth.bodies import LARGEST_POSTED
from handrail.server.ingress import ingress
from handrail.sessions import dialled_in as dialled_in_module
from handrail.sessions.session import Session
from handrail.store.base import SessionRow, Store
from handrail.transports.ingress.sockets import RETRY, SECOND, STOP
from handrail.transports.ingress.transport import LOST, TOO_MUCH

from ...transports.dialling_cli import DiallingCLI
from ..support import ServedHub, served_hub

PATIENCE = 20.0


async def until(condition: Any) -> Any:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = condition()
            found = await found if asyncio.iscoroutine(found) else found
            if found:
                return found
            await asyncio.sleep(0.01)


async def expected(served: ServedHub, **wanted: Any) -> dict[str, Any]:
    async with served.client() as http:
        reply = await http.post("/api/ingress", json={"cwd": "/there", **wanted})
    assert reply.status_code == 201, reply.text
    made: dict[str, Any] = reply.json()
    return made


@asynccontextmanager
async def dialled_in(
    served: ServedHub, made: dict[str, Any] | None = None, **how: Any
) -> AsyncIterator[tuple[DiallingCLI, Session]]:
    made = made or await expected(served)
    async with DiallingCLI(made["url"], made["token"], **how) as cli:
        await cli.dial()
        session = served.manager.session(made["id"])
        await until(session.is_live)
        yield cli, session


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def status_is(session: Session, status: str) -> None:
    async def is_so() -> bool:
        return (await session.row()).status == status

    await until(is_so)


async def warnings(session: Session) -> list[str]:
    return [event.title for event in await session.events() if isinstance(event, Action) and event.kind == "warning"]


async def test_a_session_waits_for_its_cli_and_is_seated_when_it_dials_in(served: ServedHub) -> None:
    made = await expected(served, title="elsewhere", mode="plan")
    session = served.manager.session(made["id"])
    assert (await session.row()).status == "waiting"
    assert made["url"] == f"ws{served.url.removeprefix('http')}/v1/session_ingress/ws/{made['id']}"
    assert f"--sdk-url={made['url']}" in made["command"]
    assert made["token"] not in str(made["command"]) + str(made["environment"])
    with pytest.raises(SessionNotLive, match="waits for its Claude Code"):
        await session.send("hello")
    async with dialled_in(served, made) as (cli, session):
        assert (await session.run("hello")).answer == "hello"
        assert (await session.row()).status == "idle"
        assert (await session.row()).cli_session_id == cli.session_id
        with pytest.raises(SessionError, match="fork it there"):
            await served.manager.fork(session.id)
        async with served.client() as http:
            (listed,) = (await http.get("/api/ingress")).json()["items"]
        assert listed["connected"]
        assert listed["transport"] == "websocket"
        await session.stop()
        assert await cli.closed() == STOP
    assert (await session.row()).status == "stopped"


async def test_an_edit_elsewhere_is_described_without_a_diff(served: ServedHub) -> None:
    (served.directory / "here.txt").write_text("a")
    async with dialled_in(served) as (_, session):
        await session.send(f"edit {served.directory / 'here.txt'}")
        row = await served.asked(session)
        opened = next(event for event in await session.events() if isinstance(event, AskOpened))
        assert "no diff can be shown" in str(opened.ask)
        assert '"hunks":[{' not in str(row.body)


@pytest.mark.slow
async def test_policy_binds_a_cli_that_dials_in(served: ServedHub) -> None:
    async with dialled_in(served) as (cli, _):
        initialize = cli.received[0]["request"]
        assert "PreToolUse" in initialize["hooks"]


async def test_a_message_and_an_answer_survive_a_break(served: ServedHub) -> None:
    async with dialled_in(served) as (cli, session):
        await session.send("ask make")
        ask = await served.asked(session)
        await cli.hang_up(abruptly=True)
        await until(lambda: not served.hub.ingress.is_connected(session.id))
        await session.decide(ask.id, Allow(), digest=ask.digest)
        await status_is(session, "waiting")
        await cli.dial()
        await cli.until(lambda: cli.answers)
        assert cli.answers[0]["response"]["behavior"] == "allow"
        await status_is(session, "idle")
        assert await warnings(session) == []


async def test_losses_are_in_the_journal(served: ServedHub) -> None:
    async with dialled_in(served, forgets=True) as (cli, session):
        await session.run("one")
        await cli.hang_up()
        await cli.say_text("lost")
        await cli.dial()
        await until(lambda: _has_warning(session))
        assert await warnings(session) == [LOST]


async def _has_warning(session: Session) -> bool:
    return bool(await warnings(session))


@pytest.mark.slow
async def test_after_a_restart_of_the_hub_the_cli_is_seated_again(tmp_path: Path) -> None:
    async with served_hub(tmp_path / "hub") as served:
        made = await expected(served)
        port = served.hub.settings.port
        async with DiallingCLI(made["url"], made["token"]) as cli:
            await cli.dial()
            session = served.manager.session(made["id"])
            await until(session.is_live)
            await session.run("before")
            await session.send("ask make")
            first = await served.asked(session)
            await served.hub.ingress.stop()
            assert await cli.closed() == RETRY
            await served.manager.close()
            await cli.say_text("said while nobody listened")
    async with served_hub(tmp_path / "hub") as served:
        session = served.manager.session(made["id"])
        assert (await session.row()).status == "waiting"
        ends = [event for event in await session.events() if isinstance(event, ProcessExited | Completed)]
        assert "goes on where it runs" in str(ends[-1])
        cli.url = made["url"].replace(f":{port}/", f":{served.hub.settings.port}/")
        await cli.dial()
        ask = await served.asked(session)
        assert ask.id != first.id
        await session.decide(ask.id, Allow(), digest=ask.digest)
        await cli.until(lambda: cli.answers)
        assert (await session.run("after")).answer == "after"
        texts = [getattr(event, "text", "") for event in await session.events()]
        assert texts.count("before") == 1
        assert texts.count("said while nobody listened") == 1
        assert await warnings(session) == []
        await cli.hang_up()


async def test_a_second_cli_is_refused_with_a_line_in_the_log(
    served: ServedHub, caplog: pytest.LogCaptureFixture
) -> None:
    made = await expected(served)
    async with dialled_in(served, made) as (_, session), DiallingCLI(made["url"], made["token"]) as second:
        await second.dial()
        assert await second.closed() == SECOND
        assert (await session.run("mine")).answer == "mine"
    assert "a second CLI was refused" in caplog.text


async def test_a_revoked_token_ends_the_cli(served: ServedHub) -> None:
    made = await expected(served)
    async with dialled_in(served, made) as (cli, _):
        async with served.client() as http:
            assert (await http.delete(f"/api/ingress/{made['id']}")).status_code == 204
            assert (await http.delete(f"/api/ingress/{made['id']}")).json()["code"] == "token_not_found"
        assert await cli.closed() == STOP
        await cli.dial()
        assert await cli.closed() == STOP
        assert await _is_refused(cli)


async def test_a_seat_that_takes_long_to_prepare_holds_up_nobody_and_needs_a_good_token(
    served: ServedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, prepared = asyncio.Event(), asyncio.Event()
    slow = await expected(served)

    async def link_again(store: Store, row: SessionRow) -> IngressLink:
        if row.id == slow["id"]:
            begun.set()
            await prepared.wait()
        return await dialled_in_module.link_again(store, row)

    monkeypatch.setattr(ingress, "link_again", link_again)
    async with DiallingCLI(slow["url"], slow["token"]) as cli:
        dialling = asyncio.create_task(cli.dial())
        await begun.wait()
        async with dialled_in(served) as (_, session):
            assert (await session.run("hello")).answer == "hello"
        async with served.client() as http:
            assert (await http.delete(f"/api/ingress/{slow['id']}")).status_code == 204
        prepared.set()
        await dialling
        assert await cli.closed() == STOP
    assert not await served.manager.session(slow["id"]).is_live()


async def test_a_new_token_takes_the_place_of_the_old_one(served: ServedHub) -> None:
    made = await expected(served)
    async with dialled_in(served, made) as (cli, session):
        await session.run("hello")
        async with served.client() as http:
            renewed = (await http.post(f"/api/ingress/{made['id']}/token")).json()
        assert await cli.closed() == STOP
        assert f"--resume={cli.session_id}" in renewed["command"]
    async with dialled_in(served, renewed) as (_, session):
        assert (await session.run("again")).answer == "again"
        rekeyed = [event for event in await session.events() if isinstance(event, SessionRekeyed)]
        assert [event.previous for event in rekeyed] == [cli.session_id]
        assert any("revoked" in text for text in await warnings(session))


@pytest.mark.slow
async def test_strangers_are_turned_away(served: ServedHub, caplog: pytest.LogCaptureFixture) -> None:
    made, other = await expected(served), await expected(served)
    for token, code in ((None, 403), ("nonsense", 401), (served.tokens["owner"] + "x", 401)):
        async with DiallingCLI(made["url"], token) as stranger:
            with pytest.raises(InvalidStatus) as refused:
                await stranger.dial()
            assert refused.value.response.status_code == code
    for token in (other["token"], served.tokens["owner"]):
        async with DiallingCLI(made["url"], token) as stranger:
            await stranger.dial()
            assert await stranger.closed() == STOP
            assert await stranger.post([]) == 401
    async with DiallingCLI(made["url"].replace(made["id"], "0" * 32), made["token"]) as stranger:
        await stranger.dial()
        assert await stranger.closed() == STOP
    assert "its token is not good for that" in caplog.text
    async with served.client(None, authorization=f"Bearer {made['token']}") as http:
        assert (await http.get("/api/sessions")).status_code == 401


@pytest.mark.slow
async def test_many_strangers_do_not_disturb_the_one_who_belongs_there(served: ServedHub) -> None:
    made = await expected(served)
    at_once = asyncio.Semaphore(50)

    async def knock(token: str | None) -> None:
        async with at_once, DiallingCLI(made["url"], token) as stranger:
            with pytest.raises(InvalidStatus):
                await stranger.dial()

    async with dialled_in(served, made) as (_, session):
        await asyncio.gather(*(knock(None if number % 2 else "nonsense") for number in range(1_000)))
        assert (await session.run("undisturbed")).answer == "undisturbed"


@pytest.mark.slow
async def test_strangers_who_post_leave_nothing_behind(served: ServedHub, caplog: pytest.LogCaptureFixture) -> None:
    path = f"/v1/session_ingress/session/{(await expected(served))['id']}/events"
    began = time.monotonic()
    async with served.client(None, authorization="Bearer nonsense") as stranger:

        async def knock(times: int) -> int:
            for _ in range(times):
                assert (await stranger.post(path, json={"events": []})).status_code == 401
            gc.collect()
            return sum(isinstance(each, types.TracebackType) for each in gc.get_objects())

        before = await knock(5)
        assert await knock(100) < before + 50, "each leaves several where they are kept"
    seconds = time.monotonic() - began
    assert caplog.text.count("was refused") <= 60 + seconds  # so many at once, and then one a second


async def test_a_session_that_was_stopped_is_not_seated_by_a_cli_that_does_not_listen(served: ServedHub) -> None:
    async with dialled_in(served) as (cli, session):
        await session.run("hello")
        await session.stop()
        await cli.closed()
        await until(lambda: _is_refused(cli))
        cli.last = None  # somebody has started it anew
        cli.initialized = 0
        await cli.dial()
        assert (await session_of(served, session).run("hello again")).answer == "hello again"


async def test_a_session_that_was_stopped_while_its_cli_was_away_stays_stopped(tmp_path: Path) -> None:
    async with served_hub(tmp_path / "hub") as served:
        made = await expected(served, title="elsewhere")
        async with DiallingCLI(made["url"], made["token"]) as cli:
            await cli.dial()
            session = served.manager.session(made["id"])
            await until(session.is_live)
            await session.run("hello")
            await cli.hang_up()
            await session.stop()
            last = cli.last
    async with served_hub(tmp_path / "hub") as served:
        url = f"ws{served.url.removeprefix('http')}/v1/session_ingress/ws/{made['id']}"
        async with DiallingCLI(url, made["token"]) as cli:
            cli.last = last
            await cli.dial()
            assert await cli.closed() == STOP
        assert not await served.manager.session(made["id"]).is_live()


async def test_a_journal_that_cannot_be_read_now_keeps_the_cli_dialling(
    served: ServedHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def locked(store: Store, row: SessionRow) -> IngressLink:
        raise StoreLocked("not now")

    made = await expected(served)
    with monkeypatch.context() as patched:
        patched.setattr(ingress, "link_again", locked)
        async with DiallingCLI(made["url"], made["token"]) as cli:
            await cli.dial()
            assert await cli.closed() == RETRY
    assert not any(record.exc_info for record in caplog.records)
    async with dialled_in(served, made) as (_, session):
        assert (await session.run("hello")).answer == "hello"


async def _is_refused(cli: DiallingCLI) -> bool:
    try:
        await cli.dial()
    except InvalidStatus as error:
        return error.response.status_code == 401
    await cli.closed()
    return False


def session_of(served: ServedHub, session: Session) -> Any:
    class Waiting:
        async def run(self, text: str) -> Completed:
            await until(session.is_live)
            return await session.run(text)

    return Waiting()


async def test_a_deleted_session_has_no_seat(served: ServedHub) -> None:
    made = await expected(served)
    await served.manager.session(made["id"]).delete()
    async with DiallingCLI(made["url"], made["token"]) as cli:
        await cli.dial()
        assert await cli.closed() == STOP


@pytest.mark.slow
async def test_posts(served: ServedHub) -> None:
    made = await expected(served, transport="hybrid")
    assert made["environment"]
    async with dialled_in(served, made, posts=True) as (cli, session):
        assert (await session.run("hello")).answer == "hello"
        await session.send("ask make")
        ask = await served.asked(session)
        await session.decide(ask.id, Allow(), digest=ask.digest)
        await cli.until(lambda: cli.answers)
        assert await cli.post([{"type": "keep_alive"}]) == 200
    async with DiallingCLI(made["url"], made["token"]) as away:
        assert await away.post([]) in (200, 503)


@pytest.mark.slow
async def test_a_post_that_is_cut_off_is_nobodys_mistake(served: ServedHub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    made = await expected(served, transport="hybrid")
    where = urlsplit(served.url)
    head = (
        f"POST /v1/session_ingress/session/{made['id']}/events HTTP/1.1\r\nhost: {where.netloc}\r\n"
        f"authorization: Bearer {made['token']}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n"
        "expect: 100-continue\r\n\r\n"
    )
    async with dialled_in(served, made, posts=True) as (_, session):
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(head.encode())
        await reader.readuntil(b"100 ")  # the body is waited for
        writer.transport.abort()
        await until(lambda: "was cut off" in caplog.text)
        assert (await session.run("hello")).answer == "hello"
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.slow
async def test_a_large_message_is_taken(served: ServedHub) -> None:
    async with dialled_in(served) as (cli, session):
        await cli.say_text("x" * 3_000_000)
        assert (await session.run("short")).answer == "short"
    assert LARGEST_POSTED > 3_000_000


async def test_a_message_over_the_limit_is_in_the_journal(served: ServedHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingress, "LARGEST_POSTED", 100_000)
    async with dialled_in(served) as (cli, session):
        await cli.say_text("x" * 200_000)
        assert await cli.closed() == 1009
        cli.forget_what_was_said()
        await cli.dial()
        assert (await session.run("short")).answer == "short"
        assert await warnings(session) == [TOO_MUCH]


async def test_no_session_waits_for_a_line_that_cannot_be_made(served: ServedHub) -> None:
    """Its settings say what the policy says, which nobody can tell if its file is broken."""
    write(Path(served.manager.places.policy_file), "deny = no list")
    async with served.client() as http:
        refused = await http.post("/api/ingress", json={"cwd": "/there"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_policy")
    assert await served.manager.list() == []


async def test_only_what_dials_in_has_such_tokens(served: ServedHub) -> None:
    session = await served.session()
    async with served.client() as http:
        refused = await http.post(f"/api/ingress/{session.id}/token")
    assert refused.status_code == 422
    async with served.client("approver") as http:
        assert (await http.post("/api/ingress", json={})).status_code == 403
