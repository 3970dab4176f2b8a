"""A run of hundreds of steps, at Telegram's own pace, a clock that runs faster: never too fast, never wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.telegram.bridge import Bridge
from handrail.telegram.model import Place
from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.rhythm import Rhythm
from handrail.testing import TelegramPace
from handrail.testing import simulated as sim
from tests.telegram.bridge.support import eventually, world

pytestmark = pytest.mark.slow

SCALE = 20.0
STEPS = 300
USUAL = Rhythm()
FASTER = replace(
    USUAL, **{name: getattr(USUAL, name) / SCALE for name in ("progress", "first_progress", "heartbeat", "draft")}
)


def _long_run() -> sim.Step:
    """Steps, with something said between them, at a pace that Telegram could never follow."""
    parts: list[str | sim.Step] = []
    for number in range(STEPS):
        parts.append(sim.tool("Read", {"file_path": f"file-{number}.py"}, ask=False, output="x" * 200))
        if number % 10 == 9:
            parts += [sim.say(f"So far {number + 1} files look as they should.", pause=0.01), sim.sleep(0.1)]
    return sim.turn(*parts, "All of them are fine.")


async def _is_done(bridge: Bridge) -> bool:
    return await bridge.backlog() == 0


@pytest.mark.parametrize("where", ["private", "group"])
async def test_a_long_run_is_never_told_to_slow_down(tmp_path: Path, where: str) -> None:
    async with world(tmp_path, _long_run(), telegram_pace=TelegramPace(scale=SCALE), groups=(-100_7,)) as here:
        here.rhythm, here.pace = FASTER, Pace().faster(SCALE)
        group = here.telegram.group(-100_7, "Team", members=[here.ann], bot_is_admin=True)
        chat = here.chat if where == "private" else group
        async with here.bridged() as bridge:
            await chat.send("@handrail_test_bot look at everything", by=here.ann)
            await eventually(lambda: any("▸" in each.text or "✓" in each.text for each in chat.bot_messages))
            await eventually(lambda: any("All of them are fine." in each.text for each in chat.bot_messages))
            await eventually(lambda: len(chat.bot_messages) == 1)
            await eventually(lambda: _is_done(bridge))
        calls = Counter(call.method for call in here.telegram.calls)
        assert here.telegram.counts_429 == 0
        seconds = here.telegram.calls[-1].at - here.telegram.calls[0].at
        between = Pace().edit_seconds if Place(chat.id).is_private else Pace().group_edit_seconds
        assert calls["editMessageText"] <= 2 + seconds * SCALE / between
        assert calls["sendMessage"] <= 3
        assert {call.status for call in here.telegram.calls} == {200}
