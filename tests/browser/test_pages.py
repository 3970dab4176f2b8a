"""Every page with something on it, the demo, and what the page lets nobody do who may not."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from handrail.cli.serving.demo import HubDemo
from handrail.testing.cli_cache import ClaudeCLI

from ..server.support import Around, ServedHub
from .hubs import OpenHub, Visit
from .journals import write_session
from .scenes import conversation, used


async def test_the_demo_is_played_from_the_empty_page(real: OpenHub, cli: ClaudeCLI, visit: Visit) -> None:
    hub = await real([])
    around = hub.served.hub.surroundings
    assert isinstance(around, Around)
    async with HubDemo(hub.served.manager, cli_path=str(cli.path), pace=0) as demo:
        around.demo = demo.start
        ada = await visit(hub)
        await ada.page.get_by_role("button", name="Watch the demo").click()
        await expect(ada.card).to_have_attribute("data-kind", "question")
        await ada.card.locator(".question-option input").first.check()
        await ada.act("allow").click()
        await expect(ada.card).to_have_attribute("data-kind", "plan")
        await ada.act("choices").click()
        await ada.page.get_by_role("menuitemradio", name="ask for each edit").click()
        await ada.act("allow").click()
        await expect(ada.card.locator(".ask-file")).to_contain_text("greet.sh")
        await expect(ada.card.locator("tr.added")).to_contain_text("Good to see you")
        await ada.act("allow").click()
        await expect(ada.card.locator(".ask-code")).to_contain_text("greet.sh")
        await ada.act("allow").click()
        await expect(ada.said.last).to_contain_text("You just saw the ways in which a session can need you")


async def test_a_conversation_shows_all_it_has(hub: ServedHub, visit: Visit) -> None:
    written = await write_session(hub.hub.store, conversation(), title="Fix the flaky login test")
    ada = await visit(hub)
    await ada.open_session(written.id)
    run = ada("[data-type=tools] > .action-line").first
    await expect(run).to_contain_text("4 reads, 1 search")
    await run.click()
    await expect(ada("[data-type=tools] [data-type=action]")).to_have_count(5)
    edit = ada("[data-tool=Edit]")
    await edit.locator(".action-line").click()
    await expect(edit.locator("tr.added")).to_contain_text("refreshed.wait()")
    await expect(ada(".said pre")).to_contain_text("refreshed.wait()")
    for words in ("permission mode", "was compacted", "five hour limit is near"):
        await expect(ada("[data-type=notice]", has_text=words)).to_have_count(1)
    details = ada("handrail-details")
    await expect(details).to_contain_text("38 %")
    await expect(details).to_contain_text("github")
    await details.get_by_role("button", name="Fold the details away").click()
    await expect(details).to_be_hidden()
    await ada.page.reload()
    await expect(run).to_be_visible()
    await expect(details).to_be_hidden()


async def test_usage_is_plotted(hub: ServedHub, visit: Visit) -> None:
    await write_session(hub.hub.store, conversation(), title="Fix the flaky login test", usage=used())
    ada = await visit(hub)
    await ada.goto("/usage")
    await expect(ada("handrail-usage svg").first).to_be_visible()
    await expect(ada("handrail-usage")).to_contain_text("opus")
    await expect(ada("handrail-usage")).to_contain_text("Fix the flaky login test")


async def test_rules_are_explained_added_and_removed(hub: ServedHub, visit: Visit) -> None:
    ada = await visit(hub)
    await ada.goto("/policy")
    await ada.page.get_by_label("A call", exact=True).fill("Bash(git push origin main)")
    await ada.page.get_by_role("button", name="Explain").click()
    await expect(ada("handrail-explain .verdict")).to_contain_text("You are asked")
    await ada.page.get_by_label("A call", exact=True).fill("not a call (")
    await ada.page.get_by_role("button", name="Explain").click()
    ada.expects("status of 4..")
    await expect(ada("handrail-explain .problem")).to_be_visible()

    await ada.page.get_by_label("Rule", exact=True).fill("Bash(make test)")
    await ada.page.get_by_role("button", name="Add rule").click()
    rule = ada("[data-rule='Bash(make test)']")
    await expect(rule).to_be_visible()
    await ada.page.get_by_label("A call", exact=True).fill("Bash(make test)")
    await ada.page.get_by_role("button", name="Explain").click()
    await expect(ada("handrail-explain .verdict")).to_contain_text("Allowed")
    await rule.get_by_role("button", name="Remove the rule").click()
    await ada.page.get_by_role("dialog").get_by_role("button", name="Remove rule").click()
    await expect(rule).to_have_count(0)


async def test_settings_make_and_revoke_a_token(hub: ServedHub, visit: Visit) -> None:
    ada = await visit(hub)
    await ada.goto("/settings")
    await expect(ada("handrail-settings")).to_contain_text("git is there")
    tokens = ada("handrail-tokens")
    await tokens.get_by_label("Name of the token").fill("ci")
    await tokens.get_by_role("button", name="New token").click()
    secret = await tokens.locator("code.secret").inner_text()
    assert secret.startswith("hr_")
    await ada.page.reload()
    await expect(tokens.get_by_role("button", name="Revoke ci")).to_be_visible()
    await expect(ada("body")).not_to_contain_text(secret)
    await tokens.get_by_role("button", name="Revoke ci").click()
    await ada.page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    await expect(tokens.get_by_role("button", name="Revoke ci")).to_have_count(0)
    await ada("handrail-invite").get_by_role("button", name="Make a link").click()
    await expect(ada("handrail-invite .link-text")).to_contain_text("#login=")
    await expect(ada("handrail-invite img.qr")).to_have_js_property("complete", True)
    # The theme is a matter of this browser.
    await ada.page.get_by_text("Dark", exact=True).click()
    await expect(ada("html")).to_have_css("color-scheme", "dark")


async def test_everything_is_stopped_by_one_button(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session()
    await session.send("Clean up")
    await hub.asked(session)
    ada = await visit(hub)
    await ada.goto("/settings")
    await ada("[data-action=stop-all]").click()
    dialog = ada.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("1 session running")
    await dialog.get_by_role("button", name="Stop everything").click()
    await expect(ada(".stop-all")).to_contain_text("1 session stopped")
    assert (await session.row()).status == "stopped"


async def test_sessions_are_searched_renamed_and_archived(hub: ServedHub, visit: Visit) -> None:
    for title in ("Fix the login", "Port the tests"):
        await write_session(hub.hub.store, conversation(), title=title)
    ada = await visit(hub)
    await ada.goto("/sessions")
    rows = ada("handrail-session-row")
    await expect(rows).to_have_count(2)
    await ada("main input[type=search]").fill("login")
    await expect(rows).to_have_count(1)
    await rows.get_by_role("button", name="More about").click()
    await ada.page.get_by_role("menuitem", name="Rename").click()
    await rows.get_by_label("Name of the session").fill("Fix the login for good")
    await ada.page.keyboard.press("Enter")
    await expect(rows.locator(".session-title")).to_have_text("Fix the login for good")
    await rows.get_by_role("button", name="More about").click()
    await ada.page.get_by_role("menuitem", name="Archive").click()
    await expect(rows).to_have_count(0)
    await ada("main").get_by_label("Archive").check()
    await expect(rows.locator(".session-title")).to_have_text("Fix the login for good")


async def test_a_viewer_looks_and_cannot_act(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session()
    await session.send("Clean up")
    await hub.asked(session)
    victor = await visit(hub, role="viewer", name="victor")
    await expect(victor("handrail-inbox handrail-ask")).to_contain_text("your token is a viewer's")
    await victor.open_session(session.id)
    await expect(victor.field).to_be_disabled()
    await expect(victor.act("allow")).to_have_count(0)
    await victor.page.keyboard.press("a")
    await victor.follow("/new")
    await expect(victor("[data-action=start]")).to_be_disabled()
    await victor.follow("/settings")
    await expect(victor("handrail-settings")).to_contain_text("About")
    await expect(victor("handrail-tokens")).to_have_count(0)
    assert [row.state for row in await hub.hub.store.asks(session.id)] == ["pending"]


@pytest.mark.parametrize("path", ["/s/nothing-here", "/nowhere"])
async def test_what_is_not_there_is_said(hub: ServedHub, visit: Visit, path: str) -> None:
    ada = await visit(hub)
    ada.expects("status of 404")
    await ada.follow(path)
    await expect(ada("main")).to_contain_text("no such page" if path == "/nowhere" else "cannot be shown")


async def test_a_link_that_is_used_up_is_said(hub: ServedHub, visit: Visit) -> None:
    ada = await visit(hub)
    await ada.context.clear_cookies()
    ada.expects("status of 401", "status of 403", "WebSocket connection to")
    await ada.page.goto("about:blank")
    await ada.goto("/#login=used-up")
    await expect(ada("handrail-login .problem")).to_be_visible()
    assert "login=" not in ada.page.url
    await ada.page.get_by_label("Login link or code").fill(hub.hub.login_link())
    await ada.page.get_by_role("button", name="Sign in").click()
    await expect(ada("handrail-inbox")).to_be_visible()
