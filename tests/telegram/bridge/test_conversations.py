"""Somebody talks to Claude in a chat: a message starts a session, or goes on with one."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.protocol.asks import Allow
from handrail.testing import simulated as sim
from handrail.testing.telegram import Message
from tests.server.support import ASKS

from .support import PATIENCE, World, eventually, said, world

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""


@pytest.mark.slow
async def test_a_message_starts_a_session_in_the_project_and_its_answer_is_a_reply(echo: World) -> None:
    sent = await echo.say("hello")
    answer = await echo.hears("You said hello.")
    assert answer.reply_to is not None
    assert answer.reply_to.id == sent.id
    (row,) = await echo.rows()
    assert row.cwd == str(echo.served.directory)
    assert f"claude --resume {row.cli_session_id}" in answer.text
    assert answer.silent


@slow
async def test_a_message_in_a_chat_without_a_project_offers_some(tmp_path: Path) -> None:
    async with world(tmp_path, cwd="") as here, here.bridged():
        await here.say("hello")
        offer = await here.hears("This chat has no project yet: choose one")
        assert "Other directories…" in [button.text for row in offer.buttons for button in row]
        assert not await here.rows()


@slow
async def test_the_next_message_goes_on_with_the_session(echo: World) -> None:
    await echo.say("one")
    await echo.hears("You said one.")
    await echo.say("two")
    await echo.hears("You said two.")
    assert len(await echo.rows()) == 1


@slow
async def test_nothing_that_is_as_usual_looks_like_an_error_in_the_log_of_the_hub(
    echo: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "handrail.access"):
        await echo.say("hello")
        await echo.hears("You said hello.")
        await eventually(lambda: "GET /api/files 200" in caplog.messages)
    assert not [message for message in caplog.messages if message[-3:] >= "400"]


@slow
async def test_what_happened_is_recorded_as_done_by_the_person(echo: World) -> None:
    await echo.say("hello")
    await echo.hears("You said hello.")
    (row,) = await echo.rows()
    view = await echo.served.manager.session(row.id).view()
    (prompt,) = view.prompts.values()
    assert (prompt.by, prompt.surface) == ("Ann", "telegram")


@pytest.mark.slow
async def test_an_ask_comes_with_buttons_and_sound_and_is_answered_with_one(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here, here.bridged():
        await here.say("clean up")
        ask = await here.asked()
        assert "rm -rf build" in ask.text
        assert not ask.silent
        toast = await ask.press("Allow", by=here.ann)
        assert toast.text
        answer = await here.hears("All clean.")
        assert answer.silent
        decided = await eventually(lambda: said(here.chat, "Allowed by Ann")())
        assert not decided.buttons
        begun = [str(call.params.get("text")) for call in here.telegram.calls_of("sendMessage")]
        assert not any("waits for an answer" in text for text in begun), "it would push the ask up"


@slow
async def test_asks_that_wait_together_are_each_answered_by_themselves(tmp_path: Path) -> None:
    both = (sim.ask("Bash", {"command": "make one"}, wait=False), sim.ask("Bash", {"command": "make two"}))
    async with world(tmp_path, sim.turn(*both, "Both are done.")) as here, here.bridged():
        await here.say("do both")
        await eventually(lambda: len(_open_asks(here)) == 2)
        first, second = _open_asks(here)
        await second.press("Deny", by=here.ann)
        await eventually(lambda: [each.id for each in _open_asks(here)] == [first.id])
        await first.press("Allow", by=here.ann)
        await here.hears("Both are done.")
        assert "make one" in (await here.hears("Allowed by Ann")).text
        assert "make two" in (await here.hears("Denied by Ann")).text


def _open_asks(here: World) -> list[Message]:
    return [message for message in here.chat.bot_messages if message.buttons]


@slow
async def test_a_reply_to_an_ask_denies_it_with_these_words(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here, here.bridged():
        await here.say("clean up")
        ask = await here.asked()
        await here.say("leave the build alone", reply_to=ask)
        await eventually(lambda: said(here.chat, "Denied by Ann")())
        (row,) = await here.rows()
        (item,) = (await here.served.manager.session(row.id).view()).closed_asks.values()
        assert "leave the build alone" in str(item.answer)


@slow
async def test_progress_is_shown_while_it_works_and_goes_when_the_answer_is_there(tmp_path: Path) -> None:
    works = sim.turn(sim.tool("Read", {"file_path": "a"}, output="x", ask=False), sim.sleep(1.0), "Found it.")
    async with world(tmp_path, works) as here, here.bridged():
        await here.say("look")
        working = await here.hears("▸")
        answer = await here.hears("Found it.")
        await eventually(lambda: working.id not in {message.id for message in here.chat.messages})
        assert answer.id in {message.id for message in here.chat.messages}
        assert "typing" in here.chat.actions


@slow
async def test_a_reply_goes_on_with_the_session_of_the_message_replied_to(echo: World) -> None:
    await echo.say("one")
    first = await echo.hears("You said one.")
    await echo.say("/new")
    await echo.say("two")
    await echo.hears("You said two.")
    assert len(await echo.rows()) == 2
    await echo.say("three", reply_to=first)
    await echo.hears("You said three.")
    await echo.say("four")
    await echo.hears("You said four.")
    prompts = {}
    for row in await echo.rows():
        view = await echo.served.manager.session(row.id).view()
        prompts[row.id] = [prompt.text for prompt in view.prompts.values()]
    assert sorted(prompts.values()) == [["one", "three", "four"], ["two"]]


@slow
async def test_a_resume_line_names_the_session(echo: World) -> None:
    session = await echo.served.session(sim.loop_turns("You said $text."))
    await session.run("before")
    row = await session.row()
    await echo.say(f"go on\nclaude --resume {row.cli_session_id}")
    await echo.hears("You said go on.")
    assert [each.id for each in await echo.rows()] == [session.id]
    await echo.say(f"`claude --resume {row.cli_session_id}`")
    await echo.hears("goes on with that session")


@slow
async def test_a_deleted_session_is_said_to_be_and_the_next_message_starts_another(echo: World) -> None:
    await echo.say("one")
    await echo.hears("You said one.")
    (row,) = await echo.rows()
    session = echo.served.manager.session(row.id)
    await session.stop()
    await session.delete()
    await echo.hears("This session was deleted.")
    await echo.say("two")
    await echo.hears("You said two.")
    (other,) = await echo.rows()
    assert other.id != row.id


@slow
async def test_a_message_to_a_deleted_session_by_reply_says_so(echo: World) -> None:
    await echo.say("one")
    first = await echo.hears("You said one.")
    (row,) = await echo.rows()
    await echo.say("/new")
    await echo.say("two")
    await echo.hears("You said two.")
    session = echo.served.manager.session(row.id)
    await session.stop()
    await session.delete()
    await echo.say("three", reply_to=first)
    await echo.hears("was deleted")


@slow
async def test_what_somebody_writes_elsewhere_is_shown_with_its_answer(echo: World) -> None:
    await echo.say("one")
    await echo.hears("You said one.")
    (row,) = await echo.rows()
    async with echo.served.client() as client:
        sent = await client.post(f"/api/sessions/{row.id}/messages", json={"content": "from the page"})
        assert sent.status_code == 200
    await echo.hears("from the page")
    await echo.hears("You said from the page.")


@slow
async def test_a_process_that_dies_is_told_of_in_words(tmp_path: Path) -> None:
    async with world(tmp_path, sim.turn("Let me see.", sim.exit(3))) as here, here.bridged():
        await here.say("look")
        await here.hears("✗")


@slow
async def test_a_refusal_of_the_hub_is_told_and_stops_nothing(tmp_path: Path) -> None:
    async with world(tmp_path, cwd="/nowhere/at/all") as here, here.bridged():
        await here.say("hello")
        await here.hears("✗")
        await here.say("/help")
        await here.hears("/new")


@slow
async def test_the_session_runs_as_the_chat_prefers(echo: World) -> None:
    await echo.say("/mode acceptEdits")
    await eventually(lambda: echo.chat.bot_messages)
    await echo.say("hello")
    await echo.hears("You said hello.")
    (row,) = await echo.rows()
    assert b"acceptEdits" in row.settings


@slow
async def test_what_is_answered_at_once_is_never_shown(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here:
        here.rhythm = replace(here.rhythm, settling=PATIENCE)
        async with here.bridged():
            await here.say("go")
            (session,) = await eventually(here.rows)
            asked = await here.served.asked(here.served.manager.session(session.id))
            await here.served.manager.session(session.id).decide(asked.id, Allow(), digest=asked.digest)
            await here.hears("All clean.")
        assert not any(message.buttons or "Allowed by" in message.text for message in here.chat.bot_messages)
