"""The bridge as the settings want it: on and off, changed while it runs, and never the end of anything else."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from handrail import Hub
from handrail.cli.telegramming import service
from handrail.cli.telegramming.pausing import paused
from handrail.cli.telegramming.places import bridge_lease
from handrail.cli.telegramming.service import TelegramService
from handrail.cli.telegramming.wanted import WantedBridge
from handrail.config import Telegram, TelegramUser
from handrail.config.bot_token import remember_token
from handrail.config.editing import add_telegram_user, set_value
from handrail.remote.errors import HubError
from handrail.telegram.bot_errors import TokenInvalid
from handrail.telegram.bridge import Bridge
from handrail.telegram.lease import BotInUse
from handrail.testing import TelegramServer

from ...server.support import ServedHub, served_hub
from .support import Machine, eventually

ANN = TelegramUser(id=1001, name="Ann")


class Around:
    """A hub, Telegram, and the service between them, with all that it said."""

    def __init__(self, machine: Machine, server: TelegramServer, served: ServedHub) -> None:
        self.machine = machine
        self.server = server
        self.served = served
        self.said: list[str] = []
        self.hub_token = served.tokens["owner"]

    def set_up(self, *users: TelegramUser) -> None:
        remember_token(self.machine.places, Telegram(), self.server.token)
        for user in users:
            add_telegram_user(self.machine.places, user, api_url=self.server.url)

    def take_everybody_out(self) -> None:
        file = Path(self.machine.places.config_file)
        file.write_text(file.read_text().partition("[[telegram.users]]")[0])

    def change(self, key: str, *values: str) -> None:
        set_value(self.machine.places, key, values)

    def service(self, *fatal: type[Exception]) -> TelegramService:
        wanted = WantedBridge(self.machine.places, {}, every=0.05)
        return TelegramService(
            wanted,
            lambda: Hub(self.served.url, self.hub_token),
            self.machine.places,
            lambda colour, text: self.said.append(text),
            is_fatal=lambda error: isinstance(error, fatal),
        )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.service().run())
        try:
            yield
        finally:
            assert not task.done(), task
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def hears(self, words: str) -> str:
        """What the service said, once it has."""
        found = await eventually(lambda: next((each for each in self.said if words in each), None))
        self.said.clear()
        return str(found)


@pytest.fixture
async def around(tmp_path: Path) -> AsyncIterator[Around]:
    async with TelegramServer() as server, served_hub(tmp_path / "hub") as served:
        yield Around(Machine(tmp_path / "machine"), server, served)


@pytest.mark.slow
async def test_it_is_on_once_it_is_set_up_and_off_when_that_is_said(around: Around) -> None:
    async with around.serving():
        around.set_up(ANN)
        assert await around.hears("Telegram is on") == "Telegram is on: @handrail_test_bot, for Ann (owner)"
        chat = around.server.user(id=1001, first_name="Ann").private_chat()
        await chat.send("/help")
        assert await chat.wait(lambda messages: [each for each in messages if "/sessions" in each.text])
        around.change("telegram.enabled", "false")
        await around.hears("Telegram is off: the settings say so")
        with bridge_lease(around.machine.places, around.server.bot.id):
            pass


@pytest.mark.slow
async def test_it_is_said_to_be_on_once_the_bot_is_leased_and_telegram_answers(around: Around) -> None:
    around.set_up(ANN)
    around.server.faults.fail("getUpdates", 502, "Bad Gateway", 2)
    async with around.serving():
        await around.hears("Telegram is on")
        assert [call.status for call in around.server.calls_of("getUpdates")][:3] == [502, 502, 200]
        with pytest.raises(BotInUse), bridge_lease(around.machine.places, around.server.bot.id):
            pass


@pytest.mark.slow
async def test_with_a_webhook_it_is_said_to_be_on_once_telegram_has_taken_it(around: Around) -> None:
    around.set_up(ANN)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    around.change("telegram.webhook_url", f"http://127.0.0.1:{port}/telegram")
    around.change("telegram.webhook_listen", f"127.0.0.1:{port}")
    around.server.faults.fail("setWebhook", 502, "Bad Gateway", 1)
    async with around.serving():
        await around.hears("Telegram is on")
        assert [call.status for call in around.server.calls_of("setWebhook")] == [502, 200]
        assert not around.server.calls_of("getUpdates")


@pytest.mark.slow
async def test_while_somebody_else_has_the_bot_it_is_not_said_to_be_on(around: Around) -> None:
    around.set_up(ANN)
    with bridge_lease(around.machine.places, around.server.bot.id):
        async with around.serving():
            assert "already" in await around.hears("Telegram is off for now")
            assert not around.said
            assert not around.server.calls_of("getUpdates")


@pytest.mark.slow
async def test_changes_are_taken_over_while_it_runs(around: Around) -> None:
    around.set_up(ANN)
    async with around.serving():
        await around.hears("Telegram is on")
        chat = around.server.user(id=1002, first_name="Bob").private_chat()
        add_telegram_user(around.machine.places, TelegramUser(id=1002, name="Bob", role="viewer"))
        await around.hears("goes on with the new settings, for Ann (owner), Bob (viewer)")
        await chat.send("/help")
        assert await chat.wait(lambda messages: [each for each in messages if "/sessions" in each.text])
        with damaged(Path(around.machine.places.config_file)):
            assert "line" in await around.hears("Telegram goes on as before")
        remember_token(around.machine.places, Telegram(), "123456:not-the-token")
        await around.hears("Telegram is off: Telegram does not know this bot token")
        remember_token(around.machine.places, Telegram(), around.server.token)
        await around.hears("Telegram is on")


@pytest.mark.slow
async def test_when_the_last_person_is_taken_out_nobody_is_served_any_more(around: Around) -> None:
    around.set_up(ANN)
    async with around.serving():
        await around.hears("Telegram is on")
        around.take_everybody_out()
        await around.hears("Telegram is off: nobody may use the bridge")
        with bridge_lease(around.machine.places, around.server.bot.id):
            pass


@pytest.mark.slow
async def test_a_token_that_telegram_does_not_know_for_a_moment_is_tried_again(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TOKEN_UNKNOWN", 0.1)
    around.set_up(ANN)
    around.server.faults.fail("getMe", 404, "Not Found", 2)
    async with around.serving():
        await around.hears("Telegram is off")
        await around.hears("Telegram is on")


@contextmanager
def damaged(file: Path) -> Iterator[None]:
    before = file.read_text()
    file.write_text(before + "\nnonsense\n")
    yield
    file.write_text(before)


async def test_without_people_it_does_not_run(around: Around) -> None:
    around.set_up()
    async with around.serving():
        await around.hears("Telegram is off: nobody may use the bridge")
        assert not around.server.calls_of("getUpdates")


@pytest.mark.slow
async def test_it_rests_while_somebody_is_let_in(around: Around) -> None:
    around.set_up(ANN)
    async with around.serving():
        await around.hears("Telegram is on")
        is_enough = threading.Event()
        taken = asyncio.create_task(asyncio.to_thread(_take_it, around, is_enough))
        await around.hears("Telegram rests while somebody is let in")
        is_enough.set()
        await taken
        await around.hears("Telegram is on")


def _take_it(around: Around, is_enough: threading.Event) -> None:
    with paused(around.machine.places, around.server.bot.id, patience=30):
        assert is_enough.wait(30)


@pytest.mark.slow
async def test_a_mistake_of_the_bridge_is_said_and_it_is_tried_again(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, failures = Bridge.run, iter([RuntimeError("no idea"), ExceptionGroup("two", [ValueError("one"), OSError()])])

    async def sometimes(bridge: Any) -> None:
        failure = next(failures, None)
        if failure is not None:
            raise failure
        await run(bridge)

    monkeypatch.setattr(Bridge, "run", sometimes)
    around.set_up(ANN)
    async with around.serving():
        await around.hears("the Telegram bridge failed (no idea): trying again")
        await around.hears("the Telegram bridge failed (one; OSError): trying again")
        await around.hears("Telegram is on")


@pytest.mark.slow
async def test_a_hub_that_does_not_let_it_act_is_said(around: Around) -> None:
    around.set_up(ANN)
    around.hub_token = around.served.tokens["approver"]
    async with around.serving():
        await around.hears("acting for somebody else needs the role owner")
    with pytest.raises(HubError):
        await around.service(HubError).run()


async def test_alone_a_wrong_token_is_the_end(around: Around) -> None:
    around.set_up(ANN)
    remember_token(around.machine.places, Telegram(), "123456:not-the-token")
    with pytest.raises(TokenInvalid):
        await around.service(TokenInvalid).run()
