"""Hooks in this process: they are called before a call is decided about, and what they say holds."""

from __future__ import annotations

import asyncio

from handrail.protocol.asks import Allow, Ask
from handrail.protocol.control import PostToolUseInput, PreToolUseInput
from handrail.protocol.options import Options
from handrail.sessions.hooks import HookAnswer, allow_tool, ask_tool, deny_tool, hook
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Replies, Stage, bash

__all__ = ["HOOKS"]

FIRST = Behaviour(
    name="hooks: PreToolUse and the ask",
    need="breaks",
    otherwise="a policy cannot hold: its guard is not called before a call is decided about",
)
DENY = Behaviour(
    name="hooks: PreToolUse deny",
    need="breaks",
    otherwise="what a policy or a hook denies runs, or Claude is not told why it does not",
)
ASK = Behaviour(
    name="hooks: PreToolUse ask, for a call that is allowed",
    need="degrades",
    otherwise="a program's hook cannot have a person asked about what the CLI allows by itself",
    copes="where older CLIs do not ask, the policy's own hook waits for the person",
)
CHANGE = Behaviour(
    name="hooks: PreToolUse with changed input",
    need="degrades",
    otherwise="a hook cannot change a call",
)
AFTER = Behaviour(
    name="hooks: PostToolUse",
    need="degrades",
    otherwise="hooks do not hear of what was done",
)
SLOW = Behaviour(
    name="hooks: one that takes too long",
    need="breaks",
    otherwise="a call runs although its guard did not answer in time",
    copes="Handrail answers in the hook's place before the CLI's own deadline, which lets calls pass",
)

ALLOWED = Options(allowed_tools=["Bash"])


async def play(stage: Stage) -> None:
    order: list[str] = []

    async def allow(ask: Ask) -> Allow:
        order.append("ask")
        return Allow()

    @hook("PreToolUse", matcher="Bash", timeout=1)
    async def before(call: PreToolUseInput) -> HookAnswer:
        command = str(call.tool_input.get("command"))
        order.append(command)
        match command:
            case "mkdir denied":
                return deny_tool("no new directories")
            case "mkdir asked":
                return ask_tool("a person is to decide")
            case "mkdir original":
                return allow_tool(updated_input={**call.tool_input, "command": "mkdir changed"})
            case "mkdir slow":
                await asyncio.Event().wait()
        return None

    @hook("PostToolUse", matcher="Bash")
    async def after(call: PostToolUseInput) -> HookAnswer:
        order.append("after")
        return None

    replies: Replies = {
        "Deny": [bash("mkdir denied"), "All right."],
        "Inquire": [bash("mkdir asked"), "Asked."],
        "Change": [bash("mkdir original"), "Changed."],
        "Dawdle": [bash("mkdir slow"), "Oh."],
    }
    async with stage.live(replies, options=ALLOWED, on_ask=allow, hooks=[before, after]) as live:
        await live.run("Inquire")
        first = order[:1] == ["mkdir asked"]
        stage.see(FIRST, first, "called first" if first else f"order: {', '.join(order) or 'never called'}")
        asked = "ask" in order
        stage.see(ASK, asked and stage.has("asked"), "asked" if asked else "not asked")
        stage.see(AFTER, "after" in order, "called" if "after" in order else "not called")

        await live.run("Deny")
        ran, told = stage.has("denied"), "no new directories" in live.last_told
        works = told and not ran
        stage.see(DENY, works, "does not run, the model is told why" if works else f"ran: {ran}, told: {told}")

        await live.run("Change")
        changed = stage.has("changed") and not stage.has("original")
        stage.see(CHANGE, changed, "the changed call runs" if changed else "the original runs")

        await live.run("Dawdle")
        ran = stage.has("slow")
        stage.see(SLOW, not ran, "runs" if ran else "does not run")


HOOKS = Scenario("hooks", (FIRST, ASK, AFTER, DENY, CHANGE, SLOW), play)
