"""The outbox and the bot against a Bot API server that counts, validates, and fails as it is told to."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from handrail.telegram.bot import TelegramBot
from handrail.telegram.model import GONE, Attachment, Button, Place, Priority
from handrail.telegram.outbox import Outbox, Pace
from handrail.telegram.state import BridgeState
from handrail.telegram.text.rich import plain
from handrail.testing import TelegramPace, TelegramServer
from handrail.testing.telegram import Chat, User

from .support import ANN, QUICK, database, message, progress, running, text, want, want_all

BUTTONS = ((Button("Allow", token="t"), Button("Deny", token="d")),)


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(pace=None) as server:
        yield server


@pytest.fixture
def ann(server: TelegramServer) -> User:
    return server.user(id=ANN.chat, first_name="Ann")


@pytest.fixture
def chat(ann: User) -> Chat:
    return ann.private_chat()


@asynccontextmanager
async def writing(state: BridgeState, server: TelegramServer, pace: Pace = QUICK) -> AsyncIterator[Outbox]:
    async with TelegramBot(server.token, api_url=server.url) as bot, running(state, bot, pace=pace) as outbox:
        yield outbox


def texts(chat: Chat) -> list[str]:
    return [one.text or one.caption or "" for one in chat.bot_messages]


def files_with(words: str, directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if words.encode() in path.read_bytes()]


async def test_a_message_comes_changes_and_goes(state: BridgeState, server: TelegramServer, chat: Chat) -> None:
    async with writing(state, server) as outbox:
        await state.write(want("m", text("Allow?", buttons=BUTTONS, sound=True)))
        await outbox.idle()
        (shown,) = chat.bot_messages
        assert [button.data for row in shown.buttons for button in row] == ["t", "d"]
        await state.write(want("m", "Allowed"))
        await outbox.idle()
        assert (texts(chat), list(chat.bot_messages[0].buttons)) == (["Allowed"], [])
        await state.write(want("m", GONE))
        await outbox.idle()
    assert texts(chat) == []


async def test_a_prompt_that_is_answered_is_shown_anew(state: BridgeState, server: TelegramServer, chat: Chat) -> None:
    async with writing(state, server) as outbox:
        await state.write(want("m", text("Why not?", placeholder="Your reason")))
        await outbox.idle()
        await state.write(want("m", "Denied"))
        await outbox.idle()
    assert texts(chat) == ["Denied"]


async def test_files_drafts_and_signs_of_life(state: BridgeState, server: TelegramServer, chat: Chat) -> None:
    async with writing(state, server) as outbox:
        outbox.draft(ANN, 5, plain("think"))
        outbox.action(ANN)
        await state.write(want("m", text("Whole answer", attachment=Attachment("answer.md", b"# Yes"))))
        await outbox.idle()
        await state.write(want("m", text("The answer", attachment=Attachment("answer.md", b"# Yes"))))
        await outbox.idle()
    (shown,) = chat.bot_messages
    assert (shown.caption, shown.document) == ("The answer", b"# Yes")
    assert len(chat.drafts) == 1
    assert len(chat.actions) == 1


@pytest.mark.slow
async def test_faults_of_the_network(state: BridgeState, server: TelegramServer, chat: Chat) -> None:
    async with writing(state, server) as outbox:
        server.faults.drop_connections(2, methods=["sendMessage"])
        server.faults.fail("sendMessage", 502, "Bad Gateway", times=1)
        await want_all(state, (message(str(n), str(n)) for n in range(3)))
        await outbox.idle()
        assert texts(chat) == ["0", "1", "2"]
        server.faults.accept_then_drop("editMessageText")
        await state.write(want("0", "zero"))
        await outbox.idle()
        assert texts(chat) == ["zero", "1", "2"]
        server.faults.accept_then_drop("sendMessage")
        await state.write(want("3", "3"))
        await outbox.idle()
    assert texts(chat) == ["zero", "1", "2", "3", "3"], "one too many does less harm than one too few"


async def test_refusals(state: BridgeState, server: TelegramServer, chat: Chat) -> None:
    async with writing(state, server) as outbox:
        server.faults.fail("sendMessage", 400, "Bad Request: can't parse entities: unexpected", times=1)
        await state.write(want("m", "hello"))
        await outbox.idle()
        assert texts(chat) == ["hello"]
        await state.write(want("long", "x" * 5000))
        await outbox.idle()
        assert len(chat.bot_messages[-1].text) == 4096
        await chat.delete(chat.bot_messages[0])
        await state.write(want("m", text("Allow?", buttons=BUTTONS)))
        await outbox.idle()
    assert texts(chat)[-1] == "Allow?"


async def test_a_person_who_blocks_the_bot_and_comes_back(
    state: BridgeState, server: TelegramServer, ann: User, chat: Chat
) -> None:
    async with writing(state, server) as outbox:
        ann.block()
        await want_all(state, (message("a", "one"), message("b", "two")))
        await outbox.idle()
        assert len(server.calls_of("sendMessage")) == 1
        ann.unblock()
        await outbox.revive(ANN.chat)
        await outbox.idle()
    assert texts(chat) == ["one", "two"]


@pytest.mark.slow
async def test_a_flood_wait_of_telegram_is_waited_out(tmp_path: Path) -> None:
    async with TelegramServer(pace=TelegramPace(chat_burst=2, chat_seconds=0.5)) as server:
        chat = server.user(id=ANN.chat, first_name="Ann").private_chat()
        async with BridgeState(database(tmp_path)) as state, writing(state, server) as outbox:
            await want_all(state, (message(str(n), str(n)) for n in range(4)))
            await outbox.idle()
        assert server.counts_429
        assert texts(chat) == ["0", "1", "2", "3"]


async def test_the_token_is_in_neither_the_database_nor_a_log(
    tmp_path: Path, server: TelegramServer, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with BridgeState(database(tmp_path)) as state, writing(state, server) as outbox:
        server.faults.drop_connections(1, methods=["sendMessage"])
        await state.write(want("a", "hello"))
        await outbox.idle()
        server.faults.fail("sendMessage", 400, f"Bad Request: {server.token} may not", times=10)
        await state.write(want("b", "refused"))
        await outbox.idle()
        server.faults.clear()
        server.faults.fail("sendMessage", 403, f"Forbidden: {server.token}", times=1)
        await state.write(want("c", "blocked"))
        await outbox.idle()
        assert len(await state.read(lambda t: (*t.problems(), *t.resting()))) == 2
    assert files_with(server.token, tmp_path) == []
    assert server.token not in caplog.text


SCALE = 20


@pytest.mark.slow
async def test_a_long_run_in_many_chats_without_a_flood_wait(tmp_path: Path) -> None:
    async with TelegramServer(pace=TelegramPace(scale=SCALE)) as server:
        people = [server.user(id=2000 + n, first_name=f"P{n}").private_chat() for n in range(6)]
        group = server.group(id=-1001, title="Team", members=[], is_forum=True)
        places = [*(Place(2000 + n) for n in range(6)), Place(-1001)]
        async with (
            BridgeState(database(tmp_path)) as state,
            writing(state, server, Pace().faster(SCALE)) as outbox,
        ):
            for step in range(90):
                for place in places:
                    await state.write(progress(f"progress:{place}", f"step {step}", place))
                    outbox.action(place)
                    if step % 30 == 29:
                        ask = message(f"ask:{step}:{place}", f"ask {step}", place, priority=Priority.ASK)
                        await want_all(state, [ask])
            async with asyncio.timeout(90):
                await outbox.idle()
        assert not server.counts_429
        for chat in (*people, group):
            assert texts(chat)[0] == "step 89"
            assert texts(chat)[1:] == [f"ask {step}" for step in (29, 59, 89)]


@pytest.mark.slow
async def test_a_thousand_messages_wanted_at_once(tmp_path: Path) -> None:
    scale = 40
    async with TelegramServer(pace=TelegramPace(scale=scale)) as server:
        chats = {Place(2000 + n): server.user(id=2000 + n, first_name=f"P{n}").private_chat() for n in range(50)}
        async with (
            BridgeState(database(tmp_path)) as state,
            writing(state, server, Pace().faster(scale)) as outbox,
        ):
            await want_all(state, (message(f"{n}:{place}", f"{n}", place) for n in range(20) for place in chats))
            async with asyncio.timeout(100):
                await outbox.idle()
        assert not server.counts_429
        for chat in chats.values():
            assert texts(chat) == [str(n) for n in range(20)]


WORKER = """
import asyncio, sys
from handrail.telegram.bot import TelegramBot
from handrail.telegram.outbox import Outbox, Pace
from handrail.telegram.state import BridgeState

