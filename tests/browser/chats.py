"""Conversations worth looking at in a chat: with everything that the bot writes, and one for the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.testing import simulated as sim
from handrail.testing.telegram import Message

from ..telegram.bridge.support import PATIENCE, World
from ..testing.telegram.support import png
from .scenes import PLAN, QUESTIONS
from .visitor import DESK, Visitor

__all__ = [
    "HOSTILE",
    "all_at_once",
    "card",
    "change",
    "everything",
    "press",
    "script_of_everything",
    "shop",
    "shop_script",
]

CART = '''def total(cart):
    """What it costs, in euros."""
    prices = map(price_of, cart)
    return round(sum(prices), 1)
'''
OLD = "    return round(sum(prices), 1)\n"
NEW = "    return round(sum(prices), 2)\n"

ANSWER = """The cart is exact to the **cent** now, and rounds *nothing* on the way:

```python
def total(cart):
    prices = map(price_of, cart)
    return round(sum(prices), 2)
```

| file | change |
|---|---|
| `cart.py` | two digits |
| `test_cart.py` | 2 more |

1. 214 tests pass
2. see [the run](https://example.org/runs/71)
   - ~~one digit~~ is gone from receipts, too

> One warning of the linter is older than this change.
"""
HOSTILE = (
    "if access != \u202e\u2066// check admin\u2069 \u2066user: "
    "<b>not bold</b> &lt;b&gt; **bold \u05e9\u05dc\u05d5\u05dd** `co\u200bde` ||spoiler|| "
    "[good.example](https://evil.example) <script>window.__pwned=1</script> "
    "e" + "\u0301" * 30 + " " + "W" * 300 + " \U0001f469\u200d\U0001f4bb \u0645\u0631\u062d\u0628\u0627"
)
LONG = "\n\n".join(f"{number}. A step that takes a whole line to be told." for number in range(1, 500))


def read(path: Path) -> sim.Step:
    return sim.tool("Read", {"file_path": str(path)}, output=CART, ask=False)


def change(path: Path) -> sim.Step:
    return sim.tool(
        "Edit", {"file_path": str(path), "old_string": OLD, "new_string": NEW}, output="Changed.", suggestions=()
    )


def script_of_everything(project: Path) -> tuple[sim.Step, ...]:
    """What Claude does in `everything`."""
    hostile = {"command": HOSTILE, "description": HOSTILE}
    return (
        sim.turn(read(project / "cart.py"), change(project / "cart.py"), result={"result": ANSWER}),
        sim.turn(sim.tool("Bash", hostile, output=HOSTILE), result={"result": HOSTILE}),
        sim.turn("A picture of a shop.", result={"result": LONG}),
        sim.turn("A list of prices."),
        sim.turn(
            read(project / "cart.py"),
            # Long enough for the message that shows progress to be sent before anything is asked.
            sim.sleep(1.0),
            sim.ask("ExitPlanMode", {"plan": PLAN}, wait=False),
            sim.tool("AskUserQuestion", QUESTIONS),
        ),
        sim.loop_turns(),
    )


async def everything(here: World) -> None:
    """A chat with a message of each kind, at whose end a plan and questions are open."""
    (here.served.directory / "cart.py").write_text(CART)
    await here.say("The cart is off by a cent sometimes. Can you fix that?")
    await press(here, "cart.py", "Allow")
    await here.hears("exact to the cent")
    await here.say(HOSTILE)
    await press(here, "check admin", "Deny")
    await here.hears("not bold")
    await here.chat.send_photo(png(320, 200), caption="What is this?")
    await here.chat.wait(lambda _: any(message.document for message in here.chat.bot_messages), timeout=PATIENCE)
    await here.chat.send_document(b"apples,120\npears,150\n", "prices.csv", caption="And these?")
    await here.hears("A list of prices.")
    await here.say("Go on with the login test.")
    await card(here, "Make the login test steady")
    await press(here, "Which database", "SQLite")
    await press(here, "Which checks", "☐ Types")
    await here.chat.wait(lambda _: _button(here, "Which checks", "☑ Types"), timeout=PATIENCE)


async def card(here: World, words: str) -> Message:
    """The message with buttons and these words, once it is there."""
    found: Message = await here.chat.wait(lambda _: _card(here, words), timeout=PATIENCE)
    return found


async def press(here: World, words: str, button: str) -> str:
    """Press a button, given by how its text begins or ends, under the message with these words; returns the toast."""
    await here.chat.wait(lambda _: _button(here, words, button), timeout=PATIENCE)
    message, found = await card(here, words), _button(here, words, button)
    assert found is not None
    return (await message.press(found, by=here.ann)).text


def _card(here: World, words: str) -> Message | None:
    asking = (message for message in here.chat.bot_messages if message.buttons)
    return next((message for message in asking if words in message.text), None)


def _button(here: World, words: str, text: str) -> Any:
    message = _card(here, words)
    buttons = [button for row in message.buttons for button in row] if message else []
    return next((button for button in buttons if button.text.startswith(text) or button.text.endswith(text)), None)


async def all_at_once(visitor: Visitor) -> None:
    """Give somebody who looks at a chat a screen that is high enough for the whole of it."""
    missing = await visitor("#messages").evaluate("(list) => list.scrollHeight - list.clientHeight")
    size = visitor.page.viewport_size or DESK
    await visitor.page.set_viewport_size({"width": size["width"], "height": size["height"] + missing})


# For the documentation

FOUND = """The total is rounded to **one** digit: `cart.py`, line 4. Three apples at €0.39 come to €1.20, not €1.17.

Shall I make it two?"""


def spoken(text: str, context: int) -> sim.Step:
    """What Claude says, with so many tokens in its context."""
    usage = {"input_tokens": context, "output_tokens": 120}
    content = [{"type": "text", "text": text}]
    message = {"id": "$message_id", "type": "message", "role": "assistant", "model": MODEL, "content": content}
    frame = {"type": "assistant", "session_id": "$session", "uuid": "$uuid", "parent_tool_use_id": None}
    return sim.send(frame | {"message": message | {"usage": usage}})


MODEL = "claude-opus-4-5"


def shop_script(project: Path) -> tuple[sim.Step, ...]:
    """What Claude does in `shop`."""
    used = {MODEL: {"inputTokens": 38_000, "outputTokens": 120, "costUSD": 0.12, "contextWindow": 200_000}}
    told = {"result": FOUND, "total_cost_usd": 0.12, "modelUsage": used, "num_turns": 4, "duration_ms": 14_000}
    return (
        sim.turn(read(project / "cart.py"), spoken(FOUND, 38_000), result=told),
        sim.turn(read(project / "cart.py"), change(project / "cart.py")),
        sim.loop_turns(),
    )


async def shop(here: World) -> None:
    """Somebody asks why something is so, gets an answer, and is asked whether a file may be changed."""
    (here.served.directory / "shop" / "cart.py").write_text(CART)
    await here.say("Why is the total off by a few cents?")
    await here.hears("Shall I make it two?")
    await here.say("Yes, please")
    await card(here, "cart.py")
