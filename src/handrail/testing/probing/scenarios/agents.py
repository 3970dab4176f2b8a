"""Subagents: what they ask, and what they do, can be told from what the main conversation does."""

from __future__ import annotations

from handrail.protocol.asks import Deny
from handrail.protocol.frames import Assistant
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Replies, Stage, bash, subagent

__all__ = ["AGENTS"]

ASKED = Behaviour(
    name="subagents: an ask of theirs",
    need="degrades",
    otherwise="it is not shown that a subagent asks, and which",
)
FRAMES = Behaviour(
    name="subagents: frames of theirs",
    need="degrades",
    otherwise="what a subagent does is shown as if the main conversation did it",
)


async def play(stage: Stage) -> None:
    asks = Asks(Deny("not now"))
    replies: Replies = {"Have it done": [subagent("the only job"), "It was done."]}
    job: Replies = {"the only job": [bash("mkdir made"), "The job is done."]}
    async with stage.live(replies, on_ask=asks, conversations=job) as live:
        await live.run("Have it done")
        named = bool(asks.asked) and asks.asked[0].agent_id is not None
        words = "with the subagent's id" if named else "without an id"
        stage.see(ASKED, named, words if asks.asked else "not asked")
        parents = {frame.parent_tool_use_id for frame in live.all(Assistant)} - {None}
        stage.see(FRAMES, bool(parents), "under the call that started it" if parents else "not told apart")


AGENTS = Scenario("subagents", (ASKED, FRAMES), play)
