"""Plans in a chat: read as they are written, with every answer that there is to one."""

from __future__ import annotations

from typing import Any

from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    PlanContext,
    RejectPlan,
    RevisePlan,
)
from handrail.policy.answers.plan_choices import plan_choices
from handrail.protocol import descriptions as d
from handrail.store.base import AskRow
from handrail.telegram.asks.desk import item_of
from handrail.telegram.asks.reading import read

from .support import BEA, Chat, FakeHub, item, row_of, texts

PLAN = "# Round\n\n1. Change `round.py`\n2. Run `pytest -q`"
NEW = PlanContext(cli_version="2.1.325", bypass_available=True, context_used=45.0)


def plan_row(plan: str = PLAN, context: PlanContext = NEW, **given: Any) -> AskRow:
    asked = {"plan": plan, **given.pop("given", {})}
    return row_of(
        d.PlanReview(plan=plan), kind="plan", tool="ExitPlanMode", given=asked, plan=plan, context=context, **given
    )


async def test_a_plan_is_rendered_and_every_choice_is_offered(chat: Chat) -> None:
    row = plan_row()
    content = await chat.show(item_of(row))
    assert "⏸ Needs you · Plan\n" in content.text.text
    assert "Change round.py" in content.text.text
    assert {entity.kind for entity in content.text.entities} >= {"bold", "code"}
    asked = read(item_of(row))
    assert asked.ask is not None
    offered = {choice.id: choice.label for choice in plan_choices(asked.ask, NEW)}
    offered |= {"outline": "Pause & Outline Plan"}
    offered |= {name: f"{offered[name]}…" for name in ("revise", "edit")}
    assert texts(content)[: len(offered)] == list(offered.values())
    assert texts(content)[len(offered) :] == ["Reject and say why…", "Deny and stop", "Show all"]
    assert [button.text for row in content.buttons for button in row if button.style == "success"] == [
        "Yes, auto-accept edits"
    ]


async def test_answers_of_one_press(chat: Chat, hub: FakeHub) -> None:
    for words, answer, toast in (
        ("Yes, clear context", ApproveInFreshContext("acceptEdits"), "Plan approved, in a fresh context"),
        ("Yes, auto-accept edits", ApprovePlan("acceptEdits"), "Plan approved"),
        ("Yes, manually", ApprovePlan("default"), "Plan approved"),
        ("Yes, auto-accept edits, then compact", ApprovePlan(compact=True), "Plan approved"),
        ("Pause & Outline Plan", OutlinePlan(), "Outlining plan…"),
        ("No, reject the plan", RejectPlan(), "Plan rejected"),
    ):
        hub.put(plan_row(row={"id": words}, digest=words))
        shown = await chat.show(item_of(hub.rows[words]))
        assert await chat.press(words, BEA, shown) == toast
        assert hub.decided.pop() == (words, answer, words, False)


async def test_bypassing_is_asked_once_more(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row())))
    assert await chat.press("Yes, and bypass permissions") == ""
    assert hub.decided == []
    content = await chat.ask()
    assert texts(content) == ["Really: Yes, and bypass permissions", "Back"]
    await chat.press("Back")
    assert len(texts(await chat.ask())) > 2
    await chat.press("Yes, and bypass permissions")
    assert await chat.press("Really", BEA) == "Only an owner may do this. You are an approver."
    await chat.press("Really")
    assert hub.decided[0][1] == ApprovePlan("bypassPermissions")


async def test_without_an_owner_nothing_is_bypassed_or_edited(chat: Chat) -> None:
    chat.desk._role_at = lambda place: "approver"
    shown = texts(await chat.show(item_of(plan_row())))
    assert not [words for words in shown if "bypass" in words or "changes of mine" in words]


async def test_a_reply_revises(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row())))
    assert await chat.reply("Mind the docs, too", BEA)
    assert hub.decided == [("ask-1", RevisePlan("Mind the docs, too"), "d1", False)]
    assert (await chat.ask()).text.text.startswith("✓ Plan sent back with changes by Bea (telegram).\n\n“Mind the docs")


async def test_words_can_be_asked_for(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row())))
    await chat.press("No, keep planning")
    await chat.press("Reject and say why")
    revise, reject = await chat.beside("prompt:")
    assert revise.content.text.text == "What should change? Reply to this message."
    await chat.reply("Not today", to=reject)
    assert hub.decided[0][1] == RejectPlan("Not today")


async def test_an_edited_plan_is_shown_again(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row())))
    await chat.press("Yes, with changes of mine")
    (prompt,) = await chat.beside("prompt:")
    assert PLAN in prompt.content.text.text
    assert await chat.reply("# Mine", BEA, to=prompt)
    assert await chat.beside("edited:") == []
    assert await chat.reply("# Mine", to=prompt)
    (edited,) = await chat.beside("edited:")
    assert "Mine" in edited.content.text.text
    await chat.press("Approve this", content=edited.content)
    assert hub.decided[0][1] == ApprovePlan("acceptEdits", plan="# Mine")


async def test_an_older_cli_takes_an_edited_plan_only_afresh(chat: Chat, hub: FakeHub) -> None:
    old = PlanContext(cli_version="2.1.62")
    content = await chat.show(item_of(hub.put(plan_row(context=old))))
    words = "Yes, with changes of mine to the plan, and clear context…"
    assert words in texts(content)
    await chat.press(words)
    (prompt,) = await chat.beside("prompt:")
    await chat.reply("# Mine", to=prompt)
    (edited,) = await chat.beside("edited:")
    await chat.press("Approve this", content=edited.content)
    assert hub.decided[0][1] == ApproveInFreshContext("acceptEdits", plan="# Mine")


