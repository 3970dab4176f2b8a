"""What the CLI does not understand, and an end of input while an ask waits: it goes on or ends, but never hangs."""

from __future__ import annotations

import asyncio

from handrail.errors import HandrailError
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Live, Stage, bash, never

__all__ = ["LINES"]

UNKNOWN_TYPE = Behaviour(
    name="process: a message of an unknown type",
    need="degrades",
    otherwise="a newer Handrail ends an older CLI by what it says",
    copes="what would end them, such as taking back a control request, is not sent to such versions",
)
NO_JSON = Behaviour(
    name="process: a line that is no JSON",
    need="degrades",
    otherwise="the CLI hangs on a damaged line",
    copes="every line that Handrail writes comes from one encoder",
)
LEFT_ASKING = Behaviour(
    name="process: end of input while an ask waits",
    need="breaks",
    otherwise="a call runs although nobody allowed it, or the CLI never ends",
)


async def play(stage: Stage) -> None:
    async with stage.live({"Are you there?": ["Still here."]}) as live:
        live.transport.write(b'{"type":"greeting"}\n')
        stage.see(UNKNOWN_TYPE, *await _fate(live))
    async with stage.live({"Are you there?": ["Still here."]}) as live:
        live.transport.write(b"nonsense\n")
        _, words = await _fate(live)
        stage.see(NO_JSON, True, words)
    await _end_of_input(stage)


async def _fate(live: Live) -> tuple[bool, str]:
    """Whether the CLI still answers, or how it ended."""
    try:
        result = await live.run("Are you there?")
    except HandrailError:
        return False, f"exit code {await live.ended()}"
    return result.ok, "ignored"


async def _end_of_input(stage: Stage) -> None:
    asks = Asks(never)
    async with stage.live({"Make one": [bash("mkdir made"), "Made."]}, on_ask=asks) as live:
        running = asyncio.create_task(live.client.run("Make one"))
        await asks.wait(1, seconds=live.patience)
        live.transport.close_input()
        code = await live.ended()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        ran = stage.has("made")
        stage.see(LEFT_ASKING, not ran, f"the call {'runs' if ran else 'does not run'}, exit code {code}")


LINES = Scenario("lines", (UNKNOWN_TYPE, NO_JSON, LEFT_ASKING), play)
