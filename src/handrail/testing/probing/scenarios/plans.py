"""Plan mode: a plan is asked about with its text, can be sent back, and is left in the mode that the answer sets."""

from __future__ import annotations

import re

import msgspec

from handrail.protocol.asks import Allow, Ask, Deny
from handrail.protocol.control import SetMode
from handrail.protocol.frames import Status
from handrail.protocol.options import Options
from handrail.testing.model_request import ModelRequest
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Replies, Stage, listed_names, write
from handrail.testing.replies import ToolUse

__all__ = ["PLANS"]

ASKED = Behaviour(
    name="plans: ExitPlanMode",
    need="breaks",
    otherwise="plans are carried out, or refused, without a decision",
)
TEXT = Behaviour(
    name="plans: where the plan's text is",
    need="degrades",
    otherwise="a plan is asked about without its text",
    copes="the text is taken from the ask, from the plan file, or from Claude's own call, whichever has it",
)
INPUT = Behaviour(
    name="plans: what the ask's input has",
    need="degrades",
    otherwise="the plan's file cannot be named",
    is_list=True,
)
SENT_BACK = Behaviour(
    name="plans: deny with feedback",
    need="breaks",
    otherwise="a plan that is sent back is carried out all the same, or the feedback does not arrive",
)
SET_MODE = Behaviour(
    name="plans: a mode with the answer",
    need="degrades",
    otherwise="`yes, and accept edits` asks about every edit",
    copes="where the CLI does not announce the mode, it is set with set_permission_mode",
)
EDITED = Behaviour(
    name="plans: an edited plan",
    need="degrades",
    otherwise="an edited plan is ignored: the original is carried out",
    copes="where edits are ignored, an edited plan is refused, and can be approved in a fresh context instead",
)

PLAN = "# Plan\n\n1. Measure twice\n2. Cut once\n"
EDIT = "# Plan\n\nDo nothing at all.\n"
PLAN_MODE = Options(permission_mode="plan")
EXIT = ToolUse("ExitPlanMode", {})
ACCEPT_EDITS = msgspec.to_builtins(SetMode(mode="acceptEdits", destination="session"))


def write_plan(request: ModelRequest) -> ToolUse | str:
    """Write the plan into the file that the CLI names in its reminders."""
    found = re.search(r"/[^\s\"`\\]+/plans/[\w-]+\.md", msgspec.json.encode(request.messages).decode())
    return ToolUse("Write", {"file_path": found[0], "content": PLAN}) if found else "No plan file is named."


async def play(stage: Stage) -> None:
    replies: Replies = {
        "Make a plan": [write_plan, EXIT, EXIT, write(stage.cwd / "cut.txt", "cut"), "Done."],
        "Make another plan": [write_plan, EXIT, "Nothing."],
    }
    asks = Asks(Deny("add a third step"), Allow(updated_permissions=[ACCEPT_EDITS]))
    async with stage.live(replies, options=PLAN_MODE, on_ask=asks) as live:
        await live.run("Make a plan")
        plans = [ask for ask in asks.asked if ask.kind == "plan"]
        _look_at_the_ask(stage, plans)
        told = any("add a third step" in text for text in live.told())
        back = told and len(plans) == 2
        stage.see(SENT_BACK, back, "plan mode stays, the model is told" if back else "the plan is not sent back")
        holds = "Write" not in asks.tools and stage.has("cut.txt")
        said = any(frame.permission_mode == "acceptEdits" for frame in live.all(Status))
        words = f"{'holds' if holds else 'does not hold'}, {'a' if said else 'no'} status frame says so"
        stage.see(SET_MODE, holds, words)

        await live.client.set_permission_mode("plan")
        asks.answer_next(lambda ask: Allow({**ask.input, "plan": EDIT}))
        await live.run("Make another plan")
        honoured = "Do nothing at all." in live.last_told
        stage.see(EDITED, honoured, "carried out as edited" if honoured else "ignored")


def _look_at_the_ask(stage: Stage, plans: list[Ask]) -> None:
    stage.see(ASKED, bool(plans), "asked" if plans else "not asked")
    text, given = (plans[0].plan, plans[0].input) if plans else (None, {})
    where = "in the ask" if isinstance(given.get("plan"), str) else "in the plan file" if text else "nowhere"
    stage.see(TEXT, text == PLAN, where)
    stage.see(INPUT, bool(plans), listed_names(given))


PLANS = Scenario("plans", (ASKED, TEXT, INPUT, SENT_BACK, SET_MODE, EDITED), play)
