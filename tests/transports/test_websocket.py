"""A transport over sockets that come and go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from handrail.errors import LocalProtocolError
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions.client import Client
from handrail.sessions.client import connect as open_client
from handrail.transports.ingress import listener
from handrail.transports.ingress import transport as module
from handrail.transports.ingress.listener import LoopbackIngress
from handrail.transports.ingress.sockets import RETRY, SECOND, STOP
from handrail.transports.ingress.transport import LOST, TOO_LONG, TOO_MUCH, IngressTransport, Surroundings

from .dialling_cli import DiallingCLI

PATIENCE = 20.0


@dataclass
class Line:
    """A client, the transport that it has, and a CLI that dials in."""

    client: Client
    transport: IngressTransport
    ingress: LoopbackIngress
    cli: DiallingCLI
    notices: list[str] = field(default_factory=list)
    presence: list[bool] = field(default_factory=list)

    async def is_away(self) -> None:
        await until(lambda: not self.transport.is_here)


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def never(ask: Any) -> None:
    """Leave it to whoever decides."""


@asynccontextmanager
async def on_the_line(
    *, forgets: bool = False, posts: bool = False, window: float | None = None, on_ask: Any = never
) -> AsyncIterator[Line]:
    notices: list[str] = []
    presence: list[bool] = []
    transport = IngressTransport(around=Surroundings(notices.append, presence.append), window=window)
    async with (
        LoopbackIngress(transport) as ingress,
        DiallingCLI(ingress.url, ingress.token, forgets=forgets, posts=posts) as cli,
    ):
        await cli.dial()
        async with open_client(Options(transport="websocket"), on_ask=on_ask, transport=transport) as client:
            yield Line(client, transport, ingress, cli, notices, presence)


async def test_a_turn() -> None:
    async with on_the_line() as line:
        assert (await line.client.run("hello")).result == "hello"
        assert line.cli.received[0]["request"]["subtype"] == "initialize"
        assert line.client.session_id == line.cli.session_id
    assert await line.cli.closed() == STOP


async def test_nothing_is_lost_with_a_connection_that_breaks() -> None:
    async with on_the_line() as line:
        await line.cli.hang_up(abruptly=True)
        await line.is_away()
        sent = asyncio.create_task(line.client.run("while you were away"))
        await asyncio.sleep(0)
        await line.cli.dial()
        assert (await asyncio.wait_for(sent, PATIENCE)).result == "while you were away"
        assert line.presence == [True, False, True]
        assert line.notices == []


async def test_what_is_sent_again_is_heard_once() -> None:
    async with on_the_line() as line:
        frames = line.client.frames()
        await line.client.run("one")
        await line.cli.hang_up()
        await line.is_away()
        await line.cli.dial()
        assert (await line.client.run("two")).result == "two"
        uuids = [frame.uuid for frame in await _until_result(frames, "two")]
        assert len(uuids) == len(set(uuids))


async def _until_result(frames: Any, text: str) -> list[Any]:
    seen = []
    async for frame in frames:
        if frame.uuid is not None:
            seen.append(frame)
        if getattr(frame, "result", None) == text:
            break
    return seen


async def test_a_permission_asked_while_away_is_recovered_and_answered_once() -> None:
    async with on_the_line() as line:
        await line.cli.hang_up()
        await line.is_away()
        asked = await line.cli.ask("Bash", {"command": "ls"})
        await line.cli.dial()
        await until(lambda: line.client.asks)
        await line.client.decide(asked, Allow(), actor="test")
        await line.cli.until(lambda: line.cli.answers)
        assert [answer["request_id"] for answer in line.cli.answers] == [asked]


async def test_an_answer_given_while_away_arrives_later() -> None:
    async with on_the_line() as line:
        turn = asyncio.create_task(line.client.run("ask rm -rf build"))
        await until(lambda: line.client.asks)
        (asked,) = line.client.asks
        await line.cli.hang_up(abruptly=True)
        await line.is_away()
        await line.client.decide(asked, Allow(), actor="test")
        await line.cli.dial()
        assert (await asyncio.wait_for(turn, PATIENCE)).result == "done"
        answers = [each for each in line.cli.received if each["type"] == "control_response"]
        assert len(answers) == 1


async def test_losses_are_told() -> None:
    async with on_the_line(forgets=True) as line:
        await line.client.run("one")
        await line.cli.hang_up()
        await line.is_away()
        await line.cli.say_text("nobody hears this")
        await line.cli.dial()
        await until(lambda: line.notices)
        assert line.notices == [LOST]


async def test_whoever_does_not_come_back_is_gone() -> None:
    async with on_the_line(window=0.05) as line:
        turn = asyncio.create_task(line.client.run("ask anything"))
        await until(lambda: line.client.asks)
        await line.cli.hang_up()
        with pytest.raises(Exception, match="Claude Code ended"):
            await asyncio.wait_for(turn, PATIENCE)
        await line.cli.dial()
        assert await line.cli.closed() == STOP


async def test_a_second_cli_is_refused_and_the_first_one_lives() -> None:
    async with on_the_line() as line:
        async with DiallingCLI(line.ingress.url, line.ingress.token) as second:
            await second.dial()
            assert await second.closed() == SECOND
        assert (await line.client.run("still here")).result == "still here"


@pytest.mark.slow
async def test_a_dead_connection_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING_PATIENCE", 0.1)
    async with on_the_line() as line:
        assert line.cli._socket is not None
        line.cli._socket.transport.pause_reading()  # its pongs never come: the cable is out
        dead = line.cli._socket
        line.cli._socket = None
        await line.cli.dial()
        assert (await line.client.run("on a new line")).result == "on a new line"
        dead.transport.abort()


async def test_another_process_ends_the_conversation_and_may_dial_again() -> None:
    async with on_the_line() as line:
        await line.cli.hang_up()
        await line.is_away()
        async with DiallingCLI(line.ingress.url, line.ingress.token) as another:
            await another.dial()
            assert await another.closed() == RETRY
        await until(lambda: line.transport.over.is_set())
        with pytest.raises(Exception, match="Claude Code ended"):
            await line.client.run("who is there?")


@pytest.mark.slow
async def test_a_cli_that_posts() -> None:
    async with on_the_line(posts=True, on_ask=_allow) as line:
        assert (await line.client.run("hello")).result == "hello"
        assert (await line.client.run("ask ls")).result == "done"
        assert len(line.cli.answers) == 1


async def _allow(ask: Any) -> Allow:
    return Allow()


async def test_what_was_posted_before_is_dropped() -> None:
    async with on_the_line(posts=True) as line:
        frames = line.client.frames()
        said = {"type": "keep_alive"}
        again = {"type": "assistant", "uuid": "u", "message": {"content": []}, "session_id": "s"}
        assert await line.cli.post([said, again]) == 200
        assert await line.cli.post([again]) == 200
        await line.client.run("end")
        seen = await _until_result(frames, "end")
        assert [frame.uuid for frame in seen].count("u") == 1


@pytest.mark.slow
async def test_a_post_is_acknowledged_before_its_answer_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that arrives before the CLI waits for it would be dropped."""
    order: list[str] = []

    class Watching(DiallingCLI):
        async def post(self, events: list[dict[str, Any]]) -> int:
            status = await super().post(events)
            order.extend(f"acknowledged {event['type']}" for event in events)
            return status

        async def _take(self, frame: dict[str, Any]) -> None:
            order.append(f"received {frame['type']}")
            await super()._take(frame)

    transport = IngressTransport()
    async with LoopbackIngress(transport) as ingress, Watching(ingress.url, ingress.token, posts=True) as cli:
        await cli.dial()
        async with open_client(Options(transport="hybrid"), on_ask=_allow, transport=transport) as client:
            await client.run("ask ls")
    assert order.index("acknowledged control_request") < order.index("received control_response")


