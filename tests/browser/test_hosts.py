"""Hosts on the page: let in, used, out of reach, back, drained and removed; and sessions that say where they run."""

from __future__ import annotations

import shlex
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from handrail.host.enrolling import enrol
from handrail.link import wire
from handrail.server.hosts import commands

from ..host.fleet import hub_behind
from ..host.middle import Middle, middle
from ..host.support import ASKS, RunningHost, eventually, made, running_host
from ..server.hosts.fake_host import FakeHost, Link, fake_host
from ..server.support import ServedHub
from .hubs import Visit
from .test_accessibility import nothing_serious
from .test_phone import fits
from .visitor import Visitor


@dataclass
class Fleet:
    """A hub, the line over which its hosts reach it, and the hosts."""

    served: ServedHub
    line: Middle
    directory: Path
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def joins(self, code: str, name: str) -> RunningHost:
        """A machine becomes a host with a code, and connects."""
        identity = await enrol(self.line.url, code, name)
        directory = made(self.directory / name)
        made(directory / "projects" / "shop")
        host = await self._stack.enter_async_context(running_host(directory, self.line.url, *ASKS, key=identity.key))
        await host.told("connected")
        return host

    async def host(self, name: str = "build-box") -> RunningHost:
        return await self.joins(await self.code(name), name)

    async def code(self, name: str) -> str:
        async with self.served.client() as owner:
            return str((await owner.post("/api/hosts/enrolments", json={"name": name})).json()["code"])

    async def fake(self, name: str, **facts: Any) -> tuple[FakeHost, Link]:
        """A machine that only tells of itself, and does what the test says."""
        host = await self._stack.enter_async_context(fake_host(self.served, self.directory, name))
        host.facts = msgspec.structs.replace(host.facts, **facts)
        return host, await self._stack.enter_async_context(host.connected())

    async def session(self, host: RunningHost, prompt: str = "Clean up") -> str:
        """A session on a host, which asks for something."""
        wanted = {"cwd": str(host.projects / "shop"), "host": "build-box", "prompt": prompt}
        async with self.served.client() as owner:
            answer = await owner.post("/api/sessions", json=wanted)
        assert answer.status_code == 201, answer.text
        session = str(answer.json()["id"])
        await eventually(lambda: self.served.manager.session(session).asks())
        return session


@pytest_asyncio.fixture(loop_scope="session")
async def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    """A hub with hosts, which are not waited for when they are away."""
    monkeypatch.setattr(commands, "COMING_BACK", 0.3)
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        all_of_it = Fleet(served, line, tmp_path)
        async with all_of_it._stack:
            yield all_of_it


def card_of(visitor: Visitor, name: str) -> Locator:
    """The card of a machine."""
    return visitor.page.get_by_role("article", name=name, exact=True)


