"""Plans on the real CLI: comments that become the feedback, an edited plan, and what happens after approval."""

from __future__ import annotations

from playwright.async_api import expect

from handrail.testing.replies import Reply, ToolUse

from .hubs import OpenHub, RealHub, Visit, start_from_the_page, told
from .visitor import Visitor

PLAN = """# A calmer cache

Every test gets a cache of its own.

1. Give each test a directory
2. Wait for the refresh
"""


def proposed(plan: str = PLAN) -> Reply:
    return Reply("This is what I would do.", ToolUse("ExitPlanMode", {"plan": plan}))


async def plan_waiting(hub: RealHub, visit: Visit) -> Visitor:
    ada = await visit(hub)
    await start_from_the_page(ada, "Make the tests calm", permission_mode="plan")
    await expect(ada.card.locator(".plan-part").first).to_contain_text("A calmer cache")
    return ada


async def test_comments_on_paragraphs_become_the_feedback(real: OpenHub, visit: Visit) -> None:
    hub = await real([proposed(), proposed("# A calmer cache\n\nOne cache for all.\n"), "Done."])
    ada = await plan_waiting(hub, visit)
    paragraph = ada.card.locator(".plan-part", has_text="Every test gets")
    await paragraph.get_by_role("button", name="Comment on").click()
    await paragraph.get_by_label("Comment", exact=True).fill("One cache is enough")
    await paragraph.get_by_role("button", name="Comment", exact=True).click()
    await expect(ada.act("revise")).to_have_text("Revise · 1 comment")

    # What was written survives a reload.
    await ada.page.reload()
    await expect(paragraph.locator(".plan-comment")).to_contain_text("One cache is enough")
    await ada.act("revise").click()
    await ada.card.get_by_label("Anything else?").fill("Keep it short.")
    await ada.act("send").click()

    await expect(ada.card.locator(".plan-part").last).to_contain_text("One cache for all.")
    feedback = told(hub)
    assert "> Every test gets a cache of its own.\\n\\nOne cache is enough" in feedback
    assert "Keep it short." in feedback
    await expect(ada.closed).to_contain_text("sent back")
    await expect(ada.card.locator(".plan-comment")).to_have_count(0)


async def test_an_edited_plan_is_approved(real: OpenHub, visit: Visit) -> None:
    hub = await real([proposed(), "Carried out."])
    ada = await plan_waiting(hub, visit)
    await ada.act("edit").click()
    editor = ada.card.get_by_label("The plan, in Markdown")
    await expect(editor).to_have_value(PLAN)
    await editor.fill("# A calmer cache\n\nJust delete it.\n")
    await expect(ada.act("allow")).to_contain_text("Approve my version · accept edits")
    await ada.act("choices").click()
    await ada.page.get_by_role("menuitemradio", name="ask for each edit").click()
    await expect(ada.act("allow")).to_contain_text("Approve my version · ask for each edit")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("Carried out.")
    assert "Just delete it." in told(hub)
    await expect(ada.closed).to_contain_text("Plan approved")
    await expect(ada.page.get_by_role("button", name="Permission mode")).to_have_text("Ask")


async def test_a_plan_is_approved_as_it_is(real: OpenHub, visit: Visit) -> None:
    hub = await real([proposed(), "Carried out."])
    ada = await plan_waiting(hub, visit)
    await expect(ada.act("allow")).to_contain_text("Approve · accept edits")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("Carried out.")
    await expect(ada.page.get_by_role("button", name="Permission mode")).to_have_text("Accept edits")


async def test_a_plan_is_rejected(real: OpenHub, visit: Visit) -> None:
    hub = await real([proposed(), "Then not."])
    ada = await plan_waiting(hub, visit)
    await ada.act("deny").click()
    await ada.card.get_by_label("Tell Claude why").fill("No caches at all.")
    await ada.act("send").click()
    await expect(ada.closed).to_contain_text("rejected")
    await expect(ada.said.last).to_have_text("Then not.")
    assert "No caches at all." in told(hub)
