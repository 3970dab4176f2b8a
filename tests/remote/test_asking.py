"""A program that answers what any session of a hub asks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, Ask, Asked, Deny, Hub, Options, Session
from handrail.testing.simulated import SimulatedCLI

from ..server.support import ASKS, served_hub
from .support import Wire, eventually

CAREFUL = Asked(profile="careful")


@pytest.mark.slow
async def test_a_callback_answers_what_waits_and_what_comes(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    async def answer(ask: Ask, session: Session) -> Any:
        asked.append((session.id, ask.tool_name))
        return Allow()

    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["approver"]) as hub:
        first, second = [await served.session(*ASKS, policy=CAREFUL) for _ in range(2)]
        running = asyncio.create_task(first.run("Clean up."))
        await served.asked(first)
        stop = hub.on_ask(answer)
        assert (await running).ok
        assert (await second.run("Clean up.")).ok
        assert asked == [(first.id, "Bash"), (second.id, "Bash")]
        assert (await first.asks(("sent",)))[0].decided_by == "approver of the tests"
        stop()
        third = await served.session(*ASKS, policy=CAREFUL)
        await third.send("Clean up.")
        assert (await served.asked(third)).state == "pending"


@pytest.mark.slow
async def test_a_callback_may_be_for_one_session_and_leave_things_to_others(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def answer(ask: Ask, session: Session) -> Any:
        seen.set()

    async def never(ask: Ask, session: Session) -> Any:
        raise AssertionError("it is not of this session")

    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"]) as hub:
        session, other = [await served.session(*ASKS, policy=CAREFUL) for _ in range(2)]
        hub.on_ask(answer, session=session.id)
        hub.on_ask(never, session=other.id)
        await session.send("Clean up.")
        async with asyncio.timeout(30):
            await seen.wait()
        assert (await served.asked(session)).state == "pending"


@pytest.mark.slow
async def test_a_callback_that_fails_is_told_and_leaves_the_ask_open(tmp_path: Path) -> None:
    errors: list[Exception] = []

    async def answer(ask: Ask, session: Session) -> Any:
        raise RuntimeError("no idea")

    async with served_hub(tmp_path) as served:
        async with Hub(served.url, served.tokens["owner"], on_error=errors.append) as hub:
            hub.on_ask(answer)
            session = await served.session(*ASKS, policy=CAREFUL)
            await session.send("Clean up.")
            await eventually(lambda: errors)
        assert str(errors[0]) == "no idea"
        assert (await served.asked(session)).state == "pending"


@pytest.mark.slow
async def test_what_was_asked_while_the_way_was_cut_is_answered_afterwards(tmp_path: Path) -> None:
    async def answer(ask: Ask, session: Session) -> Any:
        return Deny("Not now.")

    (tmp_path / "cli").mkdir()
    cli = SimulatedCLI(ASKS, directory=tmp_path / "cli")
    async with Wire().laid() as wire, served_hub(tmp_path, cli=cli, settings=wire.settings) as served:
        wire.leads_to(served.url)
        async with Hub(wire.url, served.tokens["owner"], on_connected=lambda: None) as hub:
            hub.on_ask(answer)
            session = await hub.start(Options(cwd=served.directory), policy=CAREFUL)
            await eventually(lambda: hub.is_connected)
            wire.cut()
            await eventually(lambda: not hub.is_connected)
            here = served.manager.session(session.id)
            running = asyncio.create_task(here.run("Clean up."))
            await served.asked(here)
            wire.mend()
            async with asyncio.timeout(30):
                assert (await running).ok


@pytest.mark.slow
async def test_callbacks_that_fail_harm_nobody(tmp_path: Path, caplog: Any) -> None:
    async def connected() -> None:
        raise RuntimeError("not ours")

    async with (
        served_hub(tmp_path) as served,
        Hub(served.url, served.tokens["owner"], on_connected=connected) as hub,
    ):
        await eventually(lambda: hub.is_connected)
        await eventually(lambda: "not ours" in caplog.text)
        assert await hub.list() == []


@pytest.mark.slow
async def test_words_of_the_seed(tmp_path: Path) -> None:
    """Messages, permission requests, interrupts and disconnecting, as a direct connection has them."""
    requests: asyncio.Queue[tuple[Ask, Session]] = asyncio.Queue()

    async def permission(ask: Ask, session: Session) -> None:
        requests.put_nowait((ask, session))

    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"]) as hub:
        hub.on_ask(permission)
        session = await hub.start(Options(cwd=served.directory), policy=CAREFUL)
        sent = await session.send("Clean up.")
        ask, where = await asyncio.wait_for(requests.get(), 30)
        await hub.write_control_response(where.id, ask.id, approved=True)
        assert (await session.wait(sent)).ok
        await session.interrupt()
        assert hub.is_connected
        await hub.close()
        assert await served.manager.session(session.id).is_live()
