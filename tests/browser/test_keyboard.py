"""Everything by keys, and no key that fires while somebody types."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from handrail.sessions.session import Session
from handrail.testing import simulated as sim

from ..server.support import ServedHub
from .hubs import Visit


async def asking(hub: ServedHub, command: str) -> Session:
    session = await hub.session(sim.turn(sim.tool("Bash", {"command": command}), f"Ran {command}."), sim.loop_turns())
    await session.send(f"Please {command}")
    await hub.asked(session)
    return session


async def test_the_inbox_is_worked_through_with_keys(hub: ServedHub, visit: Visit) -> None:
    for command in ("make one", "make two", "make three"):
        await asking(hub, command)
    ada = await visit(hub)
    await ada.goto("/sessions")
    press = ada.page.keyboard.press
    selected = ada("handrail-inbox handrail-ask.selected")
    await expect(ada("handrail-session-row")).to_have_count(3)
    await press("i")
    await expect(selected).to_contain_text("make one")
    await press("j")
    await expect(selected).to_contain_text("make two")
    await press("k")
    await expect(selected).to_contain_text("make one")
    await press("j")
    await expect(selected).to_contain_text("make two")
    await press("d")
    await expect(ada("handrail-inbox .ask-closed")).to_contain_text("Denied by you")
    await expect(selected).to_contain_text("make three")
    await press("k")
    await expect(selected).to_contain_text("make one")
    await press("a")
    await expect(ada("handrail-inbox .ask-closed")).to_have_count(2)
    await expect(ada("#announcements")).to_contain_text("1 ask left")
    await expect(selected).to_contain_text("make three")
    await press("Enter")
    await expect(ada("handrail-session .session-title")).to_have_text("Please make three")
    await press("a")
    await expect(ada.said.last).to_have_text("Ran make three.")


async def test_menus_and_editors_by_key(hub: ServedHub, visit: Visit) -> None:
    session = await asking(hub, "make one")
    ada = await visit(hub)
    await ada.open_session(session.id)
    await expect(ada.card).to_be_visible()
    press = ada.page.keyboard.press
    await press("w")
    menu = ada("[role=menu]")
    await expect(menu.get_by_role("menuitem").first).to_be_focused()
    await press("Escape")
    await expect(menu).to_have_count(0)
    await expect(ada.act("always")).to_be_focused()
    await press("e")
    command = ada.card.locator("textarea[name=command]")
    await expect(command).to_be_focused()
    # Letters are letters here.
    await command.press("End")
    await ada.page.keyboard.type(" && ajdwein?/")
    await expect(command).to_have_value("make one && ajdwein?/")
    await expect(ada("dialog")).to_have_count(0)
    await press("Escape")
    await expect(ada.act("allow")).to_be_visible()
    await expect(ada.card).to_have_attribute("data-state", "pending")


async def test_keys_never_fire_while_somebody_types(hub: ServedHub, visit: Visit) -> None:
    session = await asking(hub, "make one")
    ada = await visit(hub)
    await ada.open_session(session.id)
    await expect(ada.card).to_be_visible()
    await ada.field.focus()
    await ada.page.keyboard.type("aadd wein jk /?")
    await expect(ada.field).to_have_value("aadd wein jk /?")
    await expect(ada.page).to_have_url(f"{hub.url}/s/{session.id}")
    await expect(ada("dialog")).to_have_count(0)
    await expect(ada.card).to_have_attribute("data-state", "pending")
    search = ada.page.get_by_label("Search sessions")
    await search.focus()
    await ada.page.keyboard.type("adn")
    await expect(search).to_have_value("adn")
    await expect(ada.card).to_have_attribute("data-state", "pending")
    # With a modifier a key is the browser's, or another program's.
    await search.blur()
    await ada.page.keyboard.press("Alt+a")
    await expect(ada.card).to_have_attribute("data-state", "pending")
    assert [row.state for row in await hub.hub.store.asks(session.id)] == ["pending"]


async def test_escape_interrupts_when_it_is_pressed_twice(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session(sim.turn("Working.", sim.sleep(600)))
    await session.send("Work")
    ada = await visit(hub)
    await ada.open_session(session.id)
    stop = ada.page.get_by_role("button", name="Interrupt Claude")
    await expect(stop).to_be_visible()
    await ada("handrail-session-head").click()
    await ada.page.keyboard.press("Escape")
    await expect(stop).to_contain_text("Press again to interrupt")
    await expect(ada("handrail-session")).to_have_attribute("data-status", "running")
    await ada.page.keyboard.press("Escape")
    await expect(stop).to_be_hidden()
    await expect(ada("[data-type=end]")).to_contain_text("Interrupted")


@pytest.mark.parametrize(
    ("keys", "path"), [(["i"], "/inbox"), (["n"], "/new"), (["g", "s"], "/sessions")], ids=["i", "n", "gs"]
)
async def test_keys_lead_to_pages(hub: ServedHub, visit: Visit, keys: list[str], path: str) -> None:
    ada = await visit(hub)
    await ada.goto("/usage")
    await expect(ada("handrail-usage")).to_be_visible()
    for key in keys:
        await ada.page.keyboard.press(key)
    await expect(ada.page).to_have_url(hub.url + path)


async def test_help_and_search(hub: ServedHub, visit: Visit) -> None:
    ada = await visit(hub)
    await expect(ada("main h1")).to_be_visible()
    await ada.page.keyboard.press("?")
    dialog = ada.page.get_by_role("dialog", name="Keys")
    await expect(dialog).to_contain_text("Allow, approve or send")
    await ada.page.keyboard.press("i")  # keys rest while a dialog is open
    await ada.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await ada.page.keyboard.press("/")
    await expect(ada.page.get_by_label("Search sessions")).to_be_focused()


async def test_the_skip_link_and_the_focus_are_seen(hub: ServedHub, visit: Visit) -> None:
    ada = await visit(hub)
    await expect(ada("main h1")).to_be_visible()
    await ada.page.keyboard.press("Tab")
    skip = ada.page.get_by_role("link", name="Skip to the page")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await ada.page.keyboard.press("Enter")
    await expect(ada("#main")).to_be_focused()
