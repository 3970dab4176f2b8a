"""What a toast promised and was not done is taken back in words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.telegram.asks.desk import AskDesk
from tests.server.support import ASKS

from .support import world

pytestmark = pytest.mark.slow


async def test_of_two_presses_in_a_row_the_second_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()
    carry_out = AskDesk.carry_out

    async def held_up(*given: Any) -> None:
        await may_go_on.wait()
        await carry_out(*given)

    monkeypatch.setattr(AskDesk, "carry_out", held_up)
    async with world(tmp_path, *ASKS) as here, here.bridged():
        await here.say("clean up")
        ask = await here.asked()
        assert (await ask.press("Allow", by=here.ann)).text == "Approved"
        assert (await ask.press("Deny", by=here.ann)).text == "Denied"
        may_go_on.set()
        await here.hears("Allowed by Ann")
        await here.hears("Your answer was not taken.")