async def test_a_machine_is_let_in_and_runs_a_session(fleet: Fleet, visit: Visit) -> None:
    ada = await visit(fleet.served)
    await ada.goto("/hosts")
    await expect(ada("handrail-host-card")).to_have_count(1)
    await expect(ada("handrail-host-card")).to_contain_text("this hub")
    await ada.page.get_by_label("Name of the machine").fill("build-box")
    await ada.page.keyboard.press("Enter")
    command = await ada(".enrolment code").inner_text()
    await ada(".enrolment").get_by_role("button", name="Copy").click()
    assert await ada.page.evaluate("() => navigator.clipboard.readText()") == command
    words = shlex.split(command)
    assert words[:3] == ["handrail", "host", "--hub"]
    await expect(ada(".enrolment")).to_contain_text("left")

    host = await fleet.joins(words[words.index("--code") + 1], words[words.index("--name") + 1])
    await expect(ada(".enrolment")).to_contain_text("build-box is here")
    await expect(ada("body")).not_to_contain_text("--code")
    card = card_of(ada, "build-box")
    await expect(card).to_have_attribute("data-state", "connected")
    await expect(card).to_contain_text(str(host.projects))
    await expect(card).to_contain_text("gpu")

    await ada(".enrolment").get_by_role("link", name="New session on build-box").click()
    await expect(ada.page.get_by_label("Machine").locator("option:checked")).to_have_text("build-box (gpu)")
    directory = ada.page.get_by_label("Directory", exact=True).last
    await expect(directory).to_have_value(str(host.projects))
    await ada(".directory-list").get_by_role("button", name="shop").click()
    await expect(directory).to_have_value(str(host.projects / "shop"))
    # What the machine's owner lets a hub choose, and no more.
    assert set(await ada.page.get_by_label("Policy").locator("option").all_inner_texts()) == {
        "Default (of build-box)",
        "careful",
        "edits",
        "readonly",
    }
    await ada.page.get_by_label("Prompt").fill("Clean up")
    await ada.page.get_by_role("button", name="Start", exact=True).click()

    await expect(ada("handrail-session-head .session-host")).to_contain_text("build-box")
    await expect(ada("handrail-details")).to_contain_text("build-box")
    await expect(ada.card).to_contain_text("on build-box")
    await expect(ada(".side-list .side-where")).to_contain_text("build-box · shop")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("All clean.")
    await expect(ada.closed.last).to_contain_text("Allowed by ada, from the page")
    session = await ada("handrail-session").get_attribute("data-session")
    (ask,) = await host.manager.store.asks(session)
    assert (ask.decided_by, ask.surface) == ("ada", "web")
    await ada.send("more")
    await expect(ada.said.last).to_have_text("You said more.")


async def test_while_a_host_is_away_it_is_said_and_nothing_is_lost(fleet: Fleet, visit: Visit) -> None:
    session = await fleet.session(await fleet.host())
    ada, grace = await visit(fleet.served), await visit(fleet.served, name="grace")
    ada.expects("status of 503")
    await ada.open_session(session)
    await grace.goto("/hosts")
    more = grace.page.get_by_role("button", name="More about build-box")
    await more.focus()
    await ada.act("deny-reason").click()
    await ada.page.keyboard.type("Not n")

    fleet.line.cut()
    await expect(ada("handrail-session-head .host-chip")).to_have_text("build-box, away")
    note = ada.card.locator(".ask-away")
    await expect(note).to_contain_text("build-box is not connected. What runs there goes on, nothing is lost.")
    await expect(ada(".composer-status")).to_contain_text("build-box is not connected")
    await expect(ada("handrail-details")).to_contain_text("not connected")
    # Whoever types is not disturbed.
    await ada.page.keyboard.type("ow")
    await expect(ada.card.locator("textarea")).to_have_value("Not now")
    await expect(card_of(grace, "build-box")).to_have_attribute("data-state", "away")
    await expect(card_of(grace, "build-box")).to_contain_text("Last seen")
    await expect(more).to_be_focused()

    await ada.card.get_by_role("button", name="Back").click()
    await ada.page.keyboard.press("a")
    refused = ada.card.locator(".ask-status")
    await expect(refused).to_contain_text("Nothing is lost: try again when it is back.")
    await ada.send("Hello?")
    await expect(ada("handrail-composer > .problem")).to_contain_text("It was not sent.")
    await expect(ada.field).to_have_value("Hello?")
    await ada.page.get_by_role("button", name="Session menu").click()
    await expect(ada("[role=menu]")).to_contain_text("build-box is not connected now")
    await ada.page.keyboard.press("Escape")

    fleet.line.lead_to(fleet.served.url)
    await expect(note).to_be_hidden()
    await expect(refused).to_be_empty()
    await expect(ada("handrail-session-head .host-chip")).to_have_count(0)
    await expect(card_of(grace, "build-box")).to_have_attribute("data-state", "connected")
    await expect(more).to_be_focused()
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("All clean.")
    await ada.field.press("Enter")
    await expect(ada.said.last).to_have_text("You said Hello?.")


