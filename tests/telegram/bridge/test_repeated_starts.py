"""A bridge that ends right after a start: the message is handled again, and is one session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import StoreError
from handrail.remote.hub import Hub
from handrail.telegram import sessions
from handrail.telegram.commands.wishes import wishes

from .support import World, eventually, world

pytestmark = pytest.mark.slow


class Broken:
    """What fails the first time, after or instead of what it stands for."""

    def __init__(self) -> None:
        self.times = 0

    def once(self) -> None:
        self.times += 1
        if self.times == 1:
            raise StoreError("the disk is full")


async def _is_one_session(here: World, text: str) -> None:
    await here.hears(f"You said {text}.")
    assert len(await here.rows()) == 1
    assert await here.prompts() == [text]
    assert here.count(f"You said {text}.") == 1


def break_after_start(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the bridge fail when a session is begun and nothing else is done for it."""
    start = Hub.start

    async def started(hub: Hub, *args: Any, **wanted: Any) -> Any:
        session = await start(hub, *args, **wanted)
        broken.once()
        return session

    monkeypatch.setattr(Hub, "start", started)


async def test_a_start_that_was_cut_off_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Broken()
    break_after_start(broken, monkeypatch)
    async with world(tmp_path) as here, here.bridged():
        await here.say("hello")
        await _is_one_session(here, "hello")
        assert broken.times == 1, "the second time it is there already"


async def test_a_start_whose_answer_was_not_heard_is_the_same_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is seen yet when it is tried again."""
    broken, start = Broken(), Hub.start
    made: list[str] = []

    async def started(hub: Hub, *args: Any, **wanted: Any) -> Any:
        session = await start(hub, *args, **wanted)
        made.append(session.id)
        broken.once()
        return session

    async def unseen(*_: Any) -> None:
        return None

    monkeypatch.setattr(Hub, "start", started)
    monkeypatch.setattr(sessions.ChatSessions, "_begun", unseen)
    async with world(tmp_path) as here, here.bridged():
        await here.say("hello")
        await _is_one_session(here, "hello")
        await eventually(lambda: len(made) == 2)
        assert made[0] == made[1]


async def test_a_chat_that_was_set_otherwise_meanwhile_has_its_session_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken()

    def wished(chat: Any) -> Any:
        found = wishes(chat)
        return found if broken.times == 0 else msgspec.structs.replace(found, model="opus")

    break_after_start(broken, monkeypatch)
    monkeypatch.setattr(sessions, "wishes", wished)
    async with world(tmp_path) as here, here.bridged():
        await here.say("hello")
        await _is_one_session(here, "hello")
