"""Plan mode: each answer to a plan, where the plan's text is, and what holds afterwards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import UnfitAnswer
from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    RejectPlan,
    RevisePlan,
)
from handrail.policy.answers.plan_choices import plan_choices
from handrail.policy.answers.plan_rules import proposed_rules
from handrail.protocol.asks import Allow, Ask, Deny
from handrail.protocol.blocks import Image, Source
from handrail.protocol.control import AddRules, PreToolUseInput, Rule
from handrail.protocol.frames import CompactBoundary, Result, Status
from handrail.protocol.launch import Options
from handrail.sessions.hooks import ToolDecision, ask_tool, hook
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import ToolUse

from .support import Asks, Live, Observe, World, bash, by_version, eventually, outcome_of, write

PLAN_MODE = Options(permission_mode="plan")
MAY_BYPASS = Options(permission_mode="plan", allow_dangerously_skip_permissions=True)
PLAN = "# Plan\n\n1. Measure twice\n2. Cut once\n"
EDITED = "# Plan\n\nDo nothing.\n"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def write_plan(request: ModelRequest) -> ToolUse:
    """Write the plan into the file that the CLI names in its reminders."""
    text = msgspec.json.encode(request.messages).decode()
    found = re.search(r"/[^\s\"`\\]+/plans/[\w-]+\.md", text)
    assert found, "the CLI names no plan file"
    return ToolUse("Write", {"file_path": found[0], "content": PLAN})


EXIT = ToolUse("ExitPlanMode", {})


def modes(live: Live) -> str:
    return ", ".join(frame.permission_mode for frame in live.all(Status) if frame.permission_mode)


async def left_open(ask: Ask) -> None:
    """An `on_ask` that leaves every ask to `decide`."""


async def open_plan(live: Live) -> Ask:
    """The plan that waits to be decided on."""
    return await eventually(lambda: next((ask for ask in live.client.asks.values() if ask.kind == "plan"), None))


def job(world: World) -> Path:
    """A script that makes a directory; running it is asked for in every version and every mode but bypass."""
    path = world.cwd / "job.sh"
    path.write_text("#!/bin/sh\nmkdir $1\n")
    path.chmod(0o755)
    return path


# ---------------------------------------------------------------- the plan's text


async def test_an_allowed_plan_leaves_plan_mode(world: World, observe: Observe) -> None:
    asks = Asks(Allow())
    async with world.live([write_plan, EXIT, "Cutting."], options=PLAN_MODE, on_ask=asks) as live:
        result = await live.client.run("Make a plan")
        assert result.result == "Cutting."
        (ask,) = asks.asked
        assert (ask.kind, ask.tool_name, ask.plan) == ("plan", "ExitPlanMode", PLAN)
        assert ask.input["plan"] == PLAN
        assert PLAN.strip() in await live.tool_result_text(2)
        observe("plans: input of the ask", ", ".join(sorted(ask.input)))
        observe("plans: mode after a bare allow", modes(live) or "not announced")


async def test_a_plan_that_is_only_in_the_call(world: World, observe: Observe) -> None:
    script = [ToolUse("ExitPlanMode", {"plan": PLAN}), "Cutting."]
    async with world.live(script, options=PLAN_MODE, on_ask=left_open) as live:
        async with live.client.turn("Make a plan") as turn:
            ask_id = (await open_plan(live)).id
            ask = await eventually(lambda: live.client.asks[ask_id] if live.client.asks[ask_id].plan else None)
            assert ask.plan == PLAN
            await live.client.decide(ask.id, ApprovePlan("default"), actor="Ada", digest=ask.digest)
            assert (await turn.wait()).result == "Cutting."
        observe("plans: a plan that is in no file", f"the ask's input has {', '.join(sorted(ask.input)) or 'nothing'}")


async def test_a_file_that_claude_names_is_not_taken_for_the_plan(world: World, observe: Observe) -> None:
    diary = world.outside / "diary.md"
    diary.write_text("private")
    asks = Asks(ApprovePlan())
    script = [ToolUse("ExitPlanMode", {"planFilePath": str(diary)}), "Going on."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).result == "Going on."
        (ask,) = asks.asked
        assert ask.plan is None
        passed_on = "passed on" if "planFilePath" in ask.input else "left out of the ask"
        observe("plans: a plan file that Claude names itself", passed_on)


async def test_without_a_plan_yes_leads_to_the_default_mode(world: World, observe: Observe) -> None:
    asks = Asks(lambda ask: plan_choices(ask, live.client.plan_context)[0].answer, Allow())
    script = [EXIT, write(world.cwd / "cut.txt", "cut"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).result == "Done."
        assert asks.asked[0].plan is None
        assert asks.tools == ["ExitPlanMode", "Write"]
        observe("plans: approved without a plan", f"status: {modes(live)}")


# ---------------------------------------------------------------- approve


@pytest.mark.parametrize("mode", ["acceptEdits", "default"])
async def test_a_mode_set_with_the_plans_answer(world: World, observe: Observe, mode: Any) -> None:
    asks = Asks(ApprovePlan(mode), Allow())
    script = [write_plan, EXIT, write(world.cwd / "cut.txt", "cut"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        assert (world.cwd / "cut.txt").exists()
        assert live.client.permission_mode == mode
        asked = "asked" if "Write" in asks.tools else "not asked"
        assert asked == ("not asked" if mode == "acceptEdits" else "asked")
        observe(f"plans: setMode {mode} with the answer", f"the next Write is {asked}")


async def test_a_plan_approved_with_bypass_asks_nothing_more(world: World, observe: Observe) -> None:
    job(world)
    asks = Asks(ApprovePlan("bypassPermissions"))
    script = [write_plan, EXIT, bash("./job.sh made"), write(world.outside / "far.txt", "far"), "Done."]
    async with world.live(script, options=MAY_BYPASS, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        assert asks.tools == ["ExitPlanMode"]
        assert (world.cwd / "made").is_dir()
        assert (world.outside / "far.txt").exists()
        observe("plans: setMode bypassPermissions, launched for it", f"nothing is asked, status: {modes(live)}")


async def test_bypass_is_refused_where_it_was_not_launched_for(world: World) -> None:
    async def try_it(ask: Ask) -> RejectPlan:
        with pytest.raises(UnfitAnswer, match="not launched"):
            await live.client.decide(ask.id, ApprovePlan("bypassPermissions"), actor="Ada", digest=ask.digest)
        assert ask.id in live.client.asks
        return RejectPlan()

    async with world.live([write_plan, EXIT, "Pity."], options=PLAN_MODE, on_ask=try_it) as live:
        assert (await live.client.run("Make a plan")).result == "Pity."
        assert live.client.permission_mode == "plan"


async def test_what_the_cli_makes_of_bypass_where_it_was_not_launched_for(world: World, observe: Observe) -> None:
    update = {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}
    asks = Asks(Allow(updated_permissions=[update]), Allow())
    job(world)
    async with world.live([write_plan, EXIT, bash("./job.sh made"), "Done."], options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        asked = "asked" if "Bash" in asks.tools else "not asked"
        observe("plans: setMode bypassPermissions, not launched for it", f"the next Bash is {asked}")


async def test_the_mode_can_be_set_after_the_plan_was_allowed(world: World) -> None:
    asks = Asks(Allow())
    script = [write_plan, EXIT, "Ready.", write(world.cwd / "cut.txt", "cut"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).result == "Ready."
        await live.client.set_permission_mode("acceptEdits")
        assert (await live.client.run("Go on")).result == "Done."
        assert asks.tools == ["ExitPlanMode"]


async def test_an_edited_plan(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    asks = Asks(lambda ask: Allow({**ask.input, "plan": EDITED}))
    async with world.live([write_plan, EXIT, "Nothing."], options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        honoured = "Do nothing." in await live.tool_result_text(2)
        (plan_file,) = (world.home / ".claude" / "plans").glob("*.md")
        assert honoured is by_version(cli, {"2.1.37": False, "2.1.120": True})
        assert ("Do nothing." in plan_file.read_text()) is honoured
        observe("plans: edited plan in the answer", "honoured, file rewritten" if honoured else "ignored")


async def test_an_edited_plan_is_approved_or_refused_but_never_ignored(world: World, cli: ClaudeCLI) -> None:
    async with world.live([write_plan, EXIT, "Nothing."], options=PLAN_MODE, on_ask=left_open) as live:
        async with live.client.turn("Make a plan") as turn:
            ask = await open_plan(live)
            edited = ApprovePlan(plan=EDITED)
            if by_version(cli, {"2.1.37": True, "2.1.120": False}):
                with pytest.raises(UnfitAnswer, match="ApproveInFreshContext"):
                    await live.client.decide(ask.id, edited, actor="Ada", digest=ask.digest)
                await live.client.decide(ask.id, RevisePlan(EDITED), actor="Ada", digest=ask.digest)
            else:
                await live.client.decide(ask.id, edited, actor="Ada", digest=ask.digest)
            assert (await turn.wait()).ok
        assert "Do nothing." in await live.tool_result_text(2)


async def test_approve_then_compact(world: World) -> None:
    asks = Asks(ApprovePlan(compact=True))
    script = [write_plan, EXIT, write(world.cwd / "cut.txt", "cut"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).result == "Done."
        await live.first(CompactBoundary)
        assert asks.tools == ["ExitPlanMode"]
        ends = [type(frame) for frame in live.transport.log.frames if isinstance(frame, CompactBoundary | Result)]
        assert ends[0] is Result, "the plan is carried out before its conversation is compacted"


async def test_a_plan_approved_in_a_fresh_context(world: World, observe: Observe) -> None:
    job(world)
    plan = ApproveInFreshContext("acceptEdits", rules=["Bash(./job.sh made)"])
    async with world.live([write_plan, EXIT, "Not reached."], options=PLAN_MODE, on_ask=Asks(plan)) as live:
        result = await live.client.run("Make a plan in great detail")
        assert not result.ok
        successor = await eventually(lambda: live.client.successor)
        assert successor.prompt == f"Implement the following plan:\n\n{PLAN}"
        told = live.tool_results()[-1].content
        observe(
            "plans: deny + interrupt, for a fresh context",
            f"{outcome_of(result)}; {'own' if 'new session' in str(told) else 'stock'} text",
        )
    asks = Asks(Deny("no"))
    script = [write(world.cwd / "cut.txt", "cut"), bash("./job.sh made"), "Done."]
    async with world.live(script, options=successor.options, on_ask=asks) as live:
        assert (await live.client.run(successor.prompt)).result == "Done."
        assert not asks.asked
        assert (world.cwd / "cut.txt").exists()
        assert (world.cwd / "made").is_dir()
        first = str(live.model.requests_in()[0].messages)
        assert "Cut once" in first
        assert "great detail" not in first


# ---------------------------------------------------------------- leave for what the plan asks leave for


async def test_confirmed_prompts_become_rules_that_work(world: World) -> None:
    job(world)
    prompts = [{"tool": "Bash", "prompt": "run `./job.sh one`"}]
    asks = Asks(ApprovePlan("default", allow_prompts=True), Allow())
    leave = ToolUse("ExitPlanMode", {"allowedPrompts": prompts})
    script = [write_plan, leave, bash("./job.sh one"), bash("./job.sh two"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        assert [proposal.rules for proposal in proposed_rules(asks.asked[0])] == [("Bash(./job.sh one)",)]
        assert [ask.input.get("command") for ask in asks.asked[1:]] == ["./job.sh two"]
        assert (world.cwd / "one").is_dir()


async def test_rules_of_ones_own_work(world: World) -> None:
    job(world)
    asks = Asks(ApprovePlan("default", rules=["Bash(./job.sh:*)"]))
    script = [write_plan, EXIT, bash("./job.sh one"), bash("./job.sh two"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        assert asks.tools == ["ExitPlanMode"]
        assert (world.cwd / "two").is_dir()


async def test_the_clis_own_form_of_a_prompt_rule(world: World, observe: Observe) -> None:
    job(world)
    rule = Rule(tool_name="Bash", rule_content="prompt: run the job")
    update = msgspec.to_builtins(AddRules(rules=[rule], behavior="allow", destination="session"))
    asks = Asks(Allow(updated_permissions=[update]), Allow())
    async with world.live([write_plan, EXIT, bash("./job.sh one"), "Done."], options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        observe("plans: a rule 'prompt: …'", "has no effect" if "Bash" in asks.tools else "allows")


# ---------------------------------------------------------------- not yet, or no


async def test_a_plan_sent_back_with_feedback_is_asked_again(world: World, observe: Observe) -> None:
    asks = Asks(RevisePlan("add a third step"), ApprovePlan())
    async with world.live([write_plan, EXIT, EXIT, "Good."], options=PLAN_MODE, on_ask=asks) as live:
        result = await live.client.run("Make a plan")
        assert result.result == "Good."
        assert asks.tools == ["ExitPlanMode", "ExitPlanMode"]
        told = await live.tool_result_text(2)
        assert "add a third step" in told
        observe("plans: deny with feedback", f"plan mode stays, the model is told {told!r}")


async def test_images_follow_the_feedback(world: World) -> None:
    picture = Image(source=Source(type="base64", media_type="image/png", data=PIXEL))
    asks = Asks(RevisePlan("as in the picture", [picture]), ApprovePlan())
    script = [write_plan, EXIT, "Let me see.", "I see.", "I see."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        await live.model.wait_for(_has_seen_an_image)
        assert "as in the picture" in await live.tool_result_text(2)


def _has_seen_an_image(model: ScriptedModel) -> bool:
    return any("'type': 'image'" in str(request.messages) for request in model.requests_in())


async def test_pause_and_outline_holds_the_next_plan(world: World) -> None:
    asks = Asks(OutlinePlan(), ApprovePlan("acceptEdits"))
    script = [write_plan, EXIT, EXIT, write(world.cwd / "cut.txt", "cut"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).result == "Done."
        assert [ask.after_outline for ask in asks.asked] == [False, True]
        assert "step-by-step outline" in await live.tool_result_text(2)
        assert live.client.permission_mode == "acceptEdits"


async def test_a_rejected_plan_leaves_plan_mode_on(world: World) -> None:
    async with world.live([write_plan, EXIT, "Pity."], options=PLAN_MODE, on_ask=Asks(RejectPlan("not now"))) as live:
        assert (await live.client.run("Make a plan")).result == "Pity."
        assert "not now" in await live.tool_result_text(2)
        assert live.client.permission_mode == "plan"


# ---------------------------------------------------------------- entering plan mode


def by_the_cli(asks: Asks) -> list[Ask]:
    """The asks that the CLI made; when it enters plan mode unasked, Handrail makes one itself."""
    return [ask for ask in asks.asked if ask.request]


async def test_entering_plan_mode(world: World, observe: Observe) -> None:
    asks = Asks(EnterPlan())
    async with world.live([ToolUse("EnterPlanMode", {}), "Planning."], on_ask=asks) as live:
        result = await live.client.run("Plan first")
        assert result.result == "Planning."
        assert [ask.kind for ask in asks.asked] == ["enter_plan"]
        assert live.client.permission_mode == "plan"
        asked = "asked" if by_the_cli(asks) else "not asked"
        observe("plans: EnterPlanMode", f"{asked}, status: {modes(live) or 'none'}")


@hook("PreToolUse", matcher="EnterPlanMode")
async def ask_first(call: PreToolUseInput) -> ToolDecision:
    return ask_tool("planning first is for the user to decide")


@pytest.mark.parametrize("answer", [EnterPlan(), ImplementNow()], ids=lambda answer: type(answer).__name__)
async def test_entering_plan_mode_with_a_hook_that_has_it_asked(
    world: World, cli: ClaudeCLI, observe: Observe, answer: Any
) -> None:
    asks = Asks(answer)
    async with world.live([ToolUse("EnterPlanMode", {}), "Go.", "Go."], on_ask=asks, hooks=[ask_first]) as live:
        assert (await live.client.run("Plan first")).result == "Go."
        assert [ask.kind for ask in asks.asked] == ["enter_plan"]
        asked = bool(by_the_cli(asks))
        observe("plans: EnterPlanMode, a hook says ask", "asked" if asked else "not asked")
        assert asked is by_version(cli, {"2.1.37": False, "2.1.120": True})
        if asked:
            assert live.client.permission_mode == ("plan" if isinstance(answer, EnterPlan) else "default")


async def test_plan_mode_that_was_entered_unasked_is_left_with_one_answer(world: World) -> None:
    def go_on(request: ModelRequest) -> ToolUse | str:
        newest = str(request.messages[-1])
        return write(world.cwd / "cut.txt", "cut") if "Cut it" in newest else "Very well."

    asks = Asks(ImplementNow())
    script = [ToolUse("EnterPlanMode", {}), *[go_on] * 8]
    async with world.live(script, options=Options(permission_mode="acceptEdits"), on_ask=asks) as live:
        assert (await live.client.run("Plan first")).ok
        await live.model.wait_for(lambda model: "start implementing now" in str(model.requests_in()[-1].messages))
        await eventually(lambda: live.client.permission_mode == "acceptEdits")
        await live.client.send("Cut it")
        await eventually((world.cwd / "cut.txt").exists)
        assert asks.tools == ["EnterPlanMode"]
