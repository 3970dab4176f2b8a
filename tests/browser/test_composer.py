"""Writing to Claude, on the real CLI: lines, images, completions, messages that wait, interrupting, switching."""

from __future__ import annotations

import base64

from playwright.async_api import expect

from handrail.testing.replies import Reply

from .hubs import OpenHub, RealHub, Visit, start_from_the_page, told
from .visitor import Visitor

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

PASTE = """(field, data) => {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  const clipboard = new DataTransfer();
  clipboard.items.add(new File([bytes], "pixel.png", { type: "image/png" }));
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: clipboard, bubbles: true, cancelable: true }));
}"""

SLOW = Reply("word " * 200, deltas=200, delta_delay=0.1)


def last_message(hub: RealHub) -> str:
    """What the model was told last."""
    return str(hub.model.requests_in("main")[-1].messages[-1]["content"])


async def talking(hub: RealHub, visit: Visit) -> Visitor:
    ada = await visit(hub)
    await start_from_the_page(ada, "Hello")
    await expect(ada.said.first).to_have_text("Hello.")
    return ada


async def test_lines_and_pictures(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello.", "Two lines.", "A picture."])
    ada = await talking(hub, visit)
    await ada.field.focus()
    await ada.page.keyboard.type("one")
    await ada.page.keyboard.press("Shift+Enter")
    await ada.page.keyboard.type("two")
    await expect(ada.field).to_have_value("one\ntwo")
    await ada.page.keyboard.press("Enter")
    await expect(ada.field).to_have_value("")
    await expect(ada.said.last).to_have_text("Two lines.")
    assert "one\\ntwo" in last_message(hub)

    await ada.field.evaluate(PASTE, PIXEL)
    await expect(ada("handrail-attachments img")).to_have_count(1)
    await ada.send("What is this?")
    await expect(ada.said.last).to_have_text("A picture.")
    await expect(ada("handrail-attachments img")).to_have_count(0)
    shown = ada("[data-type=prompt]").last.locator("img")
    await expect(shown).to_have_js_property("naturalWidth", 1)
    blocks = [block for message in hub.model.requests_in("main")[-1].messages for block in message["content"]]
    (image,) = [block for block in blocks if isinstance(block, dict) and block["type"] == "image"]
    assert base64.b64decode(image["source"]["data"])


async def test_commands_and_files_are_completed(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello.", "Seen."])
    (hub.project / "docs").mkdir()
    (hub.project / "docs" / "notes on milk.txt").write_text("milk")
    (hub.project / "docs" / "milk.txt").write_text("milk")
    ada = await talking(hub, visit)
    options = ada.page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    await ada.field.press_sequentially("/comp")
    await expect(options.first).to_contain_text("/compact")
    await ada.field.press("Tab")
    await expect(ada.field).to_have_value("/compact ")
    await ada.field.fill("")

    await ada.field.press_sequentially("Look at @milk")
    await expect(options.filter(has_text="docs/milk.txt")).to_have_count(1)
    while await options.and_(ada("[aria-selected=true]")).inner_text() != "docs/milk.txt":
        await ada.field.press("ArrowDown")
    await ada.field.press("Enter")
    await expect(ada.field).to_have_value("Look at @docs/milk.txt ")
    await expect(options).to_have_count(0)
    await ada.field.press("Enter")
    await expect(ada.said.last).to_have_text("Seen.")
    assert "@docs/milk.txt" in told(hub)


async def test_messages_that_wait_are_taken_back_or_done_at_once(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello.", SLOW, "At once."])
    ada = await talking(hub, visit)
    await ada.send("Talk for long")
    await expect(ada(".writing")).to_contain_text("word")
    queued = ada("handrail-queue .queued")
    await ada.send("And then this")
    await expect(queued).to_contain_text("And then this")
    await queued.get_by_role("button", name="Take this message back").click()
    await expect(queued).to_have_count(0)
    await expect(ada.field).to_have_value("And then this")
    await ada.field.fill("Rather this, now")
    await ada.field.press("Enter")
    await queued.locator("[data-action=send-now]").click()
    await expect(ada.said.last).to_have_text("At once.")
    await expect(queued).to_have_count(0)
    assert "And then this" not in told(hub)


async def test_interrupting_and_what_was_typed_is_kept(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello.", SLOW, "Back."])
    ada = await talking(hub, visit)
    await ada.send("Talk for long")
    await expect(ada(".writing")).to_contain_text("word")
    await ada.field.fill("A thought that is not finished")
    await ada.page.reload()
    await expect(ada.field).to_have_value("A thought that is not finished")
    stop = ada("[data-action=interrupt]")
    await stop.click()
    await expect(stop).to_contain_text("Press again to interrupt")
    await stop.click()
    await expect(ada("[data-type=end]").last).to_contain_text("Interrupted")
    await expect(stop).to_be_hidden()
    await ada.field.press("Enter")
    await expect(ada.said.last).to_have_text("Back.")


async def test_mode_model_and_title_are_changed(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello.", "Still here."])
    ada = await talking(hub, visit)
    mode = ada.page.get_by_role("button", name="Permission mode")
    await mode.click()
    await ada.page.get_by_role("menuitemradio", name="Plan").click()
    await expect(mode).to_contain_text("Plan")
    model = ada.page.get_by_role("button", name="Model", exact=True)
    await model.click()
    await ada.page.get_by_role("menuitemradio", name="Sonnet").first.click()
    await expect(model).to_contain_text("sonnet")
    await ada.page.get_by_role("button", name="Context and cost").click()
    await expect(ada(".meters-sheet")).to_contain_text("This session has cost")
    await expect(ada(".meters-sheet .spinner")).to_have_count(0)
    await ada.page.keyboard.press("Escape")

    await ada.page.get_by_role("button", name="Session menu").click()
    await ada.page.get_by_role("menuitem", name="Rename").click()
    dialog = ada.page.get_by_role("dialog")
    await dialog.get_by_role("textbox").fill("A better name")
    await dialog.get_by_role("button", name="Rename").click()
    await expect(ada("handrail-session .session-title")).to_have_text("A better name")
    await expect(ada(".side-title")).to_have_text("A better name")
    await ada.send("Are you there?")
    await expect(ada.said.last).to_have_text("Still here.")
    assert "sonnet" in hub.model.requests_in("main")[-1].model
