"""What else a session's page does on the real CLI: rewinding, MCP servers, subagents, forks and exports."""

from __future__ import annotations

from playwright.async_api import expect

from handrail.testing.replies import Reply, ToolUse

from .hubs import OpenHub, RealHub, Visit, bash, start_from_the_page
from .test_questions import DESK


async def test_files_are_rewound_after_a_look_at_what_would_change(real: OpenHub, visit: Visit) -> None:
    def write(request: object) -> ToolUse:
        return ToolUse("Write", {"file_path": str(hub.project / "greeting.txt"), "content": "hello\n"})

    hub: RealHub = await real([write, "Written.", "Yes."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Greet me")
    await expect(ada.card.locator(".ask-file")).to_contain_text("greeting.txt")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("Written.")
    assert (hub.project / "greeting.txt").exists()

    await ada("[data-type=prompt]").first.get_by_role("button", name="What can be done").click()
    await ada.page.get_by_role("menuitem", name="Rewind files").click()
    dialog = ada.page.get_by_role("dialog", name="Rewind files")
    await expect(dialog).to_contain_text("1 file would change back")
    await expect(dialog.locator(".file-list")).to_contain_text("greeting.txt")
    assert (hub.project / "greeting.txt").exists()
    await dialog.locator("[data-action=rewind]").click()
    await expect(dialog).to_contain_text("Done: 1 file changed back.")
    await expect(dialog.get_by_role("button", name="Close")).to_be_visible()
    assert not (hub.project / "greeting.txt").exists()


async def test_a_server_is_switched_off_and_on(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello."], mcp_servers={"desk": DESK})
    ada = await visit(hub)
    await start_from_the_page(ada, "Hello")
    await expect(ada.said.first).to_have_text("Hello.")
    server = ada(".mcp-list li", has_text="desk")
    await expect(server).to_contain_text("connected")
    switch = server.get_by_role("switch")
    await switch.click()
    await expect(switch).to_have_attribute("aria-checked", "false")
    await expect(server).not_to_contain_text("connected")
    await switch.click()
    await expect(server).to_contain_text("connected")


async def test_what_a_subagent_does_is_nested_in_its_row(real: OpenHub, visit: Visit) -> None:
    agent = {"description": "Count the files", "prompt": "count the files here", "subagent_type": "general-purpose"}
    hub = await real(
        [Reply("I send somebody.", ToolUse("Agent", agent)), "It made one."],
        conversations={"count the files here": [bash("mkdir counted"), "There is one."]},
    )
    ada = await visit(hub)
    await start_from_the_page(ada, "How many files?")
    await expect(ada.card).to_contain_text("mkdir counted")
    await expect(ada.card).to_contain_text("asked by the subagent")
    row = ada("handrail-thread [data-type=action]", has_text="Count the files").first
    await expect(row).to_have_attribute("data-state", "running")
    await ada.act("allow").click()
    await expect(ada.said.last).to_have_text("It made one.")
    await expect(row).to_have_attribute("data-state", "done")
    await row.locator("[aria-expanded]").first.click()
    await expect(row).to_contain_text("mkdir counted")
    await expect(row).to_contain_text("There is one.")


async def test_a_session_is_forked_and_exported(real: OpenHub, visit: Visit) -> None:
    hub = await real(["Hello.", "From the copy."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Say hello")
    await expect(ada.said.first).to_have_text("Hello.")
    first = ada.page.url
    menu = ada.page.get_by_role("button", name="Session menu")
    await menu.click()
    async with ada.page.expect_download() as download:
        await ada.page.get_by_role("menuitem", name="Markdown").click()
    text = await (await download.value).path()
    assert "Hello." in text.read_text()

    await menu.click()
    await ada.page.get_by_role("menuitem", name="Fork").click()
    await expect(ada.page).not_to_have_url(first)
    await ada.send("And you?")
    await expect(ada.said.last).to_have_text("From the copy.")
