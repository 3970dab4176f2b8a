"""A policy binds: against the CLI's own settings, in its most permissive mode, and for subagents."""

from __future__ import annotations

import json

from handrail.policy.policy import Policy
from handrail.protocol.asks import Deny
from handrail.protocol.options import Options
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Replies, Stage, bash, subagent, write
from handrail.testing.replies import ScriptEntry

__all__ = ["POLICIES"]

DENIES = Behaviour(
    name="policy: what it denies, where the settings allow everything",
    need="breaks",
    otherwise="a policy does not hold: what it denies runs",
)
ASKS = Behaviour(
    name="policy: what it wants asked, where the settings allow everything",
    need="breaks",
    otherwise="a policy does not hold: nobody is asked about what it wants asked",
)
SUBAGENTS = Behaviour(
    name="policy: the calls of a subagent",
    need="breaks",
    otherwise="a policy does not hold for subagents",
)
PERMISSIVE = {"permissions": {"allow": ["Bash", "Edit", "Write"], "defaultMode": "bypassPermissions"}}
POLICY = Policy.of("trusted", ask=["Bash(touch asked)"], deny=["Bash(touch denied)", "Write"])


async def play(stage: Stage) -> None:
    for root in (stage.home, stage.cwd):
        (root / ".claude").mkdir()
        (root / ".claude" / "settings.json").write_text(json.dumps(PERMISSIVE))
    job: list[ScriptEntry] = [write(stage.cwd / "written.txt", "x"), bash("touch asked"), "The job is done."]

    replies: Replies = {
        "Touch them": [bash("touch denied"), bash("touch asked"), "All right."],
        "Have it done": [subagent("the only job"), "It was done."],
    }
    asks = Asks(Deny("not that one"))
    options = Options(permission_mode="bypassPermissions")
    async with stage.live(
        replies, options=options, on_ask=asks, policy=POLICY, conversations={"the only job": job}
    ) as live:
        await live.run("Touch them")
        ran, told = stage.has("denied"), any("Handrail's policy" in text for text in live.told())
        works = told and not ran
        stage.see(DENIES, works, "does not run, the model is told why" if works else f"ran: {ran}, told: {told}")
        asked = [ask.input.get("command") for ask in asks.asked] == ["touch asked"]
        stage.see(ASKS, asked and not stage.has("asked"), "asked" if asked else "not asked")

        before = len(asks.asked)
        await live.run("Have it done")
        inside = asks.asked[before:]
        ran = stage.has("written.txt") or stage.has("asked")
        holds = "it holds" if inside else "nobody is asked"
        stage.see(SUBAGENTS, bool(inside) and not ran, "they run" if ran else holds)


POLICIES = Scenario("policy", (DENIES, ASKS, SUBAGENTS), play)