async def test_a_host_is_drained_and_removed_with_the_keyboard(fleet: Fleet, visit: Visit) -> None:
    host = await fleet.host()
    session = await fleet.session(host)
    ada = await visit(fleet.served)
    await ada.goto("/hosts")
    card = card_of(ada, "build-box")
    more = ada.page.get_by_role("button", name="More about build-box")
    await more.press("Enter")
    await expect(ada.page.get_by_role("menuitem", name="Drain")).to_be_focused()
    await ada.page.keyboard.press("Enter")
    await expect(card.locator(".host-state")).to_have_text("Draining")
    await expect(card).to_contain_text("No new sessions are started there")
    await expect(more).to_be_focused()
    await ada.follow("/new")
    machine = ada.page.get_by_label("Machine")
    await expect(machine.locator("option", has_text="build-box (draining)")).to_be_disabled()

    await ada.follow("/hosts")
    await more.press("Enter")
    await ada.page.get_by_role("menuitem", name="Take new sessions again").press("Enter")
    await expect(card.locator(".host-state")).to_have_text("Connected")
    await more.press("Enter")
    await ada.page.keyboard.press("ArrowDown")
    await expect(ada.page.get_by_role("menuitem", name="Revoke…")).to_be_focused()
    await ada.page.keyboard.press("Enter")
    await expect(ada.page.get_by_role("dialog")).to_contain_text("Revoke build-box?")
    await ada.page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).press("Enter")
    await expect(ada(".hosts-gone summary")).to_have_text("1 revoked host")
    await expect(ada(".host-cards").first.locator("handrail-host-card")).to_have_count(1)

    await ada.open_session(session)
    await expect(ada(".composer-status")).to_contain_text("build-box was removed from this hub")
    await expect(ada.field).to_be_disabled()
    await expect(ada.said.first).to_have_text("Let me look.")


async def test_sessions_are_seen_by_machine(fleet: Fleet, visit: Visit) -> None:
    host = await fleet.host()
    await fleet.session(host, "Sign the release")
    here = await fleet.served.session()
    await here.send("Clean up")
    await fleet.served.asked(here)
    ada = await visit(fleet.served)
    await expect(ada("handrail-inbox .ask-host")).to_have_text("on build-box")
    await ada.follow("/hosts")
    await card_of(ada, "build-box").get_by_role("link", name="Sessions on build-box").click()
    titles = ada("handrail-session-row .session-title")
    await expect(titles).to_have_text(["Sign the release"])
    await expect(ada("handrail-session-row .host-chip")).to_have_text("build-box")
    machine = ada.page.get_by_label("Machine")
    await expect(machine.locator("option:checked")).to_contain_text("build-box")
    await machine.select_option("hub")
    await expect(titles).to_have_text(["Clean up"])
    assert ada.page.url.endswith("/sessions?host=hub")
    await ada.page.reload()
    await expect(titles).to_have_text(["Clean up"])
    await machine.select_option("")
    await expect(titles).to_have_count(2)
    await ada("main").get_by_label("Archive").check()
    await expect(ada("handrail-sessions .empty")).to_contain_text("The archive has nothing that fits.")

    await ada.follow("/settings")
    await expect(ada("handrail-settings")).to_contain_text("on every host that is connected")
    fleet.line.cut()
    await expect(ada(".side-list")).to_contain_text("build-box, away")
    await ada("[data-action=stop-all]").click()
    await expect(ada.page.get_by_role("dialog")).to_contain_text("build-box is not connected")