async def main(path, token, url):
    async with BridgeState(path) as state, TelegramBot(token, api_url=url) as bot:
        await Outbox(state, bot, pace=Pace().faster(30)).run()

asyncio.run(main(*sys.argv[1:]))
"""


async def killed_when(condition: Callable[[], bool], server: TelegramServer, path: str) -> None:
    """Have a worker work in a process of its own, until something is so; then it is gone at once."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, path, server.token, server.url)
    try:
        await server.wait(lambda _: condition(), timeout=60)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()


def has_messages(chat: Chat, number: int) -> bool:
    return len(chat.bot_messages) >= number


@pytest.mark.slow
async def test_killed_again_and_again_everything_is_shown_in_the_end(tmp_path: Path) -> None:
    path, count = database(tmp_path), 60
    async with TelegramServer(pace=None) as server:
        chat = server.user(id=ANN.chat, first_name="Ann").private_chat()
        async with BridgeState(path) as state:
            await want_all(state, (message(str(n), f"m{n}") for n in range(count)))
        for share in (1, 2, 3):
            await killed_when(partial(has_messages, chat, share * count // 4), server, path)
        async with BridgeState(path) as state, writing(state, server) as outbox:
            await want_all(state, (message(str(n), f"m{n}, changed") for n in range(0, count, 2)))
            await outbox.idle()

            wanted = [f"m{n}" if n % 2 else f"m{n}, changed" for n in range(count)]
            known = await state.read(lambda t: [t.sent(str(n)) for n in range(count)])
        shown = {one.id: one.text for one in chat.bot_messages}
        assert [shown[one.message_id] for one in known if one] == wanted
        numbers = [one.message_id for one in known if one]
        assert numbers == sorted(numbers), "in the order in which they were wanted"
        assert len(shown) <= count + 3, "at most the one message that was being sent is there twice"
