"""The line to a host is cut, or the host restarts, while a chat works there: the chat says what is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from tests.chaos.hosts.machines import eventually

from .support import Fleet, fleet

pytestmark = pytest.mark.slow

LOST = "Handrail ended before Claude Code was done"


def asking(command: str, answer: str) -> sim.Step:
    return sim.turn(sim.tool("Bash", {"command": command}), answer)


async def works(here: Fleet, text: str) -> None:
    await here.asks(f"/project box:{here.project}", "This chat works in")
    await here.say(text)


async def test_an_answer_across_a_cut_is_carried_out_once_or_refused(tmp_path: Path) -> None:
    async with fleet(tmp_path, asking("make one", "One."), asking("make two", "Two.")) as here:
        await works(here, "one")
        await here.card("make one")
        await here.cut_off()
        assert await here.press("make one", "Allow") == "Approved"
        await here.mend()
        await here.hears("One.")
        assert here.decisions() == ["allow"]

        await here.say("two")
        await here.card("make two")
        await here.cut_off()
        await here.press("make two", "Allow")
        assert await here.hears("Your answer was not taken, and the ask waits: the host box is not connected")
        assert here.decisions() == ["allow"]
        status = await here.asks("/status", "⚠ box is not connected: this is the last that was heard")
        assert "⏸ needs you · on box" in status.text
        assert "✗ box: away" in (await here.asks("/health", "Bridge")).text
        refused = await here.asks("are you there?", "The host box is not connected")
        assert "what runs there goes on\nTry again once the machine is connected" in refused.text
        assert await here.asks(f"/project box:{here.project}/none", "The host box is not connected")
        await here.mend()
        await here.press("make two", "Allow")
        await here.hears("Two.")
        assert here.decisions() == ["allow", "allow"]
        assert "are you there?" not in str(here.cli and here.cli.received())


async def test_what_is_not_heard_is_not_shown_as_if_it_were(tmp_path: Path) -> None:
    async with fleet(tmp_path, sim.turn(sim.say("Working"), sim.sleep(600), "Done.")) as here:
        await works(here, "take your time")
        progress = await here.hears("▸ waiting for Claude")
        assert "not connected" not in progress.text
        await here.cut_off()
        assert (await here.hears("⚠ box is not connected: this is the last that was heard")).id == progress.id
        await here.mend()
        await eventually(lambda: not here.count("box is not connected"), "the chat hears of it again")

        await here.restart_host()
        assert await here.hears(LOST)
        await eventually(lambda: not here.count("▸ waiting for Claude"), "the progress is gone")
