"""However a session of the real CLI comes to live, it is held to what its manager holds all to."""

from __future__ import annotations

import msgspec
import pytest

from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.sessions.launching import SessionSettings
from handrail.sessions.session import Session

from .support import Managed, World, bash

DENIED = "touch denied"
STANDING = Asked(profile="trusted", deny=(f"Bash({DENIED})",))
CALLS = (bash(DENIED), bash("touch made"), "Done.")


async def check_held(world: World, session: Session) -> None:
    assert (await session.run("Touch them")).ok
    assert not (world.cwd / "denied").exists()
    assert (world.cwd / "made").exists()


async def test_one_that_was_started_without_a_policy_is_resumed_with_one(world: World) -> None:
    async with world.managed(["Hello.", *CALLS]) as managed:
        session = await managed.start()
        assert (await session.run("Hello")).ok
        await session.stop()
        managed.manager.hold_to(STANDING)
        await managed.manager.resume(session.id)
        await check_held(world, session)


async def test_a_fork(world: World) -> None:
    async with world.managed(["Hello.", *CALLS]) as managed:
        session = await managed.start()
        assert (await session.run("Hello")).ok
        managed.manager.hold_to(STANDING)
        await check_held(world, await managed.manager.fork(session.id))


async def test_one_of_claude_codes_own_is_adopted(world: World) -> None:
    async with world.live(["Hello."]) as live:
        await live.client.run("Hello")
        conversation = str(live.client.session_id)
    async with world.managed(CALLS) as managed:
        hold(managed)
        await check_held(world, await managed.manager.adopt(conversation))


def hold(managed: Managed) -> None:
    managed.manager.hold_to(STANDING)
    managed.manager.adopted_as = SessionSettings(options=managed.options, policy=Asked())


@pytest.mark.usefixtures("dialling_cli")
async def test_one_that_connects_by_a_websocket(world: World) -> None:
    async with world.managed(CALLS) as managed:
        hold(managed)
        options: Options = msgspec.structs.replace(managed.options, transport="websocket")
        await check_held(world, await managed.manager.start(options, policy=Asked()))