async def test_conversations_of_a_host_are_taken_over_there(fleet: Fleet, visit: Visit) -> None:
    host, link = await fleet.fake("build-box")
    taken = await host.session("Begun there", live=False)
    there = {"session_id": "c0ffee", "title": "Begun there", "cwd": "/srv", "updated_at": time.time(), "messages": 3}
    asked: list[dict[str, Any]] = []

    async def adopt(command: wire.Command) -> dict[str, str]:
        asked.append(msgspec.json.decode(command.params))
        await link.send_page(await host.store.copy_page(taken, after=0))
        return {"id": taken}

    link.answer("adoptable", lambda command: [there])
    link.answer("adopt", adopt)
    ada = await visit(fleet.served)
    await ada.goto("/new")
    await ada.page.get_by_text("Resume from Claude Code").click()
    await expect(ada("handrail-adoptable")).to_contain_text("There are none")
    await ada.page.get_by_label("Machine").select_option(host.id)
    await ada.page.get_by_role("button", name="Resume Begun there").click()
    await expect(ada("handrail-session-head .session-host")).to_contain_text("build-box")
    assert asked == [{"cli_session_id": "c0ffee"}]


async def test_a_viewer_sees_hosts_and_changes_none(fleet: Fleet, visit: Visit) -> None:
    await fleet.fake("build-box")
    victor = await visit(fleet.served, role="viewer", name="victor")
    await victor.goto("/hosts")
    await expect(card_of(victor, "build-box")).to_have_attribute("data-state", "connected")
    await expect(victor("handrail-enrolment")).to_have_count(0)
    await expect(victor("main").get_by_role("button")).to_have_count(0)
    await expect(victor("main").get_by_role("link", name="New session")).to_have_count(0)


async def test_a_session_that_waits_for_its_cli(fleet: Fleet, visit: Visit) -> None:
    async with fleet.served.client() as owner:
        wanted = {"cwd": "/srv/shop", "title": "Elsewhere", "transport": "websocket"}
        answer = await owner.post("/api/ingress", json=wanted)
    assert answer.status_code == 201, answer.text
    ada = await visit(fleet.served)
    await ada.goto("/sessions")
    await expect(ada(".session-group h2")).to_contain_text("Waiting for its CLI")
    await ada("handrail-session-row a").first.click()
    await expect(ada(".session-status")).to_have_text("Waiting for its CLI")
    await expect(ada(".composer-status")).to_contain_text("Waiting for its Claude Code")


TROUBLED = {
    "trouble": "the journal cannot be written: no space is left on the disk",
    "free_bytes": 120_000_000,
    "labels": ("macos", "xcode", "a-rather-long-label-that-somebody-chose"),
    "roots": ("/Users/ada/src/" + "a-long-directory/" * 6, "/srv"),
    "clis": (wire.CliFacts(version="2.1.325", logged_in=False), wire.CliFacts(version="2.1.120")),
    "capacity": 4,
    "probe": {"status": "changed", "text": "2 behaviours are other than recorded"},
    "system": "Darwin 24.1, arm64",
}


@pytest.mark.parametrize(("phone", "dark"), [(False, False), (True, True)], ids=["desk, light", "phone, dark"])
async def test_hosts_as_axe_sees_them(fleet: Fleet, visit: Visit, phone: bool, dark: bool) -> None:
    session = await fleet.session(await fleet.host())
    await fleet.fake("a-machine-with-a-name-that-is-longer-than-a-phone-is-wide", **TROUBLED)
    ada = await visit(fleet.served, dark=dark, phone=phone)
    fleet.line.cut()
    await ada.follow("/hosts")
    await expect(card_of(ada, "build-box")).to_have_attribute("data-state", "away")
    await ada.page.get_by_role("button", name="Enrol").click()
    await expect(ada(".enrolment code")).to_be_visible()
    await nothing_serious(ada, "hosts")
    await ada.open_session(session)
    await expect(ada.card.locator(".ask-away")).to_be_visible()
    await nothing_serious(ada, "a session of a host that is away")
    for path in ("/hosts", "/sessions", "/new", "/inbox", f"/s/{session}") if phone else ():
        await ada.follow(path)
        await expect(ada("main h1")).to_be_visible()
        await expect(ada("main .spinner:visible:not([role=img])")).to_have_count(0)
        await fits(ada)
