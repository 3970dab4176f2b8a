"""A chat beside the page: both show the same asks; and the playground, which draws chats, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from handrail.testing import simulated as sim
from handrail.testing.telegram import Chat

from ..server.payloads import PAYLOADS
from ..server.support import ASKS
from ..telegram.bridge.support import PATIENCE, World, said
from ..testing.telegram.support import RawBot, raw_bot
from .chats import all_at_once, card, everything, press, script_of_everything
from .hubs import Talk, Visit
from .scenes import QUESTIONS
from .test_accessibility import look, nothing_serious
from .test_injection import HARM
from .visitor import Visitor, visiting


async def opened_session(ada: Visitor, here: World) -> None:
    (row,) = await here.rows()
    await ada.open_session(row.id)


async def test_allowed_in_telegram_while_the_page_shows_it(talk: Talk, visit: Visit) -> None:
    here = await talk(*ASKS)
    await here.say("clean up")
    ada = await visit(here.served)
    await expect(ada("handrail-inbox handrail-ask")).to_have_count(1)
    await opened_session(ada, here)
    await expect(ada.card).to_contain_text("rm -rf build")
    assert await press(here, "rm -rf build", "Allow") == "Approved"
    await expect(ada.card).to_have_count(0)
    await expect(ada.closed).to_contain_text("Allowed by Ann, from Telegram")
    await expect(ada.said.last).to_contain_text("All clean.")
    await here.hears("All clean.")


async def test_answered_on_the_page_while_telegram_shows_it(talk: Talk, visit: Visit) -> None:
    here = await talk(*ASKS)
    await here.say("clean up")
    asked = await card(here, "rm -rf build")
    allow = asked.buttons[0][0]
    ann, ada = await visit(here, phone=True), await visit(here.served)
    await expect(ann(".key", has_text="Allow").first).to_be_visible()
    await opened_session(ada, here)
    await ada.act("deny").click()
    told = await here.chat.wait(said(here.chat, "Denied by ada"), timeout=PATIENCE)
    assert (told.id, told.buttons) == (asked.id, [])
    await expect(ann(f"[data-id='{asked.id}']")).to_contain_text("Denied by ada (web)")
    await expect(ann(".key")).to_have_count(0)
    # Whoever has reached for the button before it went is told, and nothing else happens.
    late = await asked.press(allow, by=here.ann)
    assert (late.text, late.show_alert) == ("Denied by ada (web).", True)
    (ask,) = await here.served.hub.store.asks()
    assert (ask.decided_by, ask.surface) == ("ada", "web")


# How chats are drawn

WAYS = {
    "a phone, light": {"phone": True},
    "a phone, dark": {"phone": True, "dark": True},
    "a desk, light": {},
    "a desk, dark": {"dark": True},
}
TOO_WIDE = """() => [...document.querySelectorAll("body, #messages, .message, .bubble, .bubble *, .keyboard, .key")]
  .filter((each) => each.checkVisibility() && each.scrollWidth > Math.max(each.clientWidth, 1) + 1
    && getComputedStyle(each).display !== "inline" && getComputedStyle(each).textOverflow !== "ellipsis")
  .map((each) => each.outerHTML.slice(0, 200))"""
OUTSIDE = """() => [...document.querySelectorAll(".bubble, .key")]
  .filter((each) => each.getBoundingClientRect().left < 0 || each.getBoundingClientRect().right > innerWidth)
  .map((each) => each.outerHTML.slice(0, 200))"""


async def test_everything_that_the_bot_writes(talk: Talk, visit: Visit, tmp_path: Path) -> None:
    """Drawn on a phone and a desk, light and dark; the pictures are kept beside the test's files, to be looked at."""
    here = await talk(*script_of_everything(project_in(tmp_path)))
    await everything(here)
    for name, how in WAYS.items():
        ann = await visit(here, **how)
        await expect(ann(".key", has_text="☑ Types")).to_be_visible()
        await shows_everything(ann)
        assert await ann.page.evaluate(TOO_WIDE) == [], name
        assert await ann.page.evaluate(OUTSIDE) == [], name
        await harmless(ann)
        await nothing_serious(ann, name)
        await all_at_once(ann)
        await ann.page.screenshot(path=tmp_path / f"{name}.png", animations="disabled")


def project_in(tmp_path: Path) -> Path:
    """Where the sessions of `talk` work."""
    return tmp_path / "telegram" / "hub" / "projects"


DRAWN = ("b", "i", "s", "code", "pre", "blockquote", "a.text_link", ".pictures", ".document", ".reply", ".row")


