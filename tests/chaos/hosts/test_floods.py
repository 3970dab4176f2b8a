"""Thousands of connections without a token, while a session on a host is used: it goes on as if they were not there."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from handrail.testing import simulated as sim

from .journals import until_equal
from .machines import HostMachine, HubMachine
from .simulating import CONFIG_OF_HOST, CONFIG_OF_HUB, simulated_cli, working

pytestmark = pytest.mark.slow

STRANGERS = 2_000
SILENT = 1_500
AT_ONCE = 100
FILES = 1024
"""How many files a process may have open on many systems: fewer than there are strangers."""
LONGEST = 15.0
"""Seconds for a message and its answer. Far more than it takes, also on a machine that does other things."""
PATHS = ("/api/hosts/link", "/api/live", "/v1/session_ingress/ws/5e55104e5e55104e", "/v1/session_ingress/ws/..%2f")
SENT_AWAY = b""
TOKENS = ("", "Authorization: Bearer hrh_nothing\r\n", "Authorization: Bearer " + "A" * 5_000 + "\r\n")


class Crowd:
    """Those who are not let in. Whoever says nothing stays until it is sent away, or the crowd goes home."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._writers: list[asyncio.StreamWriter] = []
        self.answers: Counter[str] = Counter()

    async def come(self) -> None:
        knocking = [self._knock(number) for number in range(STRANGERS)]
        standing = [self._stand_around(number) for number in range(SILENT)]
        await asyncio.gather(*knocking, *standing)

    async def go_home(self) -> None:
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _knock(self, number: int) -> None:
        async with self._gate:
            reader, writer = await self._connected()
            try:
                writer.write(self._request(number))
                answer = await reader.read(1000)
            except ConnectionResetError:  # it made room for others before it had said anything
                answer = SENT_AWAY
            self.answers[answer[9:12].decode()] += 1  # and it does not hang up

    async def _stand_around(self, number: int) -> None:
        async with self._gate:
            _, writer = await self._connected()
            if number % 2:
                writer.write(self._request(number)[: 40 + number % 50])

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._address.hostname, self._address.port)
        self._writers.append(writer)
        return reader, writer

    def _request(self, number: int) -> bytes:
        path, token = PATHS[number % len(PATHS)], TOKENS[number // len(PATHS) % len(TOKENS)]
        return (
            f"GET {path} HTTP/1.1\r\nHost: {self._address.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{token}\r\n"
        ).encode()


async def test_strangers_do_not_slow_a_session_down(tmp_path: Path) -> None:
    few_files = ("prlimit", f"--nofile={FILES}") if shutil.which("prlimit") else ()
    hub = HubMachine(tmp_path / "hub", config=CONFIG_OF_HUB, within=few_files)
    host = HostMachine(tmp_path / "host", config=CONFIG_OF_HOST)
    simulated_cli(host, sim.loop_turns("You said $text."))
    async with working(hub, host):
        session = await hub.start_session(host.project)
        crowd = Crowd(hub.url)
        coming = asyncio.create_task(crowd.come())
        took: list[float] = []
        try:
            while not coming.done() or len(took) < 3:
                began = time.monotonic()
                await hub.send(session, f"word {len(took)}")
                await hub.said(session, f"You said word {len(took)}.")
                took.append(time.monotonic() - began)
            await coming
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            await crowd.go_home()
        assert max(took) < LONGEST, took
        # Pages are let in to be told by a close code what is wrong.
        assert set(crowd.answers) <= {"401", "403", "101", ""}, crowd.answers
        assert sum(crowd.answers.values()) == STRANGERS
        assert (await hub.host())["state"] == "connected"
        assert "connected again" not in host.process.said
        await until_equal(hub.database, host.journal, session)
        average = sum(took) / len(took)
        print(f"{len(took)} messages and answers meanwhile: {average:.2f} s on average, {max(took):.2f} s at most")
