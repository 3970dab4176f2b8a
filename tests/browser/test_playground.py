"""The playground: every state of every card and message is drawn, on a desk and a phone, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from ..server.support import ServedHub
from .hubs import Visit

KINDS = {"permission", "plan", "enter_plan", "question", "elicitation", "budget"}
TYPES = {"prompt", "text", "thinking", "action", "tools", "ask", "notice", "end"}

SCENES = """() => [...document.querySelectorAll(".scene")].map((scene) => {
  const scrolls = ":is(pre, .ask-code, .table-scroll, .detail-body)";
  const wide = [...scene.querySelectorAll("*")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(scrolls))
    .map((each) => each.outerHTML.slice(0, 120));
  const { height } = scene.getBoundingClientRect();
  return { name: scene.dataset.scene, height, words: scene.innerText.trim().length, wide };
})"""


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_every_state_is_drawn(
    playground: ServedHub, visit: Visit, tmp_path: Path, phone: bool, dark: bool
) -> None:
    ada = await visit(playground, phone=phone, dark=dark)
    ada.expects("status of 404.*session=playground")
    await ada.goto("/playground")
    await expect(ada(".scene").last).to_be_attached()
    scenes = await ada.page.evaluate(SCENES)
    assert len(scenes) > 20
    for scene in scenes:
        assert scene["height"] > 40, scene["name"]
        assert scene["words"] > 10, scene["name"]
        assert scene["wide"] == [], scene["name"]
    kinds = await ada(".scene handrail-ask").evaluate_all("(asks) => asks.map((ask) => ask.dataset.kind)")
    assert set(kinds) >= KINDS
    await expect(ada(".scene handrail-plan [data-act=allow]").first).to_contain_text("Approve · accept edits")
    types = await ada(".scene [data-type]").evaluate_all("(rows) => rows.map((row) => row.dataset.type)")
    assert set(types) >= TYPES
    shot = await ada("handrail-playground").screenshot(path=tmp_path / "playground.png")
    assert len(shot) > 50_000


async def test_it_is_for_developers_only(hub: ServedHub, visit: Visit) -> None:
    ada = await visit(hub)
    ada.expects("status of 404")
    response = await ada.page.request.get(f"{hub.url}/web/js/playground/playground.js")
    assert response.status == 404
    response = await ada.page.request.get(f"{hub.url}/playground")
    assert response.status == 404
