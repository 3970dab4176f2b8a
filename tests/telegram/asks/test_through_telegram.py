"""Asks from a session to a phone and back: a hub that really serves, a bridge, and Telegram on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.events.view import AskItem
from handrail.protocol.asks import Allow
from handrail.testing import simulated as sim
from handrail.testing.telegram import Message

from ..bridge.support import PATIENCE, World, eventually, said, world

pytestmark = pytest.mark.slow

QUESTIONS = {
    "questions": [
        {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]},
        {
            "question": "Which parts?",
            "header": "Parts",
            "options": [{"label": "Docs"}, {"label": "Tests"}],
            "multiSelect": True,
        },
    ]
}


async def closed_asks(here: World) -> list[AskItem]:
    (row,) = await here.rows()
    view = await here.served.manager.session(row.id).view()
    return list(view.closed_asks.values())


async def shows(here: World, *texts: str) -> Message:
    """The message of the bot that has all these texts, or these words on buttons, once there is one."""

    def look(_: Any = None) -> Message | None:
        return next((message for message in here.chat.bot_messages if _has(message, texts)), None)

    found: Message = await here.chat.wait(look, timeout=PATIENCE)
    return found


def _has(message: Message, texts: tuple[str, ...]) -> bool:
    words = [message.text or "", *(button.text for row in message.buttons for button in row)]
    return all(any(text in each for each in words) for text in texts)


async def test_parallel_asks_are_answered_each_for_itself(tmp_path: Path) -> None:
    asks = [sim.ask("Bash", {"command": f"make {name}"}, wait=False) for name in ("one", "two", "three")]
    async with world(tmp_path, sim.expect("user"), *asks) as here, here.bridged():
        await here.say("go")
        shown = {name: await shows(here, f"make {name}", "Allow") for name in ("three", "one", "two")}
        await asyncio.gather(
            shown["one"].press("Allow", by=here.ann),
            shown["two"].press("Deny", by=here.ann),
            here.chat.send("not that one", by=here.ann, reply_to=shown["three"]),
        )
        await eventually(lambda: here.count("by Ann (telegram)") == 3)
        answers = {item.ask["input"]["command"]: item.answer for item in await closed_asks(here)}
        assert answers == {
            "make one": {"type": "allow"},
            "make two": {"type": "deny", "message": "The user denied this."},
            "make three": {"type": "deny", "message": "The user denied this and says: not that one"},
        }
        assert not [message for message in here.chat.bot_messages if message.buttons]


async def test_questions_are_answered_step_by_step(tmp_path: Path) -> None:
    async with world(tmp_path, sim.turn(sim.tool("AskUserQuestion", QUESTIONS), "Thanks.")) as here, here.bridged():
        await here.say("go")
        await (await shows(here, "Question 1 of 2", "Red")).press("Red", by=here.ann)
        await (await shows(here, "Question 2 of 2", "☐ Tests")).press("☐ Tests", by=here.ann)
        asked = await shows(here, "☑ Tests")
        await here.chat.send("and the wiki", by=here.ann, reply_to=asked)
        await (await shows(here, "In your words: and the wiki", "Next")).press("Next", by=here.ann)
        toast = await (await shows(here, "Your answers", "Send")).press("Send", by=here.ann)
        assert toast.text == "Answers sent"
        await here.hears("Thanks.")
        (item,) = await closed_asks(here)
        assert item.answer is not None
        assert item.answer["answers"] == {"Which colour?": "Red", "Which parts?": ["Tests", "and the wiki"]}


async def test_a_long_plan_is_read_and_sent_back(tmp_path: Path) -> None:
    plan = "\n".join(f"- step {number} does something" for number in range(250))
    async with (
        world(tmp_path, sim.turn(sim.tool("ExitPlanMode", {"plan": plan}), "I plan on.")) as here,
        here.bridged(),
    ):
        await here.say("plan it")
        asked = await shows(here, "in the 2 messages above", "Pause & Outline Plan")
        parts = [message for message in here.chat.bot_messages if "does something" in message.text]
        assert len(parts) == 2
        assert all(part.id < asked.id and part.silent for part in parts)
        assert not asked.silent
        await asked.press("No, keep planning: say what to change…", by=here.ann)
        prompt = await here.hears("What should change?")
        await here.chat.send("fewer steps", by=here.ann, reply_to=prompt)
        await here.hears("Plan sent back with changes by Ann (telegram)")
        (item,) = await closed_asks(here)
        assert item.answer == {"type": "revise_plan", "feedback": "fewer steps"}
        await eventually(lambda: said(here.chat, "What should change?")() is None)


async def test_a_megabyte_comes_as_a_file_before_the_ask(tmp_path: Path) -> None:
    command = "echo begin\n" + "x" * 1_000_000 + "\necho the end"
    async with world(tmp_path, sim.turn(sim.tool("Bash", {"command": command}), "Done.")) as here, here.bridged():
        await here.say("go")
        asked = await shows(here, "All of it is in the file above.", "Allow")
        (file,) = [message for message in here.chat.bot_messages if message.document]
        assert file.id < asked.id
        assert command.encode() in (file.document or b"")
        assert "echo the end" in asked.text
        await asked.press("Allow", by=here.ann)
        await here.hears("Done.")


async def test_answered_on_the_page_first(tmp_path: Path) -> None:
    async with world(tmp_path, sim.turn(sim.tool("Bash", {"command": "make"}), "Done.")) as here, here.bridged():
        await here.say("go")
        asked = await shows(here, "make", "Allow")
        (row,) = await here.rows()
        session = here.served.manager.session(row.id)
        (item,) = (await session.view()).asks.values()
        token = asked.buttons[0][1]
        await session.decide(item.ask_id, Allow(), digest=item.digest)
        toast = await asked.press(token, by=here.ann)
        assert toast.text in ("Denied", "Allowed by python.")  # by whether the bridge has heard of it
        await eventually(lambda: said(here.chat, "Allowed by python")())
        await here.hears("Done.")
        assert not [message for message in here.chat.bot_messages if message.buttons]


async def test_a_lost_ask_is_resumed_and_allowed_exactly_once(tmp_path: Path) -> None:
    asks = sim.ask("Bash", {"command": "make"}, wait=False)
    async with world(tmp_path, sim.expect("user"), asks, sim.sleep(1.0), sim.exit(3)) as here, here.bridged():
        await here.say("go")
        lost = await shows(here, "The process ended; answering will resume it.", "Resume and allow exactly this once")
        toast = await lost.press("Resume and allow exactly this once", by=here.ann)
        assert toast.text == "Approved; resuming…"
        await shows(here, "Allowed by Ann (telegram), after the process had ended: the session was resumed.")
        told = await eventually(lambda: _told(here))
        assert "the user allows exactly that call, once" in told


async def _told(here: World) -> str:
    return next((text for text in await here.prompts() if "could not reach you" in text), "")
