"""A session from the page, on the real CLI: started, watched while it streams, and asked for leave."""

from __future__ import annotations

from playwright.async_api import expect

from handrail.testing.replies import Reply, Thinking, ToolUse

from .hubs import OpenHub, RealHub, Visit, bash, start_from_the_page, told

LONG = "I look at the notes first, word by word, so that somebody can watch how it comes in."


async def test_a_session_is_started_and_streams(real: OpenHub, visit: Visit) -> None:
    notes = "notes.txt"
    hub: RealHub = await real(
        [
            Reply(Thinking("Where could they be?"), LONG, deltas=24, delta_delay=0.1),
            lambda request: Reply("I read them.", ToolUse("Read", {"file_path": str(hub.project / notes)})),
            "They are **short**.",
        ]
    )
    (hub.project / notes).write_text("buy milk\n")
    ada = await visit(hub)
    await start_from_the_page(ada, "What is in my notes?")

    live = ada(".writing .streaming[data-type=text]")
    await expect(live).to_contain_text("I look at the notes")
    assert "comes in" not in await live.inner_text()
    await expect(ada("handrail-session-head .session-title")).to_have_text("What is in my notes?")
    await expect(ada.said.first).to_have_text(LONG)
    await expect(ada(".writing > *")).to_have_count(0)

    await ada.send("Go on")
    await expect(ada.said.last.locator("strong")).to_have_text("short")
    await expect(ada.said).to_have_count(3)
    await expect(ada(".writing > *")).to_have_count(0)
    read = ada("[data-type=action][data-tool=Read]")
    await expect(read.locator(".line-words")).to_have_text(f"Read {notes}", use_inner_text=True)
    await read.locator(".action-line").click()
    await expect(read.locator(".detail").last).to_contain_text("buy milk")
    thought = ada("details.thought").first
    await thought.locator("summary").click()
    await expect(thought).to_contain_text("Where could they be?")
    await expect(ada("handrail-session")).to_have_attribute("data-status", "idle")


async def test_a_permission_is_given(real: OpenHub, visit: Visit) -> None:
    hub = await real([Reply("Let me greet.", bash("echo hello > greeting.txt")), "I wrote a greeting."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Greet me")
    await expect(ada.card.locator(".ask-code")).to_have_text("echo hello > greeting.txt")
    await expect(ada.card).to_contain_text("greeting.txt")
    await expect(ada.page).to_have_title("(1) Greet me · Handrail")
    await ada.act("allow").click()
    await expect(ada.closed).to_contain_text("Allowed by ada, from the page")
    await expect(ada.said.last).to_have_text("I wrote a greeting.")
    assert (hub.project / "greeting.txt").read_text() == "hello\n"
    await expect(ada.page).to_have_title("Greet me · Handrail")
    await expect(ada(".ask-waiting")).to_have_count(0)


async def test_a_permission_is_refused_with_a_reason(real: OpenHub, visit: Visit) -> None:
    hub = await real([bash("echo hello > greeting.txt"), "Then not."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Greet me")
    await ada.act("deny-reason").click()
    await ada.card.get_by_label("Tell Claude why").fill("Say it in French, do not write it.")
    await ada.act("send").click()
    await expect(ada.closed).to_contain_text("Denied by ada")
    await expect(ada.said.last).to_have_text("Then not.")
    assert "Say it in French, do not write it." in told(hub)
    assert not (hub.project / "greeting.txt").exists()


async def test_a_permission_is_given_for_good(real: OpenHub, visit: Visit) -> None:
    command = "npm --version"
    hub = await real([bash(command), bash(command), "Twice."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Which npm is it?")
    await ada.act("always").click()
    suggestion = ada.page.get_by_role("menuitem").first
    await expect(suggestion).to_contain_text("npm")
    await suggestion.click()
    await expect(ada.closed).to_contain_text("Rule added")
    # The second call is the same, and is not asked about.
    await expect(ada.said.last).to_have_text("Twice.")
    await expect(ada("[data-type=ask]")).to_have_count(1)


async def test_a_call_is_changed_and_allowed(real: OpenHub, visit: Visit) -> None:
    hub = await real([bash("echo wrong > greeting.txt"), "Written."])
    ada = await visit(hub)
    await start_from_the_page(ada, "Greet me")
    await ada.act("edit").click()
    command = ada.card.locator("textarea[name=command]")
    await expect(command).to_be_focused()
    await command.fill("echo right > greeting.txt")
    await ada.act("send").click()
    await expect(ada.closed).to_contain_text("Allowed")
    await expect(ada.said.last).to_have_text("Written.")
    assert (hub.project / "greeting.txt").read_text() == "right\n"
