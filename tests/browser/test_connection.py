"""What the page does when it is loaded anew, when somebody else answers, and when the hub goes away and comes back."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from playwright.async_api import Route, expect

from handrail.testing import simulated as sim
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply

from ..server.support import ServedHub
from .hub_process import hub_process
from .hubs import OpenHub, Visit, bash, start_from_the_page

REFUSED = (
    "ERR_CONNECTION_REFUSED|WebSocket connection to|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED"
)
"""What browsers log when a hub is gone: no page can keep them from it."""

CLICK_AT = "(button, at) => void setTimeout(() => button.click(), at - Date.now())"

WORDS = " ".join(f"word{number}" for number in range(120))


async def test_a_reload_in_the_middle_loses_and_doubles_nothing(real: OpenHub, visit: Visit) -> None:
    hub = await real([Reply(WORDS, deltas=120, delta_delay=0.05), bash("mkdir made"), "Made."])
    other = await hub.served.session()
    await other.send("Clean up")
    asked = await hub.served.asked(other)
    ada = await visit(hub)
    await start_from_the_page(ada, "Talk")
    live = ada(".writing .streaming")
    await expect(live).to_contain_text("word20 ")
    await expect(ada("nav.quick .count")).to_have_text("1")

    await ada.page.reload()
    await expect(live).to_contain_text("word40 ")
    assert (await live.inner_text()).count("word20 ") == 1
    await expect(ada("nav.quick .count")).to_have_text("1")
    await expect(ada.said).to_have_text([WORDS])
    await expect(live).to_have_count(0)

    await ada.send("Make it")
    await expect(ada.card).to_have_count(1)
    await ada.page.reload()
    await expect(ada.card).to_have_count(1)
    await expect(ada(".ask-waiting")).to_have_count(1)
    await expect(ada("[data-type=prompt]")).to_have_count(2)
    await expect(ada("nav.quick .count")).to_have_text("2")

    await ada.act("allow").click()
    await expect(ada.said).to_have_text([WORDS, "Made."])
    await ada.follow("/inbox")
    await expect(ada(f"handrail-inbox handrail-ask[data-ask='{asked.id}']")).to_have_count(1)


async def test_the_first_answer_wins_and_the_other_is_told_by_whom(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session()
    await session.send("Clean up")
    await hub.asked(session)
    ada, grace = await visit(hub), await visit(hub, role="approver", name="grace")
    await ada.goto("/inbox")
    await grace.open_session(session.id)
    in_inbox = ada("handrail-inbox handrail-ask")
    await expect(in_inbox.locator("[data-act=allow]")).to_be_visible()
    await expect(grace.card).to_contain_text("rm -rf build")

    await grace.act("deny").click()
    await expect(in_inbox.locator(".ask-closed")).to_contain_text("Denied by grace, from the page", timeout=5000)
    await expect(ada("handrail-empty-inbox")).to_contain_text("Nothing waits for you")
    await expect(grace.card).to_have_count(0)
    await expect(grace.closed).to_contain_text("Denied by grace")


async def test_two_answers_at_the_same_time(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session()
    await session.send("Clean up")
    asked = await hub.asked(session)
    ada, grace = await visit(hub), await visit(hub, name="grace")
    for somebody in (ada, grace):
        somebody.expects("status of 409")
        await somebody.open_session(session.id)
        await expect(somebody.card).to_contain_text("rm -rf build")
    # In the same moment, so that no page hears of the other's answer before it gives its own.
    soon = (time.time() + 1) * 1000
    await asyncio.gather(ada.act("allow").evaluate(CLICK_AT, soon), grace.act("deny").evaluate(CLICK_AT, soon))
    for somebody in (ada, grace):
        await expect(somebody.card).to_have_count(0)
    (row,) = [row for row in await hub.hub.store.asks(session.id) if row.id == asked.id]
    for somebody in (ada, grace):
        await expect(somebody.closed).to_contain_text(f"by {row.decided_by}")


def greets(request: ModelRequest) -> Reply:
    """Greets until it is done. A CLI whose hub was killed may ask for more before it ends itself."""
    if any(not result.get("is_error") for result in request.tool_results.values()):
        return Reply("Greeted.")
    return Reply("Let me greet.", bash("echo hello > greeting.txt"))


async def test_the_hub_is_killed_with_an_ask_pending(cli: ClaudeCLI, visit: Visit, tmp_path: Path) -> None:
    async with ScriptedModel([greets] * 9) as model, cli_slot(), hub_process(cli, tmp_path, model) as hub:
        ada = await visit(hub)
        ada.expects(REFUSED)
        await start_from_the_page(ada, "Greet me")
        await expect(ada.card).to_contain_text("echo hello")

        await hub.kill()
        banner = ada(".connection")
        await expect(banner).to_contain_text("Reconnecting…, nothing is lost")
        await hub.start()
        await expect(banner).to_contain_text("Caught up")
        await expect(ada.card).to_contain_text("answering will resume it")
        await expect(ada("[data-type=prompt]")).to_have_count(1)
        await expect(ada.said).to_have_text(["Let me greet."])

        await ada.act("allow").click()
        await expect(ada.said.last).to_have_text("Greeted.")
        assert (hub.home / "greeting.txt").read_text() == "hello\n"
        await expect(ada.card).to_have_count(0)
        await expect(ada.closed.first).to_contain_text("Allowed")


async def test_a_revoked_token_is_said(hub: ServedHub, visit: Visit) -> None:
    session = await hub.session(sim.loop_turns("Hello."))
    await session.send("Hi")
    ada = await visit(hub)
    ada.expects("status of 401", "WebSocket connection to")
    await ada.open_session(session.id)
    async with hub.client() as owner:
        (token,) = [each for each in (await owner.get("/api/tokens")).json()["items"] if each["kind"] == "browser"]
        assert (await owner.delete(f"/api/tokens/{token['id']}")).is_success
    await expect(ada("handrail-login")).to_contain_text("You are signed out: your token was revoked or has expired.")
    await expect(ada("handrail-session")).to_have_count(0)
    # A new link leads back to where one was.
    await ada.page.goto(hub.hub.login_link().replace("/#", f"/s/{session.id}#"))
    await expect(ada.said.first).to_have_text("Hello.")


async def test_a_start_whose_answer_is_lost_is_one_session(hub: ServedHub, visit: Visit) -> None:
    """The hub does it, but nobody hears: the same wish once more is the same session, and another wish another one."""
    ada = await visit(hub)
    ada.expects("net::ERR_FAILED")

    async def lose_the_answer(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await ada.page.route("**/api/sessions", lose_the_answer)
    await ada.follow("/new")
    await expect(ada.page.get_by_label("Directory", exact=True).last).not_to_have_value("")
    await ada.page.get_by_label("Prompt").fill("Clean up")
    start = ada.page.get_by_role("button", name="Start", exact=True)
    await start.click()
    await expect(ada("handrail-new-session")).to_contain_text(
        "Press Start again: whatever became of the first try, there will be one session"
    )
    (first,) = await hub.manager.list()
    await ada.page.unroute("**/api/sessions", lose_the_answer)
    await start.click()
    await expect(ada("handrail-session .session-title")).to_have_text("Clean up")
    assert [row.id for row in await hub.manager.list()] == [first.id]
    assert len(await hub.manager.store.messages(first.id)) == 1
    await start_from_the_page(ada, "Clean up")
    assert len(await hub.manager.list()) == 2
