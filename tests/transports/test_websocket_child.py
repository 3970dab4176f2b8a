"""A CLI that we start ourselves and that dials in."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import DialRefused, ProcessExited
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions.client import connect
from handrail.sessions.manager import Manager

PROGRAM = Path(__file__).with_name("dialling_program.py")
PATIENCE = 60.0


@pytest.fixture
def cli_path(tmp_path: Path) -> str:
    path = tmp_path / "claude"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def options(cli_path: str, **more: Any) -> Options:
    return Options(**{"cli_path": cli_path, "transport": "websocket", **more})


@pytest.mark.slow
async def test_it_dials_in_and_ends_with_the_client(cli_path: str) -> None:
    async with connect(options(cli_path)) as client:
        assert (await client.run("hello")).result == "hello"
        pid = client.pid
        assert pid is not None
        assert "CLAUDE_CODE_SESSION_ACCESS_TOKEN" not in _environment(pid)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def _environment(pid: int) -> str:
    path = Path(f"/proc/{pid}/environ")
    return path.read_text() if path.exists() else ""


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"transport": "hybrid"}, {"access_token_by": "environment"}], ids=str)
async def test_other_ways_to_dial(cli_path: str, how: dict[str, Any]) -> None:
    async def allow(ask: Any) -> Allow:
        return Allow()

    async with connect(options(cli_path, **how), on_ask=allow) as client:
        assert (await client.run("ask ls")).result == "done"


@pytest.mark.slow
async def test_a_version_that_refuses_is_not_started(cli_path: str) -> None:
    wanted = options(cli_path, env={"PLAYED_VERSION": "2.1.121 (Claude Code)"})
    with pytest.raises(DialRefused, match=r"2\.1\.121"):
        async with connect(wanted):
            pytest.fail("it was opened")


@pytest.mark.slow
async def test_a_refusal_is_recognised_by_its_words(cli_path: str) -> None:
    words = 'Error: --sdk-url rejected: host "127.0.0.1" is not an approved Anthropic endpoint.'
    with pytest.raises(DialRefused, match="not an approved"):
        async with connect(options(cli_path, env={"PLAYED_ERROR": words})):
            pytest.fail("it was opened")


@pytest.mark.slow
async def test_an_exit_before_it_dialled_is_told_with_its_words(cli_path: str) -> None:
    with pytest.raises(ProcessExited, match="no conversation found") as raised:
        async with connect(options(cli_path, env={"PLAYED_ERROR": "no conversation found"})):
            pytest.fail("it was opened")
    assert raised.value.exit_code == 1


@pytest.mark.slow
async def test_a_process_that_dies_is_gone_at_once(cli_path: str) -> None:
    async def nobody(ask: Any) -> None:
        """Leave it open."""

    async with connect(options(cli_path), on_ask=nobody) as client:
        turn = asyncio.create_task(client.run("ask anything"))
        async with asyncio.timeout(PATIENCE):
            while not client.asks:
                await asyncio.sleep(0.01)
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        with pytest.raises(ProcessExited, match="signal 9"):
            await asyncio.wait_for(turn, PATIENCE)


@pytest.mark.slow
async def test_a_durable_session_dials_in(cli_path: str, tmp_path: Path) -> None:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    async with Manager.local(places) as manager:
        session = await manager.start(options(cli_path, cwd=str(tmp_path)))
        assert (await session.run("hello")).answer == "hello"
        assert (await session.row()).status == "idle"
        await session.stop()
        await session.resume()
        assert (await session.run("again")).answer == "again"