async def test_leave_is_given_one_by_one(chat: Chat, hub: FakeHub) -> None:
    prompts = [{"tool": "Bash", "prompt": "run `pytest -q`"}, {"tool": "Bash", "prompt": "look around"}]
    before = await chat.show(item_of(hub.put(plan_row(given={"allowedPrompts": prompts}))))
    assert "1. Bash: run `pytest -q`  Bash(pytest -q)" in before.text.text
    assert "2. Bash: look around  (it names no command: you are asked when it comes)" in before.text.text
    await chat.press("☐ allow too: Bash(pytest -q)")
    await chat.press("☐ allow too: Bash(pytest -q)", content=before)  # pressed twice is pressed once
    assert texts(await chat.ask())[0] == "☑ allow too: Bash(pytest -q)"
    await chat.press("Yes, auto-accept edits")
    assert hub.decided[0][1] == ApprovePlan("acceptEdits", allow_prompts=[0])


async def test_an_old_button_approves_what_it_said(chat: Chat, hub: FakeHub) -> None:
    prompts = [{"tool": "Bash", "prompt": "run `pytest -q`"}]
    before = await chat.show(item_of(hub.put(plan_row(given={"allowedPrompts": prompts}))))
    await chat.press("☐ allow too")
    await chat.press("Yes, auto-accept edits", content=before)
    assert hub.decided[0][1] == ApprovePlan("acceptEdits")


async def test_leaving_plan_mode_without_a_plan(chat: Chat, hub: FakeHub) -> None:
    row = row_of(d.PlanReview(plan=""), kind="plan", tool="ExitPlanMode", context=NEW)
    content = await chat.show(item_of(hub.put(row)))
    assert "(Claude Code sent no text of the plan)" in content.text.text
    assert texts(content)[:3] == ["Yes", "No", "Reject and say why…"]
    await chat.press("Yes")
    assert hub.decided[0][1] == ApprovePlan("default")


async def test_entering_plan_mode(chat: Chat, hub: FakeHub) -> None:
    def row(name: str) -> AskRow:
        what = d.Call(tool="EnterPlanMode")
        return hub.put(row_of(what, kind="enter_plan", tool="EnterPlanMode", row={"id": name}))

    for words, answer in (("Yes, enter plan mode", EnterPlan()), ("No, start implementing now", ImplementNow())):
        content = await chat.show(item_of(row(words)))
        assert "Claude wants to plan before it changes anything." in content.text.text
        assert texts(content) == ["Yes, enter plan mode", "No, start implementing now", "Show all"]
        await chat.press(words, content=content)
        assert hub.decided.pop()[1] == answer


async def test_a_long_plan_is_shown_whole_before_its_answers(chat: Chat) -> None:
    plan = "\n".join(f"- step {number} does something" for number in range(200))
    content = await chat.show(item_of(plan_row(plan)))
    parts = await chat.beside("part:")
    assert len(parts) == 2
    assert "What exactly: in the 2 messages above." in content.text.text
    shown = "\n".join(part.content.text.text for part in parts)
    assert [number for number in range(200) if f"step {number} does" not in shown] == []
    # A shorter one takes them away again.
    await chat.show(item_of(plan_row(digest="d2")))
    assert await chat.beside("part:") == []


async def test_a_plan_that_was_over_at_once_is_shown_all_the_same(chat: Chat) -> None:
    row = {"state": "sent", "decided_by": "policy", "answer": b'{"type":"approve_plan","mode":"default"}'}
    content = await chat.show(item_of(plan_row(row=row)))
    assert content.text.text.startswith("✓ Plan approved by policy.\n\nPlan")
    assert "Change round.py" in content.text.text
    assert not content.buttons


async def test_what_is_closed_says_what_changed(chat: Chat) -> None:
    await chat.show(item_of(plan_row()))
    answer = b'{"type":"approve_plan","mode":"acceptEdits","rules":["Bash(x)"],"allow_prompts":[0],"compact":true}'
    over = plan_row(row={"state": "sent", "decided_by": "Bea", "surface": "web", "answer": answer})
    content = await chat.show(item_of(over))
    assert content.text.text.startswith(
        "✓ Plan approved by Bea (web).\n\n"
        "Mode changed: accept every edit of a file without asking.\n"
        "Rule added: Bash(x), for this session.\n"
        "Allowed beforehand: what the plan asks for under 1.\n"
        "The conversation is compacted afterwards.\n\n"
        "Plan"
    )


async def test_something_unreadable_is_shown_as_it_is(chat: Chat) -> None:
    shown = item()
    shown.ask = {"id": 7, "kind": "new", "surprise": ["x"]}
    content = await chat.show(shown)
    assert "surprise" in content.text.text
    assert texts(content)[:2] == ["Allow", "Deny"]


async def test_a_plan_that_asks_leave_for_very_much_can_still_be_answered(chat: Chat, hub: FakeHub) -> None:
    prompts = [{"tool": "Bash", "prompt": f"run `make step-{number}`"} for number in range(150)]
    content = await chat.show(item_of(hub.put(plan_row(given={"allowedPrompts": prompts}))))
    assert "☐ allow too: Bash(make step-0)" in texts(content)
    await chat.press("Yes, auto-accept edits")
    assert hub.decided[0][1] == ApprovePlan("acceptEdits")
