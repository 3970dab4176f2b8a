"""`python -m handrail.testing telegram`."""

from __future__ import annotations

import asyncio
import signal
import sys

import httpx2
import pytest

from handrail.testing.__main__ import main


@pytest.mark.slow
async def test_it_serves_until_it_is_interrupted() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail.testing", "telegram", "--port", "0", "--token", "42:test"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    lines = [(await asyncio.wait_for(process.stdout.readline(), 30)).decode() for _ in range(4)]
    url = lines[0].split()[2]
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        me = (await client.get(f"{url}/bot42:test/getMe")).json()
        chats = (await client.get(f"{url}/_playground/state")).json()["chats"]
    assert me["result"]["id"] == 42
    assert [member["name"] for chat in chats for member in chat["members"]] == ["Ann", "Bob", "Ann", "Bob"]
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 30) == 0


def test_a_token_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["telegram", "--port", "0", "--token", "nothing"]) == 1
    assert "is not the token of a bot" in capsys.readouterr().err


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "telegram" in capsys.readouterr().err
