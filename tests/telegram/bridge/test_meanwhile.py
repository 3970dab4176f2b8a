"""Messages that are written while Claude works: given to it now or when it is done, changed, taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.testing import simulated as sim

from .support import World, eventually, world

pytestmark = pytest.mark.slow

HELD = (
    sim.turn(sim.tool("Bash", {"command": "make"}, output="done"), "First is done."),
    sim.loop_turns("You said $text."),
)
"""A session that waits in its first run until it is allowed to go on."""


async def held(here: World) -> None:
    await here.say("begin")
    await here.asked()


async def test_a_message_is_given_to_claude_now_unless_told_otherwise(tmp_path: Path) -> None:
    async with world(tmp_path, *HELD) as here, here.bridged():
        await held(here)
        await here.say("and this")
        await eventually(lambda: _prompted(here, "and this"))
        await here.hears("Claude waits for an answer to what it asked, and reads this after that.")
        await (await here.asked()).press("Allow", by=here.ann)
        await here.hears("You said and this.")


async def test_a_message_waits_until_claude_is_done_if_the_chat_prefers_that(tmp_path: Path) -> None:
    async with world(tmp_path, *HELD) as here, here.bridged():
        await here.say("/queue after")
        await held(here)
        await here.say("second")
        await here.hears("Kept until Claude is done.")
        await here.say("third")
        await eventually(lambda: here.count("Kept until") == 2)
        assert await here.prompts() == ["begin"]
        await (await here.asked()).press("Allow", by=here.ann)
        await here.hears("First is done.")
        await here.hears("You said second.")
        await here.hears("You said third.")
        await eventually(lambda: here.count("Kept until") == 0)
        assert await here.prompts() == ["begin", "second", "third"]


async def test_what_waits_can_be_changed_by_editing_the_message(tmp_path: Path) -> None:
    async with world(tmp_path, *HELD) as here, here.bridged():
        await here.say("/queue after")
        await held(here)
        second = await here.say("secnd")
        await here.hears("Kept until")
        await here.chat.edit(second, "second")
        await eventually(lambda: here.telegram.pending_updates == 0)
        await (await here.asked()).press("Allow", by=here.ann)
        await here.hears("You said second.")
        assert await here.prompts() == ["begin", "second"]


async def test_an_edit_that_comes_too_late_is_said_to(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        sent = await here.say("one")
        await here.hears("You said one.")
        await here.chat.edit(sent, "another one")
        await here.hears("too late to change this message")
        assert await here.prompts() == ["one"]


async def test_a_caption_is_not_read_again_and_what_nobody_wrote_is_not_answered(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        sent = await here.chat.send_document(b"one", "notes.txt", caption="read this")
        answer = await here.hears("You said read this")
        await here.chat.pin(answer)
        await here.chat.edit(sent, "read that")
        await here.hears("too late to change this message")
        await here.say("go on")
        await here.hears("You said go on.")
        assert len(here.chat.bot_messages) == 3


async def test_an_edit_replaces_a_message_that_claude_has_not_begun_with(tmp_path: Path) -> None:
    async with world(tmp_path, *HELD) as here, here.bridged():
        await held(here)
        second = await here.say("secnd")
        await eventually(lambda: _prompted(here, "secnd"))
        await here.chat.edit(second, "second")
        await eventually(lambda: _prompted(here, "second"))
        await (await here.asked()).press("Allow", by=here.ann)
        await here.hears("You said second.")
        assert not here.count("You said secnd.")


async def test_what_waits_survives_a_restart_of_the_bridge(tmp_path: Path) -> None:
    async with world(tmp_path, *HELD) as here:
        async with here.bridged():
            await here.say("/queue after")
            await held(here)
            await here.say("second")
            await here.hears("Kept until")
        async with here.bridged():
            await (await here.asked()).press("Allow", by=here.ann)
            await here.hears("You said second.")
        assert await here.prompts() == ["begin", "second"]


async def test_what_waited_for_a_run_that_ended_while_no_bridge_ran_is_sent_then(tmp_path: Path) -> None:
    async with world(tmp_path, *HELD) as here:
        async with here.bridged():
            await here.say("/queue after")
            await held(here)
            await here.say("second")
            await here.hears("Kept until")
        (row,) = await here.rows()
        session = here.served.manager.session(row.id)
        (ask,) = await session.asks()
        from handrail.protocol.asks import Allow

        await session.decide(ask.id, Allow(), digest=ask.digest)
        await eventually(lambda: _is_idle(here))
        async with here.bridged():
            await here.hears("First is done.")
            await here.hears("You said second.")


async def _is_idle(here: World) -> bool:
    return all(row.status == "idle" for row in await here.rows())


async def _prompted(here: World, text: str) -> bool:
    return text in await here.prompts()
