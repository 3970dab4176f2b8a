"""Commands: each once, those of a session in order, and an answer to every one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import StoreFull
from handrail.host.acts import METHODS, Method
from handrail.host.commands import Commands
from handrail.link import wire
from handrail.store.base import Store
from handrail.store.sqlite import SqliteStore

from .support import eventually


@dataclass
class Scripted:
    """Acts that do nothing but wait until they are let go."""

    done: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)

    def method(self, name: str) -> Method:
        return METHODS[name]

    async def do(self, command: wire.Command) -> Any:
        if command.id in self.gates:
            await self.gates[command.id].wait()
        if command.params == b"fail":
            raise ZeroDivisionError("of no use")
        self.done.append(command.id)
        return command.id


@dataclass
class Doing:
    """Commands that are done by a script, and what was answered."""

    commands: Commands
    acts: Scripted
    store: Store
    replies: list[wire.Reply]
    troubles: list[str]

    def take(self, id: str, method: str = "send", session: str = "s1", params: bytes = b"{}") -> None:
        self.commands.take(wire.Command(id=id, method=method, session=session, params=params))

    async def answered(self, number: int) -> list[wire.Reply]:
        await eventually(lambda: len(self.replies) >= number)
        return self.replies


@pytest.fixture
async def doing(tmp_path: Path) -> AsyncIterator[Doing]:
    store = SqliteStore(str(tmp_path / "host.db"))
    await store.open()
    yield started(store)
    await store.close()


def started(store: Store) -> Doing:
    """What another process over the same store would be."""
    acts, replies, troubles = Scripted(), list[Any](), list[str]()
    commands = Commands(acts, store, name="box", send=replies.append, trouble=troubles.append)  # type: ignore[arg-type]
    return Doing(commands, acts, store, replies, troubles)


async def test_a_command_that_comes_again_is_answered_again_and_not_done_again(doing: Doing) -> None:
    doing.take("1")
    doing.take("1")
    await doing.answered(1)
    doing.take("1")
    first, second = await doing.answered(2)
    assert first == second
    assert doing.acts.done == ["1"]


async def test_another_process_knows_what_was_answered(doing: Doing) -> None:
    doing.take("1")
    (first,) = await doing.answered(1)
    again = started(doing.store)
    again.take("1")
    assert await again.answered(1) == [first]
    assert again.acts.done == []


async def test_what_a_process_left_undone_is_said_and_not_done(doing: Doing) -> None:
    doing.acts.gates["1"] = asyncio.Event()
    doing.take("1")
    doing.take("2", session="s2")
    await doing.answered(1)
    await doing.commands.close()
    again = started(doing.store)
    again.take("1")
    (reply,) = await again.answered(1)
    assert reply.error is not None
    assert reply.error.message == "box restarted before this was done: look what became of it"
    assert again.acts.done == []


async def test_commands_of_a_session_keep_their_order_and_hold_up_no_other(doing: Doing) -> None:
    gate = doing.acts.gates["1"] = asyncio.Event()
    doing.take("1", "resume")
    doing.take("2", "send")
    doing.take("3", "stop")  # what ends something does not wait
    doing.take("4", "send", session="s2")
    await doing.answered(2)
    assert sorted(doing.acts.done) == ["3", "4"]
    gate.set()
    await doing.answered(4)
    assert doing.acts.done[2:] == ["1", "2"]


async def test_one_id_means_one_command(doing: Doing) -> None:
    doing.take("1")
    await doing.answered(1)
    doing.take("1", params=b'{"other": 1}')
    reply = (await doing.answered(2))[1]
    assert reply.error is not None
    assert "another command" in reply.error.message


async def test_whatever_fails_is_answered(doing: Doing) -> None:
    doing.take("1", params=b"fail")
    (reply,) = await doing.answered(1)
    assert reply.error is not None
    assert reply.error.message == "box failed: ZeroDivisionError: of no use"


async def test_while_nothing_can_be_stored_only_what_ends_something_is_done(
    doing: Doing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*args: Any, **further: Any) -> None:
        raise StoreFull("the disk is full")

    monkeypatch.setattr(doing.store, "begin_reply", full)
    monkeypatch.setattr(doing.store, "keep_reply", full)
    doing.take("1", "send")
    (refused,) = await doing.answered(1)
    assert refused.error is not None
    assert refused.error.kind == "StoreFull"
    doing.take("2", "stop")
    doing.take("3", "interrupt")
    await doing.answered(3)
    doing.take("2", "stop")
    await doing.answered(4)
    assert sorted(doing.acts.done) == ["2", "3"]  # and each once
    assert set(doing.troubles) == {"the disk is full"}
    with pytest.raises(StoreFull):
        await doing.commands.check_store()
    monkeypatch.undo()
    await doing.commands.check_store()


async def test_what_only_looks_is_not_kept(doing: Doing) -> None:
    doing.take("1", "directories")
    await doing.answered(1)
    doing.take("1", "directories")
    await doing.answered(2)
    assert doing.acts.done == ["1", "1"]


async def test_nobody_waiting_changes_nothing(doing: Doing) -> None:
    doing.take("1")
    doing.commands.cancel("1")
    await doing.answered(1)
    assert doing.acts.done == ["1"]
