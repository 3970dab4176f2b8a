"""A chat with everything in it that the playground can draw."""

from __future__ import annotations

from handrail.testing.telegram import Chat

from .support import RawBot, png

ANSWER = """I fixed the flaky test: the fixture shared its <b>clock</b>. See <code>tests/conftest.py</code>, \
<a href="https://example.org/pull/7">the change</a> and <tg-spoiler>the secret</tg-spoiler>.

<pre><code class="language-python">@pytest.fixture
def clock() -> Iterator[Clock]:
    yield Clock(start=0)  # one for each test, never shared between them</code></pre>
<blockquote>All 412 tests pass.</blockquote>
🏷 opus · default · $0.42 · context 38 %
<code>claude --resume 0b8e2c1e-5a3d-4f1e-9c77-2f4f0a7b9d11</code>"""

QUESTION = """⏸ <b>Bash</b> wants to run
<pre><code class="language-sh">pytest -x tests/test_login.py</code></pre>
in ~/src/api"""


def key(text: str, style: str = "") -> dict[str, str]:
    return {"text": text, "callback_data": text.lower()[:64], **({"style": style} if style else {})}


async def fill(bot: RawBot, chat: Chat) -> None:
    """Let somebody and the bot talk."""
    await bot.call("setMyCommands", commands=[{"command": "new", "description": "Start a session"}])
    asked = await chat.send("Fix the flaky login test, please. See https://example.org/runs/71")
    rows = [[key("✓ Allow", "success"), key("✗ Deny", "danger")], [key("Always allow “pytest:*” in this session")]]
    rows.append([{"text": "Open in the browser", "url": "https://example.org/asks/1"}])
    await bot.say(
        chat,
        QUESTION,
        parse_mode="HTML",
        reply_markup={"inline_keyboard": rows},
    )
    reply = {"message_id": asked.id}
    await bot.say(chat, ANSWER, parse_mode="HTML", reply_parameters=reply, disable_notification=True)
    sent = await bot.say(chat, "▸ Edit tests/test_login.py")
    await bot.call(
        "editMessageText", chat_id=chat.id, message_id=sent["message_id"], text="✓ Edit tests/test_login.py +6 −2"
    )
    form = {"chat_id": str(chat.id), "caption": "The whole answer"}
    file = {"document": ("answer.md", b"# Fixed\n" * 400)}
    await bot.client.post(f"{bot.base}/sendDocument", data=form, files=file)
    await chat.send_album([png(320, 200), png(200, 200), png(200, 200)], caption="what I see")
    await chat.send("/new look at these")
    await bot.call("sendMessageDraft", chat_id=chat.id, draft_id=1, text="I see three screens. The first")