async def shows_everything(ann: Visitor) -> None:
    languages = await ann(".language").all_inner_texts()
    assert {"diff", "python"} <= set(languages)
    for each in DRAWN:
        assert await ann(f".message {each}").count() > 0, each
    await expect(ann(".pictures img")).to_have_js_property("complete", True)
    assert await ann(".document b").all_inner_texts() == ["answer.md", "prices.csv"]
    text = await ann("#messages").inner_text()
    for words in ("Allowed by Ann", "Denied by Ann", "claude --resume", "🏷", "▸", "⏸", "Make the login test steady"):
        assert words in text, words


@look
async def test_everything_around_the_messages(browser: Browser, dark: bool) -> None:
    """Lists of chats and of commands, a group with a topic, a reply that is written, and an alert."""
    async with raw_bot() as (bot, ann, chat):
        bob = bot.server.user(id=1002, first_name="Bob")
        team = bot.server.group(id=-1001, title="Team", members=[ann, bob], is_forum=True, bot_is_admin=True)
        for person in (ann, bob):
            await team.topic("build").send("Is it green?", by=person)
        await bot.call("setMyCommands", commands=[{"command": "new", "description": "Start a session"}])
        await bot.say(chat, "Run it?", reply_markup={"inline_keyboard": [[{"text": "Run", "callback_data": "run"}]]})
        how: dict[str, Any] = {"shows": "#chats .entry >> nth=0", "dark": dark, "failed": lambda: None}
        for phone in (True, False):
            async with visiting(browser, bot.server.url, bot.server.playground, phone=phone, **how) as looking:
                await nothing_serious(looking, "chats")
                await looking("#chats .topic").click()
                await expect(looking(".name")).to_have_text("Bob")
                await nothing_serious(looking, "a topic")
                await looking.page.goto(f"{bot.server.playground}#{chat.id}")
                await looking(".theirs .bubble").dblclick()
                await expect(looking("#replying")).to_be_visible()
                await write(looking, "/", send=False)
                await expect(looking("#commands")).to_be_visible()
                await nothing_serious(looking, "commands")
                await looking(".key").click()
                [query] = await bot.call("getUpdates", offset=-1, timeout=10)
                alert = {"callback_query_id": query["callback_query"]["id"], "text": "Not now", "show_alert": True}
                await bot.call("answerCallbackQuery", **alert)
                await expect(looking("#alert")).to_contain_text("Not now")
                await nothing_serious(looking, "an alert")


# Talking on the playground

CONVERSATION = (
    sim.turn(sim.tool("Bash", {"command": "make clean"}, output="done"), "All **clean**."),
    sim.turn(sim.tool("AskUserQuestion", QUESTIONS), "Thank you."),
    sim.loop_turns("You said $text."),
)


@pytest.mark.parametrize("phone", [True, False], ids=["phone", "desk"])
async def test_a_conversation_on_the_playground(talk: Talk, visit: Visit, phone: bool) -> None:
    here = await talk(*CONVERSATION)
    ann = await visit(here, phone=phone)

    async def push(text: str) -> None:
        button = ann(".key", has_text=text).first
        await (button.tap() if phone else button.click())

    await write(ann, "Tidy up, please.")
    await expect(ann(".mine")).to_contain_text("Tidy up, please.")
    await expect(ann(".theirs pre")).to_contain_text("make clean")
    await push("Allow")
    await expect(ann("#toast")).to_contain_text("Approved")
    await expect(ann(".theirs").first).to_contain_text("Allowed by Ann")
    await expect(ann(".theirs b", has_text="clean")).to_be_visible()

    await write(ann, "Now set up the tests.")
    await push("SQLite")
    await push("☐ Lint")
    await expect(ann(".key", has_text="☑ Lint")).to_be_visible()
    await push("☐ Tests")
    await expect(ann(".key", has_text="☑ Tests")).to_be_visible()
    await push("Next")
    await push("Send")
    await expect(ann(".theirs", has_text="Thank you.")).to_be_visible()
    (answer,) = [ask.answer for ask in await here.served.hub.store.asks() if ask.kind == "question"]
    assert all(word in str(answer) for word in ("SQLite", "Lint", "Tests"))
    assert "Types" not in str(answer)

    await write(ann, "/stat", send=False)
    await ann("#commands button", has_text="/status").click()
    await ann.page.keyboard.press("Enter")
    await expect(ann(".mine .bot_command")).to_have_text("/status")
    await expect(ann("#messages > li").last).to_have_class(re.compile("theirs"))


async def write(ann: Visitor, text: str, *, send: bool = True) -> None:
    field = ann.page.get_by_label("Message", exact=True)
    await field.press_sequentially(text)
    if send:
        await field.press("Enter")


