"""Every screen as axe sees it, light and dark, on a desk and on a phone: nothing serious."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from ..server.support import ServedHub
from .hubs import Visit
from .scenes import busy_hub
from .visitor import Visitor

SERIOUS = ("serious", "critical")
AXE = Axe()
# Loading style sheets anew is what a content policy is there to forbid.
OPTIONS = {"resultTypes": ["violations"], "preload": False}

look = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


async def nothing_serious(visitor: Visitor, where: str) -> None:
    results = await AXE.run(visitor.page, options=OPTIONS)
    found = [violation for violation in results.response["violations"] if violation["impact"] in SERIOUS]
    told = [
        f"{where}: {violation['id']}: {node['html'][:150]} ({node['failureSummary']})"
        for violation in found
        for node in violation["nodes"]
    ]
    assert not told, "\n".join(told)


async def settled(visitor: Visitor) -> None:
    """Wait until nothing is being loaded."""
    await expect(visitor("main h1").first).to_be_visible()
    await expect(visitor("main > * .spinner:visible:not([role=img])")).to_have_count(0)


@look
async def test_asks_and_conversations(hub: ServedHub, visit: Visit, dark: bool) -> None:
    sessions = await busy_hub(hub)
    ada = await visit(hub, dark=dark)
    await expect(ada("handrail-inbox handrail-ask")).to_have_count(5)
    await nothing_serious(ada, "the inbox")
    await ada.open_cards()
    await nothing_serious(ada, "the inbox, opened")
    for name, prepare in WAYS.items():
        await ada.follow(f"/s/{sessions[name].id}")
        await expect(ada(f"handrail-session[data-session='{sessions[name].id}'] .session-title")).not_to_be_empty()
        await prepare(ada)
        await nothing_serious(ada, name)


async def opened_calls(ada: Visitor) -> None:
    await expect(ada.said).to_have_count(2)
    await ada("details.thought summary").first.click()
    await ada("[data-type=tools] > .action-line").first.click()
    await ada("[data-tool=Edit] .action-line").click()
    await expect(ada("[data-tool=Edit] .detail").first).to_be_visible()
    await ada.page.get_by_role("button", name="Session menu").click()
    await expect(ada("[role=menu]")).to_be_visible()


async def with_a_reason(ada: Visitor) -> None:
    await ada.act("deny-reason").click()
    await expect(ada.card.locator("textarea")).to_be_focused()


async def with_changes(ada: Visitor) -> None:
    await ada.act("edit").click()
    await expect(ada.card.locator("textarea").first).to_be_visible()


async def with_a_comment(ada: Visitor) -> None:
    await ada.card.locator(".plan-add").nth(1).click()
    await expect(ada.card.get_by_label("Comment", exact=True)).to_be_focused()


async def answered(ada: Visitor) -> None:
    await ada.card.locator(".question-option input").first.check()
    await ada.act("allow").click()
    await expect(ada.card.locator("input[type=checkbox]").first).to_be_visible()


async def as_it_is(ada: Visitor) -> None:
    await expect(ada.card).to_be_visible()


WAYS: dict[str, Callable[[Visitor], Awaitable[None]]] = {
    "talk": opened_calls,
    "command": with_a_reason,
    "change": with_changes,
    "plan": with_a_comment,
    "question": answered,
    "form": as_it_is,
}


@look
async def test_the_other_pages(hub: ServedHub, visit: Visit, dark: bool) -> None:
    ada = await visit(hub, dark=dark)
    await settled(ada)
    await nothing_serious(ada, "the empty inbox")
    await busy_hub(hub)
    for path in ("/sessions", "/new", "/hosts", "/usage", "/policy", "/settings"):
        await ada.follow(path)
        await settled(ada)
        await nothing_serious(ada, path)
    await ada.page.keyboard.press("?")
    await expect(ada("dialog.help")).to_be_visible()
    await nothing_serious(ada, "help")
    await ada.page.keyboard.press("Escape")
    await ada.context.clear_cookies()
    ada.expects("status of 401", "WebSocket connection to")
    await ada.goto("/")
    await expect(ada("handrail-login")).to_be_visible()
    await nothing_serious(ada, "login")


@look
async def test_a_phone(hub: ServedHub, visit: Visit, dark: bool) -> None:
    sessions = await busy_hub(hub)
    ada = await visit(hub, dark=dark, phone=True)
    await expect(ada("handrail-inbox handrail-ask")).to_have_count(5)
    await nothing_serious(ada, "the inbox")
    await ada("handrail-inbox .ask-one-line").first.tap()
    await expect(ada("dialog.ask-sheet [data-act=allow]")).to_be_visible()
    await nothing_serious(ada, "a sheet")
    for name in ("talk", "plan"):
        await ada.open_session(sessions[name].id)
        await expect(ada(".ask-waiting, .run-end")).to_be_visible()
        await nothing_serious(ada, name)


@look
async def test_the_playground(playground: ServedHub, visit: Visit, dark: bool) -> None:
    ada = await visit(playground, dark=dark)
    ada.expects("status of 404.*session=playground")
    await ada.goto("/playground")
    await expect(ada(".scene")).not_to_have_count(0)
    await nothing_serious(ada, "the playground")
