"""How a chat's sessions run: what is chosen holds at once where it can, and for the sessions to come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.telegram.asks.desk import item_of
from handrail.telegram.commands.plans import leave_plan_mode, planmode_note
from handrail.telegram.commands.wishes import Wishes, mode_of, wishes
from handrail.telegram.model import Place
from handrail.telegram.state import Chat, Prefs
from handrail.testing import simulated as sim

from .support import ANN, BOB, EVE, Bench, Talk, bench, eventually, idle

PLANS = sim.turn(
    sim.tool("ExitPlanMode", {"plan": "1. Do it"}, output="The plan was approved.", suggestions=[]), "Carried out."
)

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""


@slow
async def test_models_and_modes_are_switched_at_once_and_for_the_next(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann, bob = it.chat(ANN), it.chat(BOB)
        assert "needs the role owner" in await bob.write("/model opus")
        assert "for the sessions to come" in await ann.write("/model opus")
        await ann.write("/new hello")
        session = await ann.session()
        await idle(session)
        assert _flag(it, "--model") == "opus"

        assert "The model of this chat is opus" in await ann.write("/model")
        assert "✓ opus" in ann.buttons
        assert "The model is sonnet, at once" in await ann.write("/model sonnet")
        assert _requests(it, "set_model") == [{"model": "sonnet"}]
        assert "The model is default, at once" in await ann.write("/model default")
        assert (await ann.chat()).prefs.model == ""
        assert "A model is one word" in await ann.write("/model the big one")

        assert "did you mean 'acceptEdits'" in await ann.write("/mode acceptedit")
        assert "The mode is acceptEdits" in await ann.write("/mode acceptedits")
        assert (await ann.chat()).prefs.mode == "acceptEdits"
        assert "Really?" in await ann.write("/mode bypassPermissions")
        assert (await ann.chat()).prefs.mode == "acceptEdits"
        assert "The mode is default" in await ann.press("Keep asking")
        assert [each["mode"] for each in _requests(it, "set_permission_mode")] == ["acceptEdits", "default"]

        await ann.write("/mode")
        assert ann.buttons == [
            "✓ default",
            "acceptEdits",
            "plan",
            "bypassPermissions",
            "dontAsk",
            "auto",
        ]
        assert "Plan mode is on" in await ann.press("plan")


@pytest.mark.slow
async def test_plan_mode_holds_for_every_message_and_auto_leaves_it_unasked(tmp_path: Path) -> None:
    async with bench(tmp_path, PLANS, PLANS) as it:
        ann, bob = it.chat(ANN), it.chat(BOB, Place(ANN.id))
        said = await ann.write("/planmode auto")
        assert "plan first, then go on by itself (not the CLI's own mode auto)" in said
        assert "After the plan the mode is default." in said
        await ann.write("/new do it")
        session = await ann.session()
        assert _flag(it, "--permission-mode") == "plan"
        await _left_alone(it, ann, session)
        await idle(session)
        closed = (await session.asks(("sent",)))[0]
        assert (closed.decided_by, closed.surface) == ("Ann", "telegram")

        # Somebody who may not switch modes writes on: the plan mode that an owner chose holds for that, too.
        before = len(_requests(it, "set_permission_mode"))
        await it.sessions.send(it.people.hub_for(BOB), bob.place, "again", message_id=99)
        assert [each["mode"] for each in _requests(it, "set_permission_mode")[before:]] == ["plan"]
        await _left_alone(it, ann, session)

        assert "no plan first" in await ann.write("/planmode off")
        assert _requests(it, "set_permission_mode")[-1]["mode"] == "default"
        assert await it.state.read(lambda tables: tables.noted(planmode_note(ann.place))) == str(ANN.id)


@slow
async def test_a_plan_is_for_a_person_where_plan_mode_is_not_auto(tmp_path: Path) -> None:
    async with bench(tmp_path, PLANS) as it:
        ann = it.chat(ANN)
        await ann.write("/planmode on")
        assert "The mode after a plan is acceptEdits" in await ann.write("/mode acceptEdits")
        await ann.write("/new do it")
        session = await ann.session()
        ask = (await eventually(session.asks))[0]
        hub = it.people.hub_for(ANN)
        assert not await leave_plan_mode(hub, await ann.chat(), session, item_of(ask))
        await ann.write("/planmode auto")
        viewer = it.people.hub_for(EVE)
        assert not await leave_plan_mode(viewer, await ann.chat(), session, item_of(ask))
        assert await leave_plan_mode(hub, await ann.chat(), session, item_of(ask))
        assert await leave_plan_mode(hub, await ann.chat(), session, item_of(ask))  # it is answered
        closed = (await session.asks(("decided", "sent")))[0]
        assert b'"acceptEdits"' in (closed.answer or b"")


@slow
async def test_policies_and_budgets_hold_from_the_next_start_on(tmp_path: Path) -> None:
    async with bench(tmp_path, sim.loop_turns("Done.")) as it:
        ann = it.chat(ANN)
        await ann.write("/new hello")
        session = await ann.session()
        await idle(session)
        assert "There is no profile 'caerful': did you mean 'careful'" in await ann.write("/policy caerful")
        await ann.write("/policy")
        assert "runs as it was started" in await ann.press("readonly")
        assert '"Write"' not in _flag(it, "--settings")
        assert "was started again" in await ann.press("Start it again now")
        assert '"Write"' in _flag(it, "--settings")

        await session.stop()
        await ann.write("/model haiku")
        await it.sessions.send(it.people.hub_for(BOB), ann.place, "again", message_id=98)
        assert _flag(it, "--model") == "haiku"


@slow
async def test_a_session_that_has_cost_its_budget_asks(tmp_path: Path) -> None:
    async with bench(tmp_path, *[sim.turn("Done.", result={"total_cost_usd": cost}) for cost in (3.0, 6.0, 9.0)]) as it:
        ann = it.chat(ANN)
        for wrong in ("-1", "0", "much", "1e9"):
            assert "Write what a session may cost" in await ann.write(f"/budget {wrong}")
        assert "may cost $2.50. Then it pauses and asks." in await ann.write("/budget 2,50 $")
        await ann.write("/new hello")
        session = await ann.session()
        await eventually(lambda: _has_cost(session))
        await it.sessions.send(it.people.hub_for(ANN), ann.place, "again", message_id=98)
        assert [ask.kind for ask in await eventually(session.asks)] == ["budget"]

        assert "hello has cost $3.00." in await ann.write("/budget")
        await ann.press("$5.00")
        assert (await ann.chat()).prefs.budget == 5.0
        await ann.write("/budget off")
        assert (await ann.chat()).prefs.budget is None


async def test_what_is_shown_where_is_chosen(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        bob, eve = it.chat(BOB), it.chat(EVE)
        assert "needs the role approver: you are a viewer" in await eve.write("/verbose on")
        await bob.write("/verbose")
        assert bob.buttons == ["on", "✓ off"]
        await bob.press("on")
        assert (await bob.chat()).prefs.verbose
        await bob.write("/inbox")
        assert bob.buttons == ["on", "✓ off"]
        await bob.press("✓ off")
        assert (await bob.chat()).prefs.inbox is False
        await bob.write("/inbox ON")
        assert (await bob.chat()).prefs.inbox is True
        assert "There is no setting 'maybe'" in await bob.write("/inbox maybe")


@pytest.mark.parametrize(
    ("prefs", "mode"),
    [
        (Prefs(), None),
        (Prefs(mode="acceptEdits"), "acceptEdits"),
        (Prefs(planmode="off"), "default"),
        (Prefs(planmode="off", mode="dontAsk"), "dontAsk"),
        (Prefs(planmode="on", mode="acceptEdits"), "plan"),
        (Prefs(planmode="auto"), "plan"),
    ],
)
def test_plan_mode_goes_before_the_mode(prefs: Prefs, mode: str | None) -> None:
    assert mode_of(prefs) == mode
    assert wishes(Chat(place=Place(1), prefs=prefs)) == Wishes(mode=mode)


async def _left_alone(it: Bench, ann: Talk, session: Any) -> None:
    """Have the bridge answer the plan, once it is asked about."""
    ask = (await eventually(session.asks))[0]
    user = await it.state.read(lambda tables: tables.noted(planmode_note(ann.place)))
    hub = it.people.hub_for(it.people.user(int(user or 0)) or EVE)
    assert await leave_plan_mode(hub, await ann.chat(), session, item_of(ask))


async def _has_cost(session: Any) -> bool:
    return bool((await session.row()).cost_usd)


def _flag(it: Bench, name: str) -> str:
    """What the CLI was last started with: as `--name value` or `--name=value`."""
    words = " ".join(it.cli.launches()[-1].argv).replace(f"{name}=", f"{name} ").split(" ")
    return words[words.index(name) + 1]


def _requests(it: Bench, subtype: str) -> list[dict[str, Any]]:
    lines = [line for line in it.cli.received() if isinstance(line, dict)]
    requests = [line["request"] for line in lines if line.get("type") == "control_request"]
    return [
        {name: value for name, value in request.items() if name != "subtype"}
        for request in requests
        if request["subtype"] == subtype
    ]
