"""Plan mode: a plan allowed, edited, sent back, and what holds afterwards."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from handrail.protocol.asks import Allow, Deny
from handrail.protocol.control import SetMode
from handrail.protocol.frames import Status
from handrail.protocol.launch import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import ToolUse

from .support import Asks, Observe, World, by_version, write

PLAN_MODE = Options(permission_mode="plan")
PLAN = "# Plan\n\n1. Measure twice\n2. Cut once\n"


def write_plan(request: ModelRequest) -> ToolUse:
    """Write the plan into the file that the CLI names in its reminders."""
    text = msgspec.json.encode(request.messages).decode()
    found = re.search(r"/[^\s\"`\\]+/plans/[\w-]+\.md", text)
    assert found, "the CLI names no plan file"
    return ToolUse("Write", {"file_path": found[0], "content": PLAN})


EXIT = ToolUse("ExitPlanMode", {})


async def test_an_allowed_plan_leaves_plan_mode(world: World, observe: Observe) -> None:
    asks = Asks(Allow())
    async with world.live([write_plan, EXIT, "Cutting."], options=PLAN_MODE, on_ask=asks) as live:
        result = await live.client.run("Make a plan")
        assert result.result == "Cutting."
        (ask,) = asks.asked
        assert (ask.kind, ask.tool_name) == ("plan", "ExitPlanMode")
        assert ask.input["plan"] == PLAN
        assert PLAN.strip() in await live.tool_result_text(2)
        modes = [frame.permission_mode for frame in live.all(Status) if frame.permission_mode]
        observe("plans: input of the ask", ", ".join(sorted(ask.input)))
        observe("plans: mode after a bare allow", ", ".join(modes) or "not announced")


async def test_an_edited_plan(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    asks = Asks(lambda ask: Allow({**ask.input, "plan": "# Plan\n\nDo nothing.\n"}))
    async with world.live([write_plan, EXIT, "Nothing."], options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        honoured = "Do nothing." in await live.tool_result_text(2)
        (plan_file,) = (world.home / ".claude" / "plans").glob("*.md")
        assert honoured is by_version(cli, {"2.1.37": False, "2.1.120": True})
        assert ("Do nothing." in plan_file.read_text()) is honoured
        observe("plans: edited plan in the answer", "honoured, file rewritten" if honoured else "ignored")


async def test_a_plan_sent_back_with_feedback_is_asked_again(world: World, observe: Observe) -> None:
    asks = Asks(Deny("add a third step"), Allow())
    async with world.live([write_plan, EXIT, EXIT, "Good."], options=PLAN_MODE, on_ask=asks) as live:
        result = await live.client.run("Make a plan")
        assert result.result == "Good."
        assert asks.tools == ["ExitPlanMode", "ExitPlanMode"]
        told = await live.tool_result_text(2)
        assert "add a third step" in told
        observe("plans: deny with feedback", f"plan mode stays, the model is told {told!r}")


@pytest.mark.parametrize("mode", ["acceptEdits", "default"])
async def test_a_mode_set_with_the_plans_answer(world: World, observe: Observe, mode: str) -> None:
    update: dict[str, Any] = msgspec.to_builtins(SetMode(mode=mode, destination="session"))
    asks = Asks(Allow(updated_permissions=[update]), Allow())
    script = [write_plan, EXIT, write(world.cwd / "cut.txt", "cut"), "Done."]
    async with world.live(script, options=PLAN_MODE, on_ask=asks) as live:
        assert (await live.client.run("Make a plan")).ok
        assert (world.cwd / "cut.txt").exists()
        asked = "asked" if "Write" in asks.tools else "not asked"
        assert asked == ("not asked" if mode == "acceptEdits" else "asked")
        observe(f"plans: setMode {mode} with the answer", f"the next Write is {asked}")


async def test_entering_plan_mode(world: World, observe: Observe) -> None:
    asks = Asks(Allow())
    async with world.live([ToolUse("EnterPlanMode", {}), "Planning."], on_ask=asks) as live:
        result = await live.client.run("Plan first")
        assert result.result == "Planning."
        modes = [frame.permission_mode for frame in live.all(Status) if frame.permission_mode]
        observe(
            "plans: EnterPlanMode", f"{'asked' if asks.asked else 'not asked'}, status: {', '.join(modes) or 'none'}"
        )
