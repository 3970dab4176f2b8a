"""The page on a phone, 390 pixels wide: a bar at the bottom, sheets, and targets that a thumb hits."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, expect

from handrail.testing import simulated as sim

from ..server.support import ServedHub
from .hubs import Visit
from .visitor import PHONE, Visitor

TARGET = 44
APART = 40
"""Pixels between Allow and Deny: no thumb slips that far."""

SMALL_TARGETS = """(least) => {
  const inText = (element) => element.matches("p a, dd a, li a, .quiet-text a, p button.link, .prose a");
  const size = (element) => {
    // A label is part of its control's target.
    const parts = [element, ...(element.labels ?? [])].map((each) => each.getBoundingClientRect());
    return [Math.max(...parts.map(({ width }) => width)), Math.max(...parts.map(({ height }) => height))];
  };
  return [...document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=button]")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !each.disabled)
    .filter((each) => !inText(each) && each.getClientRects().length > 0 && !each.matches(".skip, .visually-hidden"))
    .map((each) => [each, ...size(each)])
    .filter(([, width, height]) => width < least - 0.5 || height < least - 0.5)
    .map(([each, width, height]) => `${each.outerHTML.slice(0, 120)} ${Math.round(width)}×${Math.round(height)}`);
}"""

SIDEWAYS = "() => document.scrollingElement.scrollWidth - innerWidth"


async def fits(visitor: Visitor) -> None:
    """Nothing is wider than the screen, and everything that can be touched is large enough."""
    assert await visitor.page.evaluate(SIDEWAYS) <= 0
    small = await visitor.page.evaluate(SMALL_TARGETS, TARGET)
    assert not small, "\n".join(small)


async def box(locator: Locator) -> dict[str, float]:
    found = await locator.bounding_box()
    assert found is not None
    return dict(found)


async def test_an_ask_is_a_sheet_with_its_answers_apart(hub: ServedHub, visit: Visit) -> None:
    command = "rm -rf build\n" + "\n".join(f"echo line {number}" for number in range(80))
    session = await hub.session(sim.turn(sim.tool("Bash", {"command": command}), "Done."))
    await session.send("Clean up")
    await hub.asked(session)
    ada = await visit(hub, phone=True)

    bar = ada("nav.tabs")
    await expect(bar).to_be_visible()
    await expect(ada("aside.side")).to_be_hidden()
    at = await box(bar)
    assert at["y"] + at["height"] == pytest.approx(PHONE["height"], abs=1)
    await expect(bar.locator(".count")).to_have_text("1")
    await fits(ada)

    await ada("handrail-inbox .ask-one-line").tap()
    sheet = ada("dialog.ask-sheet")
    await expect(sheet).to_be_visible()
    allow, deny = sheet.locator("[data-act=allow]"), sheet.locator("[data-act=deny]")
    await expect(allow).to_be_in_viewport(ratio=1)
    await expect(deny).to_be_in_viewport(ratio=1)
    left, right = await box(allow), await box(deny)
    first, second = sorted((left, right), key=lambda each: each["x"])
    assert second["x"] - (first["x"] + first["width"]) >= APART
    # All of the command can be reached, by scrolling above the answers.
    last = sheet.get_by_text("echo line 79")
    await last.scroll_into_view_if_needed()
    await expect(last).to_be_in_viewport()
    await expect(allow).to_be_in_viewport(ratio=1)
    await fits(ada)

    await allow.tap()
    await expect(sheet).to_contain_text("Allowed by you")
    await sheet.get_by_role("button", name="Close").last.tap()
    await expect(sheet).to_have_count(0)
    await expect(bar.locator(".count")).to_be_hidden()


async def test_a_session_fills_the_screen(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session()
    await session.send("Clean up")
    await hub.asked(session)
    ada = await visit(hub, phone=True)
    await ada("nav.tabs").get_by_role("link", name="Sessions").tap()
    await fits(ada)
    await ada("handrail-session-row a").first.tap()
    await expect(ada("handrail-session .session-title")).to_have_text("Clean up")
    await expect(ada("nav.tabs")).to_be_hidden()
    await expect(ada.field).to_be_in_viewport(ratio=1)
    await expect(ada.act("allow")).to_be_in_viewport(ratio=1)
    left, right = await box(ada.act("allow")), await box(ada.act("deny"))
    assert abs(right["x"] - left["x"]) > PHONE["width"] / 3
    await fits(ada)

    await ada.act("allow").tap()
    await expect(ada.said.last).to_have_text("All clean.")
    # Under a finger, enter makes a new line; the button sends.
    await ada.field.tap()
    await ada.page.keyboard.type("one")
    await ada.page.keyboard.press("Enter")
    await ada.page.keyboard.type("two")
    await ada.page.get_by_role("button", name="Send").tap()
    await expect(ada.said.last).to_contain_text("You said one")
    await fits(ada)
    await ada.page.get_by_role("button", name="Back").tap()
    await expect(ada("handrail-sessions")).to_be_visible()


@pytest.mark.parametrize("path", ["/inbox", "/sessions", "/new", "/hosts", "/usage", "/policy", "/settings"])
async def test_every_page_fits(hub: ServedHub, visit: Visit, path: str) -> None:
    ada = await visit(hub, phone=True)
    await ada.goto(path)
    await expect(ada("main h1")).to_be_visible()
    await expect(ada("main .spinner:visible")).to_have_count(0)
    await fits(ada)
