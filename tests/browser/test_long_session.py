"""A session of 20,000 events: it opens at its end, stays small on the page, scrolls without blanks, and is found in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest_asyncio
from playwright.async_api import expect

from handrail.events import model as e

from ..server.support import ServedHub
from .hubs import Visit
from .journals import Written, write_session
from .visitor import Visitor

EVENTS = 20_000
MOST_ELEMENTS = 6_000
"""Elements on the page, however long the session is."""

BLANKS = """() => {
  const scroller = document.querySelector("handrail-thread .scroller");
  const { top, bottom, left, width } = scroller.getBoundingClientRect();
  const blank = (y) => !document.elementFromPoint(left + width / 2, y)?.closest(".item, .writing, .has-gap, .scroller");
  const items = [...scroller.querySelectorAll(".item")].map((item) => item.getBoundingClientRect());
  const shown = items.filter((box) => box.bottom > top && box.top < bottom);
  return { shown: shown.length, elements: document.querySelectorAll("*").length, top: scroller.scrollTop };
}"""


def events() -> Iterator[e.Event]:
    """Runs of a prompt, some calls, and an answer."""
    number = 0
    while True:
        number += 1
        yield e.Started(run=number)
        yield e.Prompt(uuid=f"p{number}", content=f"Prompt number {number}", state="sent", run=number)
        for call in range(8):
            detail = {"tool_name": "Read", "tool_input": {"file_path": f"/tmp/project/file-{call}.py"}}
            title = f"file-{call}.py"
            yield e.Action(id=f"c{number}-{call}", kind="tool", title=title, phase="started", detail=detail, run=number)
            yield e.Action(id=f"c{number}-{call}", kind="tool", title=title, phase="completed", ok=True, run=number)
        text = f"Answer number {number}.\n\n" + "Some words of it. " * 20
        yield e.Text(block=f"b{number}", text=text, run=number)
        yield e.Completed(ok=True, run=number, duration_ms=1000)


@pytest_asyncio.fixture(loop_scope="session")
async def long(hub: ServedHub) -> Written:
    wanted = [event for _, event in zip(range(EVENTS), events(), strict=False)]
    return await write_session(hub.hub.store, wanted, title="A long one")


async def opened(visit: Visit, hub: ServedHub, session: Written) -> Visitor:
    ada = await visit(hub)
    await ada.open_session(session.id)
    await expect(ada.said.last).to_contain_text("Answer number 1000.")
    return ada


async def test_it_opens_at_its_end_and_stays_small(hub: ServedHub, visit: Visit, long: Written) -> None:
    assert long.events == EVENTS
    ada = await opened(visit, hub, long)
    await expect(ada.said.last).to_be_in_viewport()
    await expect(ada("button.pill")).to_be_hidden()
    scroller = ada("handrail-thread .scroller")
    for _ in range(25):
        before = (await ada.page.evaluate(BLANKS))["top"]
        await scroller.evaluate("(scroller) => scroller.scrollBy(0, -scroller.clientHeight * 3)")
        # What was scrolled to is drawn, and what was left behind is taken off the page again.
        await ada.page.wait_for_function(f"() => ({BLANKS})().shown > 0")
        state = await ada.page.evaluate(BLANKS)
        assert state["elements"] < MOST_ELEMENTS
        assert state["top"] != before
    await expect(ada("button.pill")).to_be_visible()
    await ada("button.pill").click()
    await expect(ada.said.last).to_be_in_viewport()


async def test_the_very_beginning_can_be_reached(hub: ServedHub, visit: Visit, long: Written) -> None:
    ada = await opened(visit, hub, long)
    scroller = ada("handrail-thread .scroller")
    await scroller.focus()
    await ada.page.keyboard.press("Home")
    await expect(ada("[data-type=prompt]").first).to_be_visible()
    await ada.page.keyboard.press("Control+f")
    field = ada.page.get_by_role("searchbox", name="Find in this session")
    await expect(field).to_be_focused()
    await field.fill("Prompt number 1\t")
    await field.fill("Prompt number 17")
    await expect(ada(".find-count")).to_contain_text("of ")
    await expect(ada(".found")).to_contain_text("Prompt number 17")
    await expect(ada(".found")).to_be_in_viewport()
    first = await ada(".find-count").inner_text()
    await field.press("Enter")
    await expect(ada(".find-count")).not_to_have_text(first)
    await expect(ada(".found")).to_be_in_viewport()
    await field.fill("nothing says this")
    await expect(ada(".find-count")).to_have_text("Not found")
    await field.press("Escape")
    await expect(ada("handrail-find")).to_be_hidden()
    assert (await ada.page.evaluate(BLANKS))["elements"] < MOST_ELEMENTS