async def test_a_reply_written_on_the_playground_denies(talk: Talk, visit: Visit) -> None:
    here = await talk(*ASKS)
    ann = await visit(here)
    await write(ann, "Tidy up, please.")
    asked = ann(".theirs", has_text="rm -rf build").first
    await asked.hover()
    await asked.get_by_label("Reply").click()
    await expect(ann("#replying")).to_contain_text("Reply to Handrail")
    await write(ann, "Keep it until tomorrow.")
    await expect(asked).to_contain_text("Denied by Ann")
    await expect(ann(".mine .reply").last).to_contain_text("Bash")
    await expect(ann("#replying")).to_be_hidden()


async def test_a_keyboard_is_enough(talk: Talk, visit: Visit) -> None:
    """What has the focus keeps it while other messages come and go."""
    here = await talk(*ASKS)
    ann = await visit(here)
    await write(ann, "Tidy up, please.")
    allow = ann(".key", has_text="Allow").first
    await allow.focus()
    await here.say("And then have a rest.")
    await expect(ann(".mine")).to_have_count(2)
    await expect(allow).to_be_focused()
    await ann.page.keyboard.press("Enter")
    await expect(ann(".theirs").first).to_contain_text("Allowed by Ann")


# Hostile text

INTACT = "() => ['main#chat', '#messages', '#composer', '#chats'].map((each) => document.querySelectorAll(each).length)"


async def harmless(ann: Visitor) -> None:
    state = await ann.page.evaluate(HARM)
    assert (state["pwned"], state["polluted"], state["found"]) == (None, None, [])
    assert await ann.page.evaluate(INTACT) == [1, 1, 1, 1]


async def test_hostile_text_in_every_field_of_a_chat(browser: Browser) -> None:
    async with raw_bot() as (bot, ann, chat):
        team = bot.server.group(id=-1001, title=PAYLOADS[0], members=[ann], is_forum=True)
        chats = f"{bot.server.playground}#{chat.id}"
        async with visiting(browser, bot.server.url, chats, shows="main#chat", failed=lambda: None) as mallory:
            for attack in PAYLOADS:
                await attacked(bot, chat, attack)
                team.topic(attack[:128] or "x")
            await expect(mallory("#messages > .message")).to_have_count(len(chat.messages))
            assert len(chat.messages) > 5 * len(PAYLOADS)
            await harmless(mallory)
            await expect(mallory("#chats .topic")).to_have_count(len(team.topics))
            await mallory("#chats .topic").last.click()
            await expect(mallory("#messages > .service")).to_have_count(1)
            await harmless(mallory)


async def attacked(bot: RawBot, chat: Chat, attack: str) -> None:
    """The attack in everything that can be sent. What Telegram refuses cannot be shown."""
    everything = {"offset": 0, "length": len(attack[:50].encode("utf-16-le")) // 2}
    key = {"text": attack[:60], "callback_data": "x"}
    link = {"text": attack[:60], "url": f"https://a.example/{attack[:60]}"}
    await chat.send(attack[:4000] or "x")
    for more in (
        {},
        {"reply_markup": {"inline_keyboard": [[key, link]]}, "reply_parameters": {"message_id": chat.messages[-1].id}},
        {"entities": [{"type": "pre", "language": attack[:60], **everything}]},
        {"entities": [{"type": "text_link", "url": f"https://a.example/{attack[:60]}", **everything}]},
        {"parse_mode": "HTML"},
        {"parse_mode": "MarkdownV2"},
    ):
        await bot.answer("sendMessage", chat_id=chat.id, text=f"x{attack[:4000]}", **more)
    await chat.send_document(attack.encode(), attack[:60] or "x", caption=attack[:1000])


@pytest.mark.parametrize("attacks", [PAYLOADS[0::8], PAYLOADS[4::8]], ids=["first", "second"])
async def test_hostile_text_in_what_claude_does(talk: Talk, visit: Visit, attacks: tuple[str, ...]) -> None:
    turns = [
        sim.turn(
            sim.tool("Bash", {"command": attack, "description": attack}, output=attack),
            result={"result": attack},
        )
        for attack in attacks
    ]
    here = await talk(*turns)
    mallory = await visit(here, phone=True)
    for number, attack in enumerate(attacks, start=1):
        await here.say(attack.strip(" \n\0")[:4000] or "x")
        await (await here.asked()).press("Allow", by=here.ann)
        await expect(mallory(".theirs", has_text="claude --resume")).to_have_count(number)
        await harmless(mallory)
