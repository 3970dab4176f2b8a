"""The pictures of the documentation: `HANDRAIL_SCREENSHOTS=1` writes them, and else it is tried whether it could."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import expect

from handrail.link.wire import HostFacts
from handrail.server.api import hosts

from ..server.support import ServedHub
from .chats import all_at_once, shop, shop_script
from .hubs import Talk, Visit
from .scenes import LAPTOP, busy_hub, hosts_around
from .visitor import Visitor

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
LARGEST = 200_000


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    if os.environ.get("HANDRAIL_SCREENSHOTS") != "1":
        return tmp_path
    IMAGES.mkdir(exist_ok=True)
    return IMAGES


PUT_PROJECT_HOME = """([here, there]) => {
  document.activeElement?.blur();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (node.data.includes(here)) node.data = node.data.replaceAll(here, there);
}"""


async def keep(visitor: Visitor, hub: ServedHub, path: Path) -> None:
    """Keep what is seen now, as if it were somebody's project and not a test's."""
    await visitor.page.evaluate(PUT_PROJECT_HOME, [str(hub.directory), "~/src/api"])
    await visitor.page.evaluate(PUT_PROJECT_HOME, ["projects", "api"])
    picture = await visitor.page.screenshot(path=path, animations="disabled", caret="hide")
    assert 10_000 < len(picture) < LARGEST


async def test_the_desk(hub: ServedHub, visit: Visit, pictures: Path) -> None:
    sessions = await busy_hub(hub)
    ada = await visit(hub)
    await expect(ada("handrail-inbox handrail-ask")).to_have_count(5)
    await expect(ada("handrail-inbox handrail-ask.selected")).to_have_count(1)
    await keep(ada, hub, pictures / "inbox.png")

    await ada.follow(f"/s/{sessions['command'].id}")
    await expect(ada.card).to_contain_text("--count 50")
    await ada("[data-tool=Edit] .action-line").click()
    await expect(ada("[data-tool=Edit] tr.added").first).to_be_visible()
    await keep(ada, hub, pictures / "session.png")

    await ada.follow(f"/s/{sessions['plan'].id}")
    part = ada.card.locator(".plan-part").nth(1)
    await part.locator(".plan-add").click()
    await part.get_by_label("Comment", exact=True).fill("Also when the refresh fails?")
    await part.get_by_role("button", name="Comment", exact=True).click()
    await expect(ada.act("revise")).to_contain_text("1 comment")
    await keep(ada, hub, pictures / "plan.png")

    await ada.follow(f"/s/{sessions['question'].id}")
    await ada.card.locator(".question-option input").first.check()
    await keep(ada, hub, pictures / "question.png")

    await ada.follow("/usage")
    await expect(ada("handrail-usage svg").first).to_be_visible()
    await expect(ada("handrail-usage")).to_contain_text("Fix the flaky login test")
    await keep(ada, hub, pictures / "usage.png")


async def test_hosts(
    hub: ServedHub, visit: Visit, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def facts_of_a_laptop(*_: object) -> HostFacts:
        return LAPTOP

    monkeypatch.setattr(hosts, "own_name", lambda: "laptop")
    monkeypatch.setattr(hosts, "_own_facts", facts_of_a_laptop)
    async with hosts_around(hub, tmp_path):
        ada = await visit(hub)
        await ada.follow("/hosts")
        for state in ("connected", "draining", "away"):
            await expect(ada(f"handrail-host-card[data-state={state}]").first).to_be_visible()
        await keep(ada, hub, pictures / "hosts.png")


async def test_a_phone(hub: ServedHub, visit: Visit, pictures: Path) -> None:
    await busy_hub(hub)
    ada = await visit(hub, phone=True)
    await ada("handrail-inbox .ask-one-line").first.tap()
    await expect(ada("dialog.ask-sheet [data-act=allow]")).to_be_visible()
    await keep(ada, hub, pictures / "phone.png")


async def test_a_chat(talk: Talk, visit: Visit, pictures: Path, tmp_path: Path) -> None:
    project = tmp_path / "telegram" / "hub" / "projects" / "shop"
    project.mkdir(parents=True)
    here = await talk(*shop_script(project), cwd=str(project))
    await shop(here)
    ann = await visit(here, phone=True, sharpness=1.5)
    await expect(ann(".key", has_text="Allow").first).to_be_visible()
    await expect(ann("#subtitle")).to_have_text("bot")  # and not that it writes
    await ann.page.evaluate(PUT_PROJECT_HOME, [str(project), "~/src/shop"])
    await all_at_once(ann)
    picture = await ann.page.screenshot(path=pictures / "telegram.png", animations="disabled", caret="hide")
    assert 10_000 < len(picture) < LARGEST
