"""Setting the bridge up: the token is tried, a code finds the person, and nothing is written before the end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from handrail.cli.telegramming.asking_telegram import NobodyCame
from handrail.cli.telegramming.places import bridge_database, bridge_lease
from handrail.config import Telegram, TelegramUser
from handrail.config.bot_token import find_token, remember_token
from handrail.config.keys import TOKEN_VARIABLE
from handrail.errors import ConfigError, HandrailError
from handrail.telegram.bot import TelegramBot
from handrail.telegram.lease import BotInUse
from handrail.telegram.state import BridgeState
from handrail.testing import TelegramServer

from .support import Machine, Prepared, code_in


async def test_somebody_is_let_in_by_the_code(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        dialogue = Prepared(server.token)
        chat = server.user(id=1001, first_name="Ann", last_name="Lee", username="ann").private_chat()
        setting_up = machine.setup(server, dialogue)
        code = await code_in(dialogue)
        await chat.send("hello?")
        await chat.wait_for_text("That is not the code that is shown on the terminal.")
        assert not machine.is_written
        await chat.send(f"/start {code}")
        assert await setting_up == 0
        assert "You may use this bot as owner:" in chat.messages[-1].text
        assert server.pending_updates == 0
    assert machine.config.telegram.users == (TelegramUser(id=1001, name="Ann Lee", role="owner"),)
    assert machine.config.telegram.api_url == server.url
    assert (token := find_token(machine.places, machine.config.telegram, {})) is not None
    assert token.value == server.token
    assert "Ann Lee (@ann, id 1001) sent the code" in dialogue.said
    assert "handrail serve" in dialogue.said
    assert server.token not in dialogue.said


@pytest.mark.slow
async def test_a_second_run_keeps_bot_and_people_and_adds_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        server.user(id=1001, first_name="Ann").private_chat()
        await machine.setup(server, Prepared(server.token), user=1001, name="Ann", role="owner")
        dialogue = Prepared()
        chat = server.user(id=1002, first_name="Bob").private_chat()
        setting_up = machine.setup(server, dialogue)
        await chat.send(await code_in(dialogue))
        assert await setting_up == 0
    assert "as before" in dialogue.said
    assert [(user.name, user.role) for user in machine.config.telegram.users] == [("Ann", "owner"), ("Bob", "approver")]


@pytest.mark.slow
async def test_what_others_write_meanwhile_is_kept_for_the_bridge(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        ann = server.user(id=1001, first_name="Ann").private_chat()
        await machine.setup(server, Prepared(server.token), user=1001, name="Ann")
        dialogue = Prepared()
        await ann.send("Fix the test.")
        setting_up = machine.setup(server, dialogue)
        chat = server.user(id=1002, first_name="Bob").private_chat()
        await chat.send(await code_in(dialogue))
        await setting_up
        async with BridgeState(bridge_database(machine.places, server.bot.id)) as state:
            (kept,) = await state.read(lambda tables: tables.undone())
    assert msgspec.json.decode(kept.body)["message"]["text"] == "Fix the test."


@pytest.mark.slow
async def test_a_wrong_token_can_be_typed_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        dialogue = Prepared("nonsense", "123456:AAAA-not-this-one", server.token)
        await machine.setup(server, dialogue, user=5, name="Eve", role="viewer")
        assert "that is no token" in dialogue.said
        assert "Telegram does not know this token" in dialogue.said
        with pytest.raises(ConfigError, match="without the token of a bot"):
            await machine.setup(server, Prepared("a", "b", "c", server.token), new_bot=True)
    assert machine.config.telegram.users == (TelegramUser(id=5, name="Eve", role="viewer"),)
    assert "has to write to the bot first" in dialogue.said


@pytest.mark.slow
async def test_a_token_that_was_revoked_is_asked_for_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        await machine.setup(server, Prepared(server.token), user=1, name="Ann", role="owner")
    async with TelegramServer("123456:another-token-of-the-same-bot") as server:
        dialogue = Prepared(server.token)
        await machine.setup(server, dialogue, user=1, name="Ann", role="owner")
        assert "the token that is there is no good any more" in dialogue.said
        assert (token := find_token(machine.places, machine.config.telegram, {})) is not None
        assert token.value == server.token
        machine.environ[TOKEN_VARIABLE] = "1:wrong"
        with pytest.raises(ConfigError, match="the token in HANDRAIL_TELEGRAM_TOKEN is no good"):
            await machine.setup(server, Prepared())


async def test_a_file_that_holds_no_token_is_written_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    remember_token(machine.places, Telegram(), "oops")
    async with TelegramServer() as server:
        await machine.setup(server, Prepared(server.token), user=1, name="Ann", role="owner")
        assert (token := find_token(machine.places, machine.config.telegram, {})) is not None
        assert token.value == server.token


async def test_a_token_of_the_environment_is_not_written(tmp_path: Path) -> None:
    async with TelegramServer() as server:
        machine = Machine(tmp_path, {TOKEN_VARIABLE: server.token})
        await machine.setup(server, Prepared(), user=1, name="Ann", role="owner")
    assert find_token(machine.places, machine.config.telegram, {}) is None


@pytest.mark.slow
async def test_nobody_comes(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        with pytest.raises(NobodyCame, match="again for a new one"):
            await machine.setup(server, Prepared(server.token), seconds=0.2)
    assert not machine.is_written
    assert find_token(machine.places, machine.config.telegram, {}) is None


async def test_telegram_cannot_be_reached(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with pytest.raises(HandrailError, match=r"check the network, and the address http://127\.0\.0\.1:9") as caught:
        await machine.setup("http://127.0.0.1:9", Prepared("123456:AAAA-secret-secret-secret"))
    assert "secret" not in str(caught.value)


@pytest.mark.slow
async def test_the_way_is_lost_for_a_while(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        dialogue = Prepared(server.token)
        chat = server.user(id=1001, first_name="Ann").private_chat()
        server.faults.drop_connections(2, methods=["getUpdates"])
        setting_up = machine.setup(server, dialogue)
        await chat.send(await code_in(dialogue))
        assert await setting_up == 0
    assert dialogue.said.count("trying again") == 1
    assert server.token not in dialogue.said


@pytest.mark.slow
async def test_a_bot_of_another_program_is_left_to_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        async with TelegramBot(server.token, api_url=server.url) as other:
            await other.set_webhook("https://elsewhere.example/hook", secret="x")
        with pytest.raises(HandrailError, match=r"they are sent to https://elsewhere\.example/hook"):
            await machine.setup(server, Prepared(server.token))


@pytest.mark.slow
async def test_a_process_that_does_not_let_go_of_the_bot_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path)
    monkeypatch.setattr("handrail.cli.telegramming.setup.LETTING_GO", 0.1)
    async with TelegramServer() as server:
        with bridge_lease(machine.places, server.bot.id), pytest.raises(BotInUse, match="runs the bridge of bot"):
            await machine.setup(server, Prepared(server.token))


async def test_a_name_that_hides_something_is_not_written(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with TelegramServer() as server:
        with pytest.raises(ConfigError, match="no hidden characters"):
            await machine.setup(server, Prepared(server.token), user=1, name="\u202eAnn", role="owner")
    assert not machine.is_written
