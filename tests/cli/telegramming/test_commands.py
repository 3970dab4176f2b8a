"""`handrail telegram` on the command line: what it refuses, what it shows, and that a hub runs the bridge."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from handrail.cli.app import app
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.checkup.telegram import check_telegram
from handrail.config import Telegram, TelegramUser
from handrail.config.bot_token import remember_token
from handrail.config.editing import add_telegram_user
from handrail.store import SqliteStore
from handrail.store.place import store_path
from handrail.testing import TelegramServer
from handrail.testing.simulated import SimulatedCLI
from handrail.testing.telegram import Chat
from handrail.transports.process_tree import MARKER_VARIABLE

from ...server.support import ASKS, served_hub
from .support import Machine

TOKEN = "123456:TEST-token-of-a-bot-that-does-not-exist"


def environment(machine: Machine) -> dict[str, str]:
    names = ("config", "state", "cache", "runtime")
    return {f"HANDRAIL_{name.upper()}_DIR": getattr(machine.places, name) for name in names}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    for name, value in environment(machine).items():
        monkeypatch.setenv(name, value)
    return machine


def handrail(*words: str, code: int = 0, env: Mapping[str, str] | None = None) -> str:
    done = CliRunner().invoke(app, words, env=env, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_alone_it_needs_a_token_and_people(machine: Machine) -> None:
    assert "run `handrail telegram setup`" in handrail("telegram", code=2)
    remember_token(machine.places, Telegram(), TOKEN)
    assert "nobody may use the bridge" in handrail("telegram", code=2)
    add_telegram_user(machine.places, TelegramUser(id=1, name="Ann"))
    assert "telegram.enabled is false" in handrail("telegram", code=2, env={"HANDRAIL_TELEGRAM_ENABLED": "false"})


def test_claude_can_neither_set_it_up_nor_run_it(machine: Machine) -> None:
    for words in (["telegram"], ["telegram", "setup", "--user", "1"]):
        assert "inside a session" in handrail(*words, code=3, env={MARKER_VARIABLE: "1-2"})


def test_status_says_what_is_missing(machine: Machine) -> None:
    shown = handrail("telegram", "status", code=1)
    assert "not set up" in shown
    assert "handrail serve" not in shown, "that would not run it"
    add_telegram_user(machine.places, TelegramUser(id=1, name="Ann"))
    assert "the token of it is missing" in handrail("telegram", "status", "--offline", code=1)
    path = remember_token(machine.places, Telegram(), TOKEN)
    os.chmod(path, 0o644)
    shown = json.loads(handrail("telegram", "status", "--offline", "--json", code=1))
    assert shown["runs"] is False
    assert [finding["status"] for finding in shown["findings"]] == ["attention", "good", "attention"]
    assert "set up for Ann (owner)" in shown["findings"][1]["text"]
    assert TOKEN not in str(shown)


def test_doctor_warns_of_a_token_that_travels_in_the_open(machine: Machine) -> None:
    remember_token(machine.places, Telegram(), TOKEN)
    add_telegram_user(machine.places, TelegramUser(id=1, name="Ann"), api_url="http://bots.example.net")
    first, second = check_telegram(Surroundings(machine.places, {}, "/"))
    assert (first.status, second.status) == ("attention", "good")
    assert "unencrypted" in first.text


async def test_doctor_asks_telegram_only_if_it_is_told_to(machine: Machine) -> None:
    async with TelegramServer() as server:
        remember_token(machine.places, Telegram(), server.token)
        add_telegram_user(machine.places, TelegramUser(id=1, name="Ann"), api_url=server.url)
        around = Surroundings(machine.places, {}, "/")
        assert [each.status for each in check_telegram(around)] == ["good"]
        assert not server.calls
        online = Surroundings(machine.places, {}, "/", online=True)
        found = await asyncio.to_thread(lambda: list(check_telegram(online)))
        assert found[-1].text == "Telegram knows the bot: @handrail_test_bot"
        remember_token(machine.places, Telegram(), "123456:not-the-token")
        found = await asyncio.to_thread(lambda: list(check_telegram(online)))
        assert (found[-1].status, found[-1].fix) == ("broken", "handrail telegram setup --new-bot")


# ---------------------------------------------------------------- in processes of their own


@pytest.mark.slow
async def test_a_hub_runs_the_bridge_through_its_own_socket(tmp_path: Path) -> None:
    """The hub's process calls itself then: it is no session, and Ann may allow what a session of it asks."""
    machine = Machine(tmp_path)
    cli = SimulatedCLI(ASKS, directory=tmp_path)
    claude = {"HANDRAIL_CLAUDE_CLI_PATH": str(cli.path), "HANDRAIL_TELEGRAM_CWD": str(tmp_path)}
    serve = ("serve", "--port", "0", "--no-browser")
    async with TelegramServer() as server, serving_ann(machine, server, *serve, **claude) as chat:
        await chat.send("Clean up.")
        ask = await chat.wait(lambda messages: next((each for each in messages if each.buttons), None), 60)
        await ask.press("Allow", by=server.user(id=1001, first_name="Ann"))
        assert await chat.wait(lambda messages: [each for each in messages if "All clean." in each.text], 60)
    async with SqliteStore(store_path(machine.places)) as store:
        (row,) = await store.asks()
    assert (row.decided_by, row.surface, row.state) == ("Ann", "telegram", "sent")


@pytest.mark.slow
async def test_the_bridge_runs_alone_for_a_hub_elsewhere(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server, served_hub(tmp_path / "hub") as served:
        who = {"HANDRAIL_HUB": served.url, "HANDRAIL_TOKEN": served.tokens["owner"]}
        async with serving_ann(machine, server, "telegram", **who) as chat:
            await chat.send("/status")
            assert await chat.wait(lambda messages: [each for each in messages if each.text != "/status"], 60)


@pytest.mark.slow
async def test_alone_it_ends_where_the_hub_does_not_let_it_act(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server, served_hub(tmp_path / "hub") as served:
        set_up(machine, server)
        who = {"HANDRAIL_HUB": served.url, "HANDRAIL_TOKEN": served.tokens["approver"]}
        process = await started(machine, "telegram", **who)
        _, errors = await process.communicate()
    assert process.returncode == 1
    assert b"acting for somebody else needs the role owner" in errors


def set_up(machine: Machine, server: TelegramServer) -> None:
    remember_token(machine.places, Telegram(), server.token)
    add_telegram_user(machine.places, TelegramUser(id=1001, name="Ann"), api_url=server.url)


async def started(machine: Machine, *words: str, **env: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail", *words),
        env={"PATH": os.environ["PATH"], "HOME": str(machine.directory), **environment(machine), **env},
        cwd=machine.directory,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@asynccontextmanager
async def serving_ann(machine: Machine, server: TelegramServer, *words: str, **env: str) -> AsyncIterator[Chat]:
    """A command that serves Ann, and her chat with the bot. It ends gently, and tells nobody the token."""
    set_up(machine, server)
    process = await started(machine, *words, **env)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while b"Telegram is on: @handrail_test_bot, for Ann (owner)" not in (
                line := await process.stdout.readline()
            ):
                assert line, "it ended"
        yield server.user(id=1001, first_name="Ann").private_chat()
    finally:
        process.terminate()
        _, errors = await process.communicate()
    assert process.returncode == 0
    assert server.token.encode() not in errors
    assert b"Traceback" not in errors, errors.decode()
