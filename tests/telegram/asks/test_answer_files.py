"""Answers that are too long for a message, sent as a file: read where they can be, and refused in words elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.policy.answers.plan import ApprovePlan, PlanContext, RevisePlan
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Allow, Deny
from handrail.telegram.asks.desk import item_of
from handrail.telegram.asks.files import LARGEST_ANSWER, answer_file, text_in
from handrail.telegram.asks.not_understood import NotUnderstood
from handrail.telegram.incoming import Message
from handrail.testing import simulated as sim

from ..bridge.support import PATIENCE, World, eventually, said, world
from .support import BEA, Chat, FakeHub, item, row_of
from .test_plans import plan_row

LONG_PLAN = "# The plan\n\n" + "\n".join(f"- step {number} does something" for number in range(250))
QUESTION = {"questions": [{"question": "What is it for?", "header": "Aim", "options": [{"label": "Fun"}]}]}


def reading(text: str) -> Callable[[], Awaitable[str]]:
    async def read() -> str:
        return text

    return read


def refusing(why: str) -> Callable[[], Awaitable[str]]:
    async def read() -> str:
        raise NotUnderstood(why)

    return read


def message(**fields: Any) -> Message:
    return msgspec.convert({"message_id": 5, "chat": {"id": 1001}, **fields}, Message)


def document(name: str, size: int = 10) -> Message:
    return message(document={"file_id": "f", "file_name": name, "file_size": size})


# ---------------------------------------------------------------- which files


@pytest.mark.parametrize("name", ["plan.md", "PLAN.MD", "notes.markdown", "a b.txt"])
def test_text_files_are_answers(name: str) -> None:
    assert answer_file([document(name)]).file_name == name


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([document("plan.pdf")], "text file"),
        ([document("plan")], "text file"),
        ([message(photo=[{"file_id": "p"}])], "text file"),
        ([message(voice={})], "text file"),
        ([message(photo=[{"file_id": "p"}]), message(photo=[{"file_id": "p"}])], "text file"),
        ([document("a.md"), document("b.md")], "one file"),
        ([document("long.md", LARGEST_ANSWER + 1)], "64 KB at most"),
    ],
)
def test_others_are_none(messages: list[Message], why: str) -> None:
    with pytest.raises(NotUnderstood, match=why):
        answer_file(messages)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"caf\xe9", "UTF-8"),
        ("wide".encode("utf-16"), "UTF-8"),
        (b"a\0b", "no text"),
        (b"", "empty"),
        (b" \n", "empty"),
        (b"x" * (LARGEST_ANSWER + 1), "at most"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(NotUnderstood, match=why):
        text_in("plan.md", data)


@given(st.text().filter(lambda text: text.strip() and "\0" not in text and not text.startswith("\ufeff")))
def test_text_is_read_as_it_was_written(text: str) -> None:
    assert text_in("plan.md", text.encode()) == text
    assert text_in("plan.md", text.encode("utf-8-sig")) == text


# ---------------------------------------------------------------- what they answer


async def test_a_long_plan_comes_as_a_file_to_be_changed_and_sent_back(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row(LONG_PLAN, PlanContext(cli_version="2.1.325")))))
    await chat.press("Yes, with changes of mine")
    prompts = await chat.state.read(lambda tables: tables.of_ask("s1", "ask-1"))
    (prompt,) = [each for each in prompts if ":prompt:" in each.key]
    assert prompt.content.attachment is not None
    assert prompt.content.attachment.name == "plan.md"
    assert ".md or .txt" in prompt.content.text.text

    mine = LONG_PLAN.replace("step 7", "step seven")
    assert await chat.reply("here it is", to=prompt, file=reading(mine))
    edited = await chat.beside("edited:")
    await chat.press("Approve this", content=edited[-1].content)
    assert hub.decided[0][1] == ApprovePlan("acceptEdits", plan=mine)


async def test_what_is_said_below_a_file_comes_before_it(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row())))
    assert await chat.reply("Like this:", BEA, file=reading("# Other\n"))
    assert hub.decided[0][1] == RevisePlan("Like this:\n\n# Other")


async def test_a_reason_and_a_command_may_be_files(chat: Chat, hub: FakeHub) -> None:
    hub.put(row_of(d.Command(text="make"), given={"command": "make"}))
    await chat.show(item(d.Command(text="make"), given={"command": "make"}))
    await chat.press("Edit")
    (prompt,) = await chat.beside("prompt:")
    await chat.reply("", to=prompt, file=reading("make -j2\n"))
    (edited,) = await chat.beside("edited:")
    await chat.press("Allow with these changes", content=edited.content)
    assert hub.decided[0][1] == Allow(updated_input={"command": "make -j2\n"})


async def test_a_file_in_reply_to_an_ask_denies_it(chat: Chat, hub: FakeHub) -> None:
    hub.put(row_of(d.Command(text="make"), given={"command": "make"}))
    await chat.show(item(d.Command(text="make"), given={"command": "make"}))
    assert await chat.reply("", file=reading("because " * 1000))
    answer = hub.decided[0][1]
    assert isinstance(answer, Deny)
    assert answer.message.count("because") == 1000


async def test_a_file_that_cannot_be_read_is_refused_in_words_and_the_ask_waits(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(plan_row())))
    assert await chat.reply("see below", file=refusing("an answer is text"))
    (told,) = await chat.beside("said:")
    assert told.content.text.text == "Sorry, an answer is text."
    assert hub.decided == []


# ---------------------------------------------------------------- through Telegram


async def answers_of(here: World) -> list[dict[str, Any] | None]:
    (row,) = await here.rows()
    view = await here.served.manager.session(row.id).view()
    return [each.answer for each in view.closed_asks.values()]


async def with_button(here: World, words: str) -> Any:
    def look(_: object = None) -> Any:
        shown = [each for each in here.chat.bot_messages if any(words in b.text for row in each.buttons for b in row)]
        return shown[0] if shown else None

    return await here.chat.wait(look, timeout=PATIENCE)


@pytest.mark.slow
async def test_a_plan_longer_than_a_message_is_changed_from_the_phone(tmp_path: Path) -> None:
    script = sim.turn(sim.tool("ExitPlanMode", {"plan": LONG_PLAN}, output="approved"), "It is done.")
    async with world(tmp_path, script) as here, here.bridged():
        await here.say("plan it")
        asked = await with_button(here, "Yes, with changes of mine")
        label = next(b.text for row in asked.buttons for b in row if b.text.startswith("Yes, with changes of mine"))
        await asked.press(label, by=here.ann)
        prompt = await eventually(lambda: next((each for each in here.chat.bot_messages if each.document), None))
        assert prompt.document.decode() == LONG_PLAN

        await here.chat.send_photo(b"\xff\xd8\xff\xe0" + bytes(40), reply_to=prompt)
        await here.hears("Sorry, an answer is text")
        await here.chat.send_document("é".encode("latin-1"), "plan.txt", reply_to=prompt)
        await here.hears("is no text in UTF-8")
        assert await answers_of(here) == []

        mine = LONG_PLAN + "\n- and a last one\n"
        await here.chat.send_document(mine.encode(), "plan.md", reply_to=prompt)
        edited = await with_button(here, "Approve this and accept edits")
        await edited.press("Approve this and accept edits", by=here.ann)
        await here.hears("It is done.")
        (answer,) = await answers_of(here)
        assert answer is not None
        assert answer["plan"] == mine.strip()
        await eventually(lambda: said(here.chat, "Reply with the whole plan")() is None)


@pytest.mark.slow
async def test_a_long_answer_to_a_question_is_sent_as_a_file(tmp_path: Path) -> None:
    words = "A very long story. " * 400
    async with world(tmp_path, sim.turn(sim.tool("AskUserQuestion", QUESTION), "Thanks.")) as here, here.bridged():
        await here.say("go")
        asked = await with_button(here, "Fun")
        await here.chat.send_document(words.encode(), "story.txt", reply_to=asked)
        await here.hears("Thanks.")
        (answer,) = await answers_of(here)
        assert answer is not None
        assert answer["answers"] == {"What is it for?": words.strip()}
