"""Messages come to show what they are to show."""

from __future__ import annotations

import asyncio

import pytest

from handrail.telegram.bot_errors import Refused
from handrail.telegram.model import GONE, Attachment, Button, Content, Place, Priority
from handrail.telegram.state import BridgeState
from handrail.telegram.text.rich import plain

from .support import ANN, BOB, GROUP, TOPIC, MemoryBot, Times, message, progress, running, text, until, want, want_all

BUTTONS = ((Button("Allow", token="t"),),)


async def test_a_message_is_sent_changed_and_taken_away(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        for content, shown in ((text("one"), ["one"]), (text("two"), ["two"]), (GONE, [])):
            await state.write(want("m", content))
            await outbox.idle()
            assert bot.texts() == shown
    assert bot.methods() == ["send", "edit", "delete"]


async def test_what_was_sent_can_be_found_by_its_number(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        await state.write(want("m", "hello", session_id="s"))
        await outbox.idle()
    ((chat, number),) = bot.messages
    found = await state.read(lambda t: t.message_at(chat, number))
    assert found is not None
    assert (found.key, found.session_id, found.content) == ("m", "s", text("hello"))


async def test_edits_of_what_is_not_sent_become_the_send(state: BridgeState, bot: MemoryBot) -> None:
    for words in ("one", "two", "three"):
        await state.write(want("m", words))
    async with running(state, bot) as outbox:
        await outbox.idle()
    assert bot.calls == [("send", ANN, "three")]


async def test_a_thousand_wants_are_a_few_edits_and_the_last_one_is_shown(state: BridgeState, bot: MemoryBot) -> None:
    bot.gate = asyncio.Event()
    async with running(state, bot) as outbox:
        await state.write(progress("p", "first of many"))
        await until(lambda: bot.calls != [])
        await want_all(state, (message("p", f"step {n}", priority=Priority.PROGRESS) for n in range(900)))
        await asyncio.gather(*(state.write(progress("p", f"again {number}")) for number in range(100)))
        await state.write(progress("p", "last"))
        bot.gate.set()
        await outbox.idle()
    assert [words for _, _, words in bot.calls] == ["first of many", "last"]


async def test_what_nobody_may_see_is_as_if_it_had_not_been_wanted(state: BridgeState, bot: MemoryBot) -> None:
    served = {ANN}
    async with running(state, bot, may_write=lambda _, place: place in served) as outbox:
        await state.write(want("m", "one"))
        await outbox.idle()
        served.remove(ANN)
        for key, words in (("m", "two"), ("n", "new")):
            await state.write(want(key, words))
        await outbox.idle()
        assert bot.texts() == ["one"]
        served.add(ANN)
        for key, words in (("m", "two"), ("n", "new")):
            await state.write(want(key, words))
        await outbox.idle()
    assert bot.texts() == ["two", "new"]
    assert bot.methods() == ["send", "edit", "send"]


async def test_equal_content_is_not_sent(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        for _ in range(3):
            await state.write(want("m", text("same", buttons=BUTTONS)))
            await outbox.idle()
    assert bot.methods() == ["send"]


async def test_order_is_kept_in_each_place(state: BridgeState, bot: MemoryBot) -> None:
    places = (ANN, BOB, GROUP, TOPIC)
    await want_all(state, (message(f"{place}:{n}", f"{place}:{n}", place) for n in range(30) for place in places))
    async with running(state, bot) as outbox:
        await outbox.idle()
    for place in places:
        sent = [words for _, where, words in bot.calls if where == place]
        assert sent == [f"{place}:{n}" for n in range(30)]


async def test_what_needs_a_person_goes_first(state: BridgeState, bot: MemoryBot) -> None:
    priorities = reversed(list(Priority))
    await want_all(state, (message(priority.name, priority.name, priority=priority) for priority in priorities))
    async with running(state, bot) as outbox:
        await outbox.idle()
    assert [words for _, _, words in bot.calls] == ["ASK", "REPLY", "ANSWER", "PROGRESS"]


async def test_progress_goes_when_the_answer_is_there(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        await state.write(progress("progress", "working"))
        await outbox.idle()
        bot.refuse = Times(Refused("Bad Request: odd"), 1, methods=["send"])
        gone = message("progress", GONE, priority=Priority.PROGRESS, after="answer")
        await want_all(state, (gone, message("answer", "done", priority=Priority.ANSWER)))
        await outbox.idle()
    assert bot.methods() == ["send", "send", "send", "delete"]
    assert bot.texts() == ["done"]


async def test_files(state: BridgeState, bot: MemoryBot) -> None:
    file = Attachment("log.txt", b"x" * 2_000_000)
    async with running(state, bot) as outbox:
        await state.write(want("m", text("log", attachment=file)))
        await outbox.idle()
        ((_, first),) = bot.messages
        assert bot.messages[ANN.chat, first].attachment == file
        await state.write(want("m", text("the log", attachment=file, buttons=BUTTONS)))
        await outbox.idle()
        assert bot.messages[ANN.chat, first].text == plain("the log")
        await state.write(want("m", text("the log", attachment=Attachment("log.txt", b"y"))))
        await outbox.idle()
        ((_, second),) = bot.messages
        assert second != first
        assert bot.messages[ANN.chat, second].attachment == Attachment("log.txt", b"y")
    assert bot.methods() == ["send", "edit", "delete", "send"]


async def test_drafts_and_signs_of_life_are_shown_when_there_is_time(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        for words in ("a", "ab", "abc"):
            outbox.draft(ANN, 1, plain(words))
        outbox.draft(GROUP, 2, plain("groups have none"))
        outbox.draft(BOB, 3, plain("dropped"))
        outbox.drop_draft(BOB, 3)
        outbox.action(GROUP)
        outbox.action(GROUP)
        await outbox.idle()
    assert bot.drafts == [(ANN, 1, "abc")]
    assert bot.actions == [GROUP]


async def test_no_draft_comes_behind_the_answer(state: BridgeState, bot: MemoryBot) -> None:
    bot.gate = asyncio.Event()
    async with running(state, bot) as outbox:
        outbox.draft(ANN, 1, plain("half an ans"))
        await until(lambda: bot.methods() == ["draft"])
        await state.write(want("ask", "Allow?", priority=Priority.ASK))
        await state.write(want("answer", "an answer", priority=Priority.ANSWER))
        await until(lambda: "send" in bot.methods())
        assert [words for _, _, words in bot.calls] == ["half an ans", "Allow?"]
        bot.gate.set()
        await outbox.idle()
    assert bot.texts() == ["Allow?", "an answer"]


async def test_where_there_are_no_drafts_none_is_tried_again(state: BridgeState, bot: MemoryBot) -> None:
    bot.refuse = Times(Refused("Not Found: method not found"), -1, methods=["draft"])
    async with running(state, bot) as outbox:
        outbox.draft(ANN, 1, plain("a"))
        await outbox.idle()
        assert not outbox.has_drafts
        outbox.draft(ANN, 1, plain("ab"))
        await outbox.idle()
    assert bot.methods() == ["draft"]


async def test_what_is_under_way_ends_before_the_outbox_does(state: BridgeState, bot: MemoryBot) -> None:
    bot.gate = asyncio.Event()
    async with running(state, bot):
        await state.write(want("m", "x"))
        await until(lambda: bot.calls != [])
        asyncio.get_running_loop().call_later(0.05, bot.gate.set)
    assert await state.read(lambda t: t.waiting()) == 0


@pytest.mark.slow
async def test_calls_that_take_long_leave_room_for_what_needs_a_person(state: BridgeState) -> None:
    class SlowBot(MemoryBot):
        async def _call(self, method: str, place: Place, content: Content) -> None:
            await super()._call(method, place, content)
            if content.text.text == "slow":
                await asyncio.Event().wait()

    bot, others = SlowBot(), [Place(2000 + number) for number in range(60)]
    async with running(state, bot):
        for priority in (Priority.PROGRESS, Priority.ANSWER, Priority.REPLY):
            await want_all(
                state, (message(f"{priority}:{place}", "slow", place, priority=priority) for place in others)
            )
        await until(lambda: len(bot.calls) >= 12)
        await state.write(want("ask", "Allow?", BOB, priority=Priority.ASK))
        await until(lambda: bot.texts(BOB) == ["Allow?"])
