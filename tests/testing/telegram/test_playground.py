"""The playground: what it draws, that one can write and press on it, and how it looks in a real browser."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .scene import fill
from .support import RawBot, png, raw_bot

if TYPE_CHECKING:
    from playwright.async_api import Page, ViewportSize

PHONE: ViewportSize = {"width": 390, "height": 844}


async def shown(bot: RawBot) -> dict[str, Any]:
    state: dict[str, Any] = (await bot.client.get(f"{bot.server.playground}/state")).json()
    return state


async def test_the_picture_has_what_stands_in_the_chats() -> None:
    async with raw_bot() as (bot, ann, chat):
        await fill(bot, chat)
        await bot.call("sendChatAction", chat_id=chat.id, action="upload_document")
        forum = bot.server.group(id=-1001, title="Team", members=[ann], is_forum=True)
        forum.topic("build")
        state = await shown(bot)
        private, team = state["chats"]
        assert state["commands"] == [{"command": "new", "description": "Start a session"}]
        assert private["draft"]["text"] == "I see three screens. The first"
        _, question, answer, edited, document, *album, _ = private["messages"]
        assert [button["style"] for button in question["buttons"][0]] == ["success", "danger"]
        assert (answer["reply"]["name"], answer["silent"]) == ("Ann", True)
        assert (edited["edited"], document["media"]["name"]) == (True, "answer.md")
        assert len({message["album"] for message in album}) == 1
        assert team["topics"] == [{"id": 2, "name": "build", "closed": False}]
        assert team["messages"][0]["service"] == "Ann created the topic “build”"


async def test_what_nobody_wrote_is_told_in_words() -> None:
    async with raw_bot() as (bot, ann, _):
        group = bot.server.group(id=-5, title="Team", members=[ann])
        await group.pin(await group.send("hello"))
        group.upgrade(-1005)
        _, before, after = (await shown(bot))["chats"]
        assert [message["service"] for message in (*before["messages"], *after["messages"])] == [
            "",
            "Ann pinned a message",
            "Ann made a supergroup of this group, which goes on elsewhere",
            "Ann made a supergroup of the group",
        ]


async def test_the_input_is_opened_for_whoever_is_asked() -> None:
    async with raw_bot() as (bot, ann, _):
        bea = bot.server.user(id=1002, first_name="Bea", username="bea")
        group = bot.server.group(id=-5, title="Team", members=[ann, bea])
        asked = {"force_reply": True, "selective": True, "input_field_placeholder": "Why not?"}
        await bot.call("sendMessage", chat_id=group.id, text="@bea Why?", reply_markup=asked)
        inputs = next(chat["inputs"] for chat in (await shown(bot))["chats"] if chat["id"] == group.id)
        assert inputs[str(ann.id)] == {}
        assert inputs[str(bea.id)]["input_field_placeholder"] == "Why not?"


async def test_the_picture_comes_when_something_changes() -> None:
    async with raw_bot() as (bot, _, chat):
        version = (await shown(bot))["version"]
        waiting = asyncio.create_task(bot.client.get(f"{bot.server.playground}/state?after={version}"))
        await bot.say(chat, "hello")
        assert (await waiting).json()["chats"][0]["messages"][0]["text"] == "hello"


async def test_writing_and_pressing() -> None:
    async with raw_bot() as (bot, ann, chat):
        page = bot.server.playground
        await bot.client.post(f"{page}/send", json={"chat": chat.id, "user": ann.id, "text": "/new"})
        [update] = await bot.call("getUpdates")
        assert update["message"]["entities"][0]["type"] == "bot_command"
        keyboard = {"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]}
        sent = await bot.say(chat, "Go?", reply_markup=keyboard)
        press = {"chat": chat.id, "user": ann.id, "message": sent["message_id"], "data": "go"}
        pressing = asyncio.create_task(bot.client.post(f"{page}/press", json=press))
        [query] = await bot.call("getUpdates", offset=update["update_id"] + 1, timeout=10)
        await bot.call("answerCallbackQuery", callback_query_id=query["callback_query"]["id"], text="Gone")
        assert (await pressing).json() == {"text": "Gone", "alert": False}
        gone = await bot.client.post(f"{page}/press", json={**press, "message": 99})
        assert (gone.status_code, gone.json()) == (400, {"error": "That message is gone."})
        assert (await bot.client.post(f"{page}/send", content=b"{")).status_code == 400


async def test_files_never_become_pages() -> None:
    async with raw_bot() as (bot, _, chat):
        page = await chat.send_document(b"<script>alert(1)</script>", "page.html")
        picture = await chat.send_photo(png())
        types = []
        for sent in (page, picture):
            assert sent.media is not None
            answer = await bot.client.get(f"{bot.server.playground}/file/{sent.media.file.file_id}")
            types.append(answer.headers["content-type"])
        assert types == ["text/plain; charset=utf-8", "image/jpeg"]
        assert (await bot.client.get(f"{bot.server.playground}/other")).status_code == 404


@asynccontextmanager
async def phone(theme: str) -> AsyncIterator[Page]:
    """A page as wide as a phone, that must not complain."""
    from playwright.async_api import async_playwright

    executable = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip("there is no Chromium: install one (Debian: apt install chromium)")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = await browser.new_page(viewport=PHONE, color_scheme="dark" if theme == "dark" else "light")
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        yield page
        await browser.close()
        assert problems == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_how_it_looks(theme: str, tmp_path: Path) -> None:
    async with raw_bot() as (bot, _, chat), phone(theme) as page:
        await fill(bot, chat)
        await page.goto(f"{bot.server.playground}#{chat.id}")
        await page.wait_for_selector(".draft")
        assert await page.locator(".bubble pre .language").all_inner_texts() == ["sh", "python"]
        assert await page.locator(".bubble b", has_text="clock").count() == 1
        assert await page.locator(".key.success").inner_text() == "✓ Allow"
        assert await page.locator(".pictures.n3 img").count() == 3
        overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0
        background = await page.locator(".theirs .bubble").first.evaluate(
            "node => getComputedStyle(node).backgroundColor"
        )
        assert background == ("rgb(24, 37, 51)" if theme == "dark" else "rgb(255, 255, 255)")
        assert await page.screenshot(path=tmp_path / f"{theme}.png")


@pytest.mark.browser
async def test_hostile_text_is_only_text() -> None:
    async with raw_bot() as (bot, _, chat), phone("light") as page:
        await bot.say(chat, "<img src=x onerror=document.title=1> \u2067right\u2069 " + "x" * 3000)
        link = {"type": "text_link", "offset": 0, "length": 4, "url": "http://e.org/?javascript:alert(1)"}
        await bot.say(chat, "link 😀 <b>", entities=[link, {"type": "bold", "offset": 5, "length": 2}])
        await page.goto(f"{bot.server.playground}#{chat.id}")
        await page.wait_for_selector(".text a")
        assert await page.locator(".text img").count() == 0
        assert await page.locator(".text b").all_inner_texts() == ["😀"]
        assert await page.title() == "Telegram playground"
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.browser
async def test_a_person_writes_and_presses_on_the_page() -> None:
    async with raw_bot() as (bot, _, chat), phone("light") as page:
        keyboard = {"inline_keyboard": [[{"text": "Allow", "callback_data": "allow"}]]}
        await bot.say(chat, "Run it?", reply_markup=keyboard)
        await page.goto(bot.server.playground)
        await page.get_by_text("Handrail · Ann").click()
        await page.get_by_role("button", name="Allow").click()
        [update] = await bot.call("getUpdates", timeout=10)
        await bot.call("answerCallbackQuery", callback_query_id=update["callback_query"]["id"], text="Approved")
        await page.get_by_text("Approved").wait_for()
        await page.get_by_label("Message", exact=True).fill("thank you")
        await page.keyboard.press("Enter")
        await chat.wait(lambda messages: messages[-1].text == "thank you")
        await page.locator(".mine", has_text="thank you").wait_for()
