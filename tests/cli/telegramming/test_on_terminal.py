"""Setting up on a real terminal: what is typed, what is shown, and what a Ctrl-C leaves behind."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from handrail.config import TelegramUser
from handrail.testing import TelegramServer

from ..support import OnTerminal
from .support import Machine

pytestmark = pytest.mark.slow


def terminal(machine: Machine, *words: str) -> OnTerminal:
    names = ("config", "state", "cache", "runtime")
    places = {f"HANDRAIL_{name.upper()}_DIR": getattr(machine.places, name) for name in names}
    return OnTerminal("telegram", "setup", *words, rows=60, **places)


async def test_a_person_is_led_through_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        chat = server.user(id=1001, first_name="Ann").private_chat()
        with terminal(machine, "--api-url", server.url) as shown:
            await asyncio.to_thread(shown.wait_to_see, "Token")
            shown.type(server.token)
            await asyncio.to_thread(shown.wait_to_see, "waiting for the code")
            found = re.search(r"start=(\d{8})", shown.text)
            assert found is not None
            await chat.send(found[1])
            await asyncio.to_thread(shown.wait_to_see, "Number or name [owner]")
            shown.type("7")
            await asyncio.to_thread(shown.wait_to_see, "there is no '7'")
            shown.type("2")
            await asyncio.to_thread(shown.wait_to_see, "Name in the hub [Ann]")
            shown.type("Ann Lee")
            assert await asyncio.to_thread(shown.exit_code) == 0
            assert server.token not in shown.text
    assert machine.config.telegram.users == (TelegramUser(id=1001, name="Ann Lee", role="approver"),)


@pytest.mark.parametrize("key", ["\x03", "\x04"])
async def test_who_gives_up_leaves_nothing_behind(tmp_path: Path, key: str) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        with terminal(machine, "--api-url", server.url) as shown:
            await asyncio.to_thread(shown.wait_to_see, "Token")
            shown.press(key)
            assert await asyncio.to_thread(shown.exit_code) == 130
            assert "Given up: nothing was changed." in shown.text
    assert not machine.is_written


async def test_who_gives_up_while_the_code_is_waited_for_leaves_nothing_behind(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        with terminal(machine, "--api-url", server.url) as shown:
            await asyncio.to_thread(shown.wait_to_see, "Token")
            shown.type(server.token)
            await asyncio.to_thread(shown.wait_to_see, "waiting for the code")
            shown.press("\x03")
            assert await asyncio.to_thread(shown.exit_code) == 130
            assert "Traceback" not in shown.text
    assert not machine.is_written
