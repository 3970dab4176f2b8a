"""Questions and forms on the real CLI: the wizard with several answers and words of one's own, and a server's form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from handrail.testing.replies import ToolUse

from ..e2e import elicitation_server
from .hubs import OpenHub, Visit, start_from_the_page, told

DESK = {"type": "stdio", "command": sys.executable, "args": ["-I", str(Path(elicitation_server.__file__))]}


def question(text: str, header: str, *labels: str, many: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"Take {label}"} for label in labels]
    return {"question": text, "header": header, "options": options, "multiSelect": many}


async def test_the_wizard_goes_forth_and_back(real: OpenHub, visit: Visit) -> None:
    questions = [
        question("Which colour?", "Colour", "Red", "Blue"),
        question("Which toppings?", "Toppings", "Cheese", "Olives", "Basil", many=True),
    ]
    hub = await real([ToolUse("AskUserQuestion", {"questions": questions}), "Noted."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Ask me")
    asked = ada.card.locator(".question")
    await expect(asked).to_contain_text("Which colour?")
    await expect(ada.act("allow")).to_be_disabled()
    await asked.get_by_label("Red").check()
    await ada.act("allow").click()

    await expect(asked).to_contain_text("Which toppings?")
    await asked.get_by_label("Cheese").check()
    await asked.get_by_label("Basil").check()
    await asked.get_by_label("In your own words").fill("and capers")

    await ada.act("back").click()
    await expect(asked.get_by_label("Red")).to_be_checked()
    await asked.get_by_label("Blue").check()
    await ada.act("allow").click()
    await expect(asked.get_by_label("Cheese")).to_be_checked()
    await expect(asked.get_by_label("In your own words")).to_have_value("and capers")
    await ada.act("allow").click()

    review = ada.card.locator(".question-review")
    await expect(review).to_contain_text("Blue")
    await expect(review).to_contain_text("Cheese, Basil, and capers")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("Noted.")
    answers = told(hub)
    assert "Blue" in answers
    assert "Cheese" in answers
    assert "Basil" in answers
    assert "and capers" in answers
    await expect(ada.closed).to_contain_text("by ada")


async def test_a_question_is_skipped(real: OpenHub, visit: Visit) -> None:
    asked = ToolUse("AskUserQuestion", {"questions": [question("Which colour?", "Colour", "Red", "Blue")]})
    hub = await real([asked, "As you like."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Ask me")
    await ada.act("skip").click()
    await expect(ada.said.last).to_have_text("As you like.")
    await expect(ada.closed).to_be_visible()


async def test_a_form_of_a_server_is_filled_in(real: OpenHub, visit: Visit) -> None:
    hub = await real([ToolUse("mcp__desk__book", {}), "Booked."], mcp_servers={"desk": DESK})
    ada = await visit(hub)
    await start_from_the_page(ada, "Book a table")
    await expect(ada.card).to_contain_text("a tool of the MCP server desk")
    await ada.act("allow").click()
    await expect(ada.card).to_contain_text("For how many?")
    await ada.card.get_by_label("name").fill("Ada")
    await ada.act("allow").click()
    await expect(ada.card.get_by_role("alert")).to_contain_text("seats is needed")
    await ada.card.get_by_label("seats").fill("12")
    await ada.act("allow").click()
    # What the schema does not allow is refused by the hub, and nothing typed is lost.
    ada.expects("status of 422")
    await expect(ada.card.get_by_role("alert").last).to_contain_text("seats must be at most 8", ignore_case=True)
    await ada.card.get_by_label("seats").fill("2")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("Booked.")
    assert "'Ada'" in told(hub) or '"Ada"' in told(hub)