async def test_strangers_are_refused() -> None:
    async with on_the_line() as line:
        for url, token, status in (
            (line.ingress.url, None, 401),
            (line.ingress.url, "wrong", 401),
            (line.ingress.url + "x", line.ingress.token, 404),
        ):
            async with DiallingCLI(url, token) as stranger:
                with pytest.raises(InvalidStatus) as refused:
                    await stranger.dial()
                assert refused.value.response.status_code == status
                assert await stranger.post([]) == status
        assert await line.cli.post([]) == 200
        assert (await line.client.run("hello")).result == "hello"


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n",
        b"POST \0\r\n\r\n",
        b"x" * 100_000,
    ],
    ids=["tls", "no upgrade", "empty post", "broken post", "endless head"],
)
async def test_whatever_else_connects_does_no_harm(garbage: bytes) -> None:
    async with on_the_line() as line:
        port = int(line.ingress.url.rpartition(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(garbage)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        assert (await line.client.run("hello")).result == "hello"


async def test_posts_that_make_no_sense_are_refused() -> None:
    async with on_the_line(posts=True) as line:
        url = line.ingress.url.replace("ws://", "http://").replace("/ws/", "/session/") + "/events"
        headers = {"Authorization": f"Bearer {line.ingress.token}"}
        for body in (b"", b"no json", b"[]", b'{"events": 7}'):
            assert (await line.cli.http.post(url, content=body, headers=headers)).status_code == 400
        assert (await line.client.run("hello")).result == "hello"


async def test_what_strangers_post_is_not_read() -> None:
    async with on_the_line(posts=True) as line:
        where = urlsplit(line.ingress.url)
        path = where.path.replace("/ws/", "/session/") + "/events"
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 60000000\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            assert b" 401 " in await reader.read()
        writer.close()
        assert (await line.client.run("hello")).result == "hello"


async def test_a_line_over_the_limit_is_skipped_and_said() -> None:
    transport_notices: list[str] = []
    transport = IngressTransport(around=Surroundings(transport_notices.append))
    transport.link._max_line = 1000
    async with LoopbackIngress(transport) as ingress, DiallingCLI(ingress.url, ingress.token) as cli:
        await cli.dial()
        async with open_client(Options(transport="websocket"), transport=transport) as client:
            await cli.say_text("x" * 2000)
            assert (await client.run("short")).result == "short"
    assert transport_notices == [TOO_LONG]


async def test_a_message_over_the_limit_costs_a_socket_and_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "LONGEST_MESSAGE", 10_000)
    async with on_the_line() as line:
        for _ in range(2):
            await line.cli.say_text("x" * 20_000)
            assert await line.cli.closed() == 1009
            line.cli.forget_what_was_said()
            await line.cli.dial()
        assert (await line.client.run("short")).result == "short"
        assert line.notices == [TOO_MUCH]


async def test_framing_does_not_matter() -> None:
    transport = IngressTransport()
    async with LoopbackIngress(transport) as ingress:
        headers = {"Authorization": f"Bearer {ingress.token}"}
        async with connect(ingress.url, additional_headers=headers, proxy=None) as socket:
            assert socket.response is not None
            assert "permessage-deflate" in socket.response.headers["Sec-WebSocket-Extensions"]
            client = open_client(Options(transport="websocket"), transport=transport)
            opening = asyncio.create_task(client.__aenter__())
            asked = json.loads(await socket.recv())
            body = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
            text = json.dumps({"type": "control_response", "response": body}) + "\n"
            await socket.send(text[:10].encode())
            await socket.send(text[10:20])
            await socket.send([text[20:30], text[30:]])
            await asyncio.wait_for(opening, PATIENCE)
            await client.close()


async def test_each_of_our_lines_is_a_message_and_ends_in_a_newline() -> None:
    transport = IngressTransport()
    async with LoopbackIngress(transport) as ingress:
        await transport.open(_Nobody())
        headers = {"Authorization": f"Bearer {ingress.token}"}
        async with connect(ingress.url, additional_headers=headers, proxy=None) as socket:
            await transport.arrived.wait()
            transport.write(b'{"type":"user","uuid":"a"}\n{"type":"user","uuid":"b"}\n')
            assert [await socket.recv(), await socket.recv()] == [
                '{"type":"user","uuid":"a"}\n',
                '{"type":"user","uuid":"b"}\n',
            ]
            await until(lambda: not transport.link.needs_proof)
        await transport.close()


async def test_it_is_opened_once() -> None:
    transport = IngressTransport()
    await transport.open(_Nobody())
    with pytest.raises(LocalProtocolError):
        await transport.open(_Nobody())
    await transport.close()
    await transport.close()


class _Nobody:
    def data_received(self, data: bytes) -> None:
        return

    def connection_lost(self, exit_code: int | None) -> None:
        return
