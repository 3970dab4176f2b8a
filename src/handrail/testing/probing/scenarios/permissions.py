"""Permissions: what is asked, what each answer does to the call, and what becomes of an ask that nobody answers."""

from __future__ import annotations

import msgspec

from handrail.errors import ControlExpired, ControlRefused, HandrailError
from handrail.protocol.asks import Allow, Deny, Failed
from handrail.protocol.control import AddRules, Rule
from handrail.protocol.frames import ControlCancelRequest, ControlResponse, Result
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import (
    DOUBT,
    Asks,
    Live,
    Replies,
    Stage,
    bash,
    listed_names,
    never,
    outcome_of,
)

__all__ = ["PERMISSIONS"]

ASKED = Behaviour(
    name="permissions: a call that needs leave",
    need="breaks",
    otherwise="nobody is asked: calls run, or are denied, without a decision",
)
FIELDS = Behaviour(
    name="permissions: what an ask has",
    need="breaks",
    otherwise="an ask cannot be shown, or not be matched with its call",
    is_list=True,
)
CHANGED_INPUT = Behaviour(
    name="permissions: allow with changed input",
    need="breaks",
    otherwise="a call runs as Claude wrote it although a person changed it",
)
DENIED = Behaviour(
    name="permissions: deny",
    need="breaks",
    otherwise="what a person denied runs, or Claude is not told why it does not",
)
FAILED = Behaviour(
    name="permissions: an error instead of an answer",
    need="breaks",
    otherwise="a call runs although nobody could decide about it",
)
RULE = Behaviour(
    name="permissions: a rule with the answer",
    need="degrades",
    otherwise="`always allow` is forgotten, and the same call is asked again",
    copes="Handrail's own policy remembers the rule and answers the second ask",
)
AGAIN = Behaviour(
    name="permissions: initialize again while an ask waits",
    need="degrades",
    otherwise="asks that were open when a connection was lost cannot be found again",
    copes="an error that lists the asks is taken as well",
)
CANCELLED = Behaviour(
    name="permissions: interrupt while an ask waits",
    need="breaks",
    otherwise="an ask stays in the inbox although its call is gone",
)
DENY_AND_STOP = Behaviour(
    name="permissions: deny and interrupt",
    need="breaks",
    otherwise="a person cannot say no and stop, or the session ends with it",
)

NEEDED = {"tool_name", "input", "tool_use_id"}


async def play(stage: Stage) -> None:
    (stage.cwd / "job.sh").write_text("#!/bin/sh\nmkdir $1\n")
    (stage.cwd / "job.sh").chmod(0o755)
    asks = Asks()
    async with stage.live(_replies(), on_ask=asks) as live:
        await _asked_and_changed(stage, live, asks)
        await _denied(stage, live, asks)
        await _failed(stage, live, asks)
        await _remembered(stage, live, asks)
        await _cancelled(stage, live, asks)
        await _denied_and_stopped(stage, live, asks)


def _replies() -> Replies:
    return {
        "Make a directory": [bash("mkdir asked"), "Made."],
        "Make a forbidden one": [bash("mkdir forbidden"), "All right."],
        "Make an unlucky one": [bash("mkdir unlucky"), "Oh."],
        "Make two with the job": [bash("./job.sh first"), bash("./job.sh second"), "Both."],
        "Make one and wait": [bash("mkdir waiting"), "Made."],
        "Make one and stop": [bash("mkdir stopped"), "Made."],
        "Are you there?": ["Still here."],
    }


async def _asked_and_changed(stage: Stage, live: Live, asks: Asks) -> None:
    asks.answer_next(lambda ask: Allow({**ask.input, "command": "mkdir changed"}))
    await live.run("Make a directory")
    asked = asks.tools == ["Bash"]
    ran = ", ".join(name for name in ("asked", "changed") if stage.has(name)) or "nothing"
    stage.see(ASKED, asked, "asked before it runs" if asked else f"not asked; ran: {ran}")
    fields = set(asks.asked[0].request) - {"subtype"} if asked else set()
    stage.see(FIELDS, fields >= NEEDED, listed_names(fields))
    changed = ran == "changed"
    stage.see(CHANGED_INPUT, changed, "the changed call runs" if changed else f"ran: {ran}")


async def _denied(stage: Stage, live: Live, asks: Asks) -> None:
    asks.answer_next(Deny("not on a Sunday"))
    result = await live.run("Make a forbidden one")
    ran, told = stage.has("forbidden"), "not on a Sunday" in live.last_told
    listed = [denial.tool_name for denial in result.permission_denials] == ["Bash"]
    words = f"{'runs' if ran else 'does not run'}, the model is {'' if told else 'not '}told why, "
    stage.see(DENIED, told and not ran, words + f"the result {'lists' if listed else 'does not list'} it")


async def _failed(stage: Stage, live: Live, asks: Asks) -> None:
    asks.answer_next(Failed("the card could not be shown"))
    await live.run("Make an unlucky one")
    ran = stage.has("unlucky")
    stage.see(FAILED, not ran, "runs" if ran else "does not run")


async def _remembered(stage: Stage, live: Live, asks: Asks) -> None:
    rule = AddRules(rules=[Rule(tool_name="Bash", rule_content="./job.sh:*")], behavior="allow", destination="session")
    asks.answer_next(Allow(updated_permissions=[msgspec.to_builtins(rule)]))
    before = len(asks.asked)
    await live.run("Make two with the job")
    remembered = len(asks.asked) == before + 1 and stage.has("second")
    stage.see(RULE, remembered, "the second call is not asked" if remembered else "the second call is asked again")


async def _cancelled(stage: Stage, live: Live, asks: Asks) -> None:
    asks.answer_next(never)
    results = len(live.all(Result))
    await live.client.send("Make one and wait")
    ask = await asks.wait(len(asks.asked) + 1, seconds=live.patience)
    await _initialize_again(stage, live, ask.id)
    await live.client.interrupt()
    result = await live.nth(results + 1, Result)
    cancelled = ask.id in {frame.request_id for frame in live.all(ControlCancelRequest)}
    works = cancelled and not stage.has("waiting")
    stage.see(CANCELLED, works, f"{'' if cancelled else 'not '}cancelled, then {outcome_of(result)}")


async def _initialize_again(stage: Stage, live: Live, ask_id: str) -> None:
    try:
        await live.client.control("initialize", timeout=DOUBT)
        answer = "answered"
    except ControlRefused as refused:
        answer = f"an error: {refused.error}"
    except ControlExpired:
        answer = "no answer"
    response = live.all(ControlResponse)[-1].data.get("response", {})
    lists = ask_id in [item.get("request_id") for item in response.get("pending_permission_requests") or ()]
    stage.see(AGAIN, lists, f"{answer}, {'lists the ask' if lists else 'does not list the ask'}")


async def _denied_and_stopped(stage: Stage, live: Live, asks: Asks) -> None:
    asks.answer_next(Deny("stop", interrupt=True))
    result = await live.run("Make one and stop")
    try:
        lives = (await live.run("Are you there?")).result == "Still here."
    except HandrailError:
        lives = False
    works = lives and not result.ok and not stage.has("stopped")
    stage.see(DENY_AND_STOP, works, f"{outcome_of(result)}, the session {'goes on' if lives else 'is over'}")


PERMISSIONS = Scenario(
    "permissions", (ASKED, FIELDS, CHANGED_INPUT, DENIED, FAILED, RULE, AGAIN, CANCELLED, DENY_AND_STOP), play
)
