"""How updates come: by asking, for as long as nobody else does, or through a webhook."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from handrail.errors import ConfigError
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bot_errors import TokenInvalid
from handrail.telegram.lease import BotInUse, BotLease
from handrail.telegram.polling import Polling
from handrail.telegram.state import BridgeState
from handrail.testing import TelegramServer

from .support import World, eventually, world


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_bot_is_leased_to_one_at_a_time(tmp_path: Path) -> None:
    with BotLease(str(tmp_path), 7):
        with pytest.raises(BotInUse, match="this process runs the bridge of bot 7 already"), BotLease(str(tmp_path), 7):
            pass
        with BotLease(str(tmp_path), 8):
            pass
    with BotLease(str(tmp_path), 7):
        pass


async def test_a_lease_of_another_process_names_it_and_ends_with_it(tmp_path: Path) -> None:
    script = (
        "import sys; from handrail.telegram.lease import BotLease\n"
        "with BotLease(sys.argv[1], 7): print('held', flush=True); sys.stdin.read()"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(tmp_path)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"
    with pytest.raises(BotInUse, match=f"process {process.pid} runs") as refused, BotLease(str(tmp_path), 7):
        pass
    assert refused.value.pid == process.pid
    process.kill()
    await process.wait()
    with BotLease(str(tmp_path), 7):
        pass


@pytest.mark.slow
async def test_who_is_told_that_another_one_asks_gives_way_and_says_so(tmp_path: Path) -> None:
    troubles: list[str] = []
    kept: list[bytes] = []

    async def keep(bodies: object) -> None:
        kept.extend(bodies)  # type: ignore[arg-type]

    async with TelegramServer(pace=None) as server, BridgeState(str(tmp_path / "t.db")) as state:
        chat = server.user(id=1001, first_name="Ann").private_chat()
        async with TelegramBot(server.token, api_url=server.url) as bot:
            server.faults.fail(
                "getUpdates", 409, "Conflict: terminated by other getUpdates request; make sure that only one", times=2
            )
            polling = Polling(bot, state, keep, troubles.append, timeout=1, first_conflict=0.05)
            task = asyncio.create_task(polling.run())
            await chat.send("hello")
            await eventually(lambda: kept)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    told = [words for words in troubles if words]
    assert len(told) == 2
    assert "another program asks for them with the same token" in told[0]
    assert server.token not in "".join(told)


async def test_a_token_that_nobody_knows_ends_it(tmp_path: Path) -> None:
    async with (
        TelegramServer(pace=None) as server,
        BridgeState(str(tmp_path / "t.db")) as state,
        TelegramBot("1:wrong", api_url=server.url) as bot,
    ):
        with pytest.raises(TokenInvalid):
            await Polling(bot, state, _nowhere, lambda words: None).run()


async def _nowhere(bodies: object) -> None:
    raise AssertionError(bodies)


@pytest.mark.slow
async def test_a_second_bridge_of_the_same_bot_refuses_to_run(echo: World) -> None:
    async with echo.opened() as (second, _):
        with pytest.raises(BotInUse):
            await second.run()
    await echo.say("hello")
    await echo.hears("You said hello.")


@pytest.mark.slow
async def test_updates_come_through_a_webhook(tmp_path: Path) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}/my%20bot"
    async with world(tmp_path, webhook_url=address, webhook_listen=f"127.0.0.1:{port}") as here:
        async with here.bridged():
            await eventually(lambda: here.telegram.calls_of("setWebhook"))
            await here.say("hello")
            await here.hears("You said hello.")
            async with httpx2.AsyncClient(trust_env=False) as client:
                assert (await client.post(address, content=b"{}")).status_code == 401
                assert (await client.get(address)).status_code == 405
                assert (await client.post(f"http://127.0.0.1:{port}/other")).status_code == 404
            assert not here.telegram.calls_of("getUpdates")
        async with here.bridged(webhook_url="", webhook_listen=""):  # our own webhook is ours to remove
            await here.say("and now?")
            await here.hears("You said and now?.")


@pytest.mark.slow
async def test_a_webhook_of_others_is_left_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        async with TelegramBot(here.telegram.token, api_url=here.telegram.url) as bot:
            await bot.set_webhook("http://127.0.0.1:9/elsewhere", secret="secret")
        async with here.bridged() as bridge:
            await eventually(lambda: "the webhook http://127.0.0.1:9/elsewhere" in bridge.last_error)
            assert not here.telegram.calls_of("deleteWebhook")


@pytest.mark.slow
async def test_an_address_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        taken_address: dict[str, Any] = {"webhook_url": "http://127.0.0.1/x", "webhook_listen": f"127.0.0.1:{port}"}
        async with world(tmp_path, **taken_address) as here, here.opened() as (bridge, _):
            with pytest.raises(ConfigError, match="cannot be listened on"):
                await bridge.run()
