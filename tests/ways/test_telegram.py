"""What a chat starts or goes on with is held to the hub's policy, and to the profile that the chat has chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.server.hub import HubSettings, SessionDefaults
from handrail.testing.simulated import SimulatedCLI

from ..telegram.bridge.support import World, world
from .support import STANDING, asking_cli, check_held

pytestmark = pytest.mark.slow


@asynccontextmanager
async def chat(tmp_path: Path) -> AsyncIterator[tuple[World, SimulatedCLI]]:
    cli = asking_cli(tmp_path / "claude")
    settings = HubSettings(defaults=SessionDefaults(policy=STANDING))
    async with world(tmp_path, cli=cli, settings_of_hub=settings) as made, made.bridged():
        yield made, cli


async def test_a_message_starts_one_and_goes_on_with_it(tmp_path: Path) -> None:
    async with chat(tmp_path) as (made, cli):
        await made.say("Go")
        await made.hears("Done.")
        check_held(cli, launches=1)
        (row,) = await made.rows()
        await made.served.manager.session(row.id).stop()
        await made.say("Go on")
        await made.chat.wait(lambda _: len(cli.launches()) == 2 and made.count("Done.") >= 2)
        check_held(cli, launches=2)


async def test_a_profile_of_the_chat_takes_no_rule_back(tmp_path: Path) -> None:
    async with chat(tmp_path) as (made, cli):
        await made.say("/policy edits")
        await made.hears("edits")
        await made.say("Go")
        await made.hears("Done.")
        check_held(cli, launches=1, touch="ask")


async def test_one_that_somebody_else_started_is_resumed_with_the_chats_profile(tmp_path: Path) -> None:
    async with chat(tmp_path) as (made, cli):
        async with made.served.client() as owner:
            reply = await owner.post("/api/sessions", json={"cwd": str(made.served.directory)})
        session = made.served.manager.session(reply.json()["id"])
        await session.run("Begin")
        await session.stop()
        await made.say("/policy edits")
        await made.hears("edits")
        await made.say(f"/resume {session.id[:8]}")
        await made.say("Go")
        await made.hears("Done.")
        check_held(cli, launches=2, touch="ask")
