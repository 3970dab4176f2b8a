"""Whatever Telegram or the network does, what is wanted is shown in the end, and nothing is lost."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from msgspec.structs import replace

from handrail.telegram.bot_errors import (
    BadEntities,
    Blocked,
    BotError,
    ChatMoved,
    FloodWait,
    MessageGone,
    NotEditable,
    Refused,
    TokenInvalid,
    TooLong,
    TopicGone,
    Unreachable,
    error_of,
)
from handrail.telegram.model import GONE, Attachment, Button, Content, Place, Priority
from handrail.telegram.outbox import Outbox
from handrail.telegram.state import BridgeState
from handrail.telegram.text.rich import bold

from .support import ANN, BOB, GROUP, QUICK, TOPIC, MemoryBot, Times, message, running, text, until, want, want_all

BUTTONS = ((Button("Allow", token="t"),),)


@pytest.mark.slow
async def test_a_flood_wait_holds_up_its_chat_only(state: BridgeState, bot: MemoryBot) -> None:
    bot.refuse = Times(FloodWait("Too Many Requests: retry after 1", 0.4), 1, chat=ANN.chat)
    started = time.monotonic()
    async with running(state, bot) as outbox:
        await want_all(state, (message("a", "to Ann"), message("b", "to Bob", BOB)))
        await until(lambda: bot.texts(BOB) == ["to Bob"])
        assert time.monotonic() - started < 0.4
        await outbox.idle()
    assert time.monotonic() - started >= 0.4
    assert bot.texts(ANN) == ["to Ann"]
    assert bot.methods() == ["send"] * 3


@pytest.mark.slow
async def test_a_flood_wait_in_two_chats_holds_up_all(state: BridgeState, bot: MemoryBot) -> None:
    floods = Times(FloodWait("Too Many Requests: retry after 1", 0.5), 2)
    bot.refuse = floods
    carl = Place(1003)
    async with running(state, bot, pace=replace(QUICK, overall_seconds=1.0)) as outbox:
        await want_all(state, (message("a", "to Ann"), message("b", "to Bob", BOB)))
        await until(lambda: floods.left == 0)
        flooded = time.monotonic()
        await state.write(want("c", "to Carl", carl))
        await until(lambda: bot.texts(carl) == ["to Carl"])
        assert time.monotonic() - flooded >= 0.4
        await outbox.idle()
    assert (bot.texts(ANN), bot.texts(BOB)) == (["to Ann"], ["to Bob"])


async def test_a_chat_that_blocked_the_bot_rests_until_somebody_writes_there(
    state: BridgeState, bot: MemoryBot
) -> None:
    bot.refuse = Times(Blocked("Forbidden: bot was blocked by the user"), 1)
    async with running(state, bot) as outbox:
        await state.write(want("m", "one"))
        await outbox.idle()
        await state.write(want("m", "two"))
        await state.write(want("n", "three"))
        await outbox.idle()
        assert bot.methods() == ["send"]
        assert await state.read(lambda t: t.resting()) == {ANN.chat: "Forbidden: bot was blocked by the user"}
        await outbox.revive(ANN.chat)
        await outbox.idle()
    assert bot.texts() == ["two", "three"]


async def test_looks_that_telegram_does_not_understand_go(state: BridgeState, bot: MemoryBot) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return BadEntities("Bad Request: can't parse entities") if content.text.entities else None

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        await state.write(want("m", Content(text=bold("hello"), buttons=BUTTONS)))
        await outbox.idle()
        assert list(bot.messages.values()) == [text("hello", buttons=BUTTONS)]
        await state.write(want("m", Content(text=bold("bye"), buttons=BUTTONS)))
        await outbox.idle()
    assert list(bot.messages.values()) == [text("bye", buttons=BUTTONS)]
    assert await state.read(lambda t: t.problems()) == []


@pytest.mark.parametrize(("attachment", "limit"), [(None, 4096), (Attachment("a", b"x"), 1024)])
async def test_what_is_too_long_is_cut(
    state: BridgeState, bot: MemoryBot, attachment: Attachment | None, limit: int
) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return TooLong("Bad Request: message is too long") if content.text.length > limit else None

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        await state.write(want("m", text("😀" * 5000, attachment=attachment)))
        await outbox.idle()
    (shown,) = bot.texts()
    assert shown.startswith("😀")
    assert shown.endswith("…")
    assert limit - 3 <= len(shown.encode("utf-16-le")) // 2 <= limit


async def test_what_telegram_does_not_take_at_all_is_said_and_holds_up_nothing(
    state: BridgeState, bot: MemoryBot, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return Refused("Bad Request: odd") if "bad" in content.text.text else None

    bot.refuse = refuse
    with caplog.at_level(logging.WARNING):
        async with running(state, bot) as outbox:
            await want_all(state, (message("m", text("bad", buttons=BUTTONS)), message("n", "good", after="m")))
            await outbox.idle()
            assert bot.texts() == ["good"]
            assert bot.methods() == ["send"] * 4
            assert await state.read(lambda t: t.problems()) == [("m", "Bad Request: odd")]
            await state.write(want("m", "fine"))
            await outbox.idle()
    assert bot.texts() == ["good", "fine"]
    assert "odd" in caplog.text


async def test_a_message_that_was_deleted_comes_again_if_it_has_buttons(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        await state.write(want("m", text("Allow?", buttons=BUTTONS)))
        await outbox.idle()
        bot.messages.clear()
        await state.write(want("m", text("Allow it?", buttons=BUTTONS)))
        await outbox.idle()
    assert bot.texts() == ["Allow it?"]


async def test_where_no_files_may_be_sent_the_words_come_and_so_does_everything_else(
    state: BridgeState, bot: MemoryBot
) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        words = "Bad Request: not enough rights to send documents to the chat"
        return error_of(400, words, {}) if content.attachment is not None else None

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        file = text("report.pdf · 3 kB", attachment=Attachment("report.pdf", b"%PDF"))
        await want_all(state, (message("f", file, GROUP), message("m", text("Allow?", buttons=BUTTONS), GROUP)))
        await outbox.idle()
        assert await state.read(lambda tables: tables.resting()) == {}
    assert bot.texts(GROUP) == ["report.pdf · 3 kB\n▲ Telegram does not take this file here.", "Allow?"]
    assert bot.methods() == ["send"] * 3


async def test_a_file_that_telegram_never_takes_is_said_to_be_missing(state: BridgeState, bot: MemoryBot) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return TooLong("Request Entity Too Large") if content.attachment is not None else None

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        await state.write(want("f", Content(attachment=Attachment("film.mp4", b"x"))))
        await outbox.idle()
    assert bot.texts() == ["film.mp4\n▲ Telegram does not take this file here."]


async def test_what_is_too_long_because_of_its_buttons_is_said_without_them(state: BridgeState, bot: MemoryBot) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return TooLong("Bad Request: REPLY_MARKUP_TOO_LONG") if content.buttons else None

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        await state.write(want("m", text("Which one?", buttons=BUTTONS)))
        await outbox.idle()
    assert bot.texts() == ["Which one?"]


async def test_a_message_that_was_deleted_stays_so_if_it_only_tells(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        await state.write(want("p", "10 %"))
        await outbox.idle()
        bot.messages.clear()
        for words in ("20 %", "30 %", "40 %"):
            await state.write(want("p", words))
            await outbox.idle()
        assert bot.methods() == ["send", "edit"]
        assert await state.read(lambda tables: tables.problems()) == []  # nobody need look into that
        for content in (text("Allow?", buttons=BUTTONS), text("Allowed")):
            await state.write(want("p", content))
            await outbox.idle()
            assert list(bot.messages.values()) == [content]


async def test_what_is_shown_already_is_well(state: BridgeState, bot: MemoryBot) -> None:
    bot.lose_answer = Times(Unreachable("no answer"), 1, methods=["edit"])
    async with running(state, bot) as outbox:
        await state.write(want("m", "one"))
        await outbox.idle()
        await state.write(want("m", "two"))
        await outbox.idle()
    assert bot.texts() == ["two"]
    assert bot.methods() == ["send", "edit", "edit"]


async def test_a_message_whose_answer_was_lost_is_sent_again_and_the_first_can_be_taken_away(
    state: BridgeState, bot: MemoryBot
) -> None:
    bot.lose_answer = Times(Unreachable("the connection broke"), 1, methods=["send"])
    async with running(state, bot) as outbox:
        await state.write(want("m", "hello"))
        await outbox.idle()
        assert bot.texts() == ["hello", "hello"]
        (_, first), (_, second) = sorted(bot.messages)
        known = await state.read(lambda t: t.sent("m"))
        assert known is not None
        assert known.message_id == second
        await state.write(lambda t: t.stray(ANN, first))
        await outbox.idle()
    assert list(bot.messages) == [(ANN.chat, second)]


async def test_what_was_deleted_already_need_not_be_taken_away(state: BridgeState, bot: MemoryBot) -> None:
    async with running(state, bot) as outbox:
        await state.write(want("m", "x"))
        await outbox.idle()
        bot.messages.clear()
        await state.write(want("m", GONE))
        await outbox.idle()
    assert bot.methods() == ["send", "delete"]


async def test_what_cannot_be_taken_away_any_more_is_emptied(state: BridgeState, bot: MemoryBot) -> None:
    bot.refuse = Times(NotEditable("Bad Request: message can't be deleted for everyone"), -1, methods=["delete"])
    async with running(state, bot) as outbox:
        await state.write(want("m", text("Allow?", buttons=BUTTONS)))
        await outbox.idle()
        await state.write(want("m", GONE))
        await outbox.idle()
        assert list(bot.messages.values()) == [text("—")]
        await state.write(want("m", "back"))
        await outbox.idle()
    assert bot.texts() == ["—", "back"]


async def test_what_cannot_be_changed_is_sent_anew(state: BridgeState, bot: MemoryBot) -> None:
    bot.refuse = Times(NotEditable("Bad Request: message can't be edited"), -1, methods=["edit"])
    async with running(state, bot) as outbox:
        await state.write(want("m", text("Why?", placeholder="Reason")))
        await outbox.idle()
        await state.write(want("m", "Denied"))
        await outbox.idle()
    assert bot.texts() == ["Denied"]
    assert bot.methods() == ["send", "edit", "delete", "send"]


@pytest.mark.slow
async def test_where_the_topic_is_gone_it_is_said_outside(state: BridgeState, bot: MemoryBot) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return TopicGone("Bad Request: message thread not found") if place.thread else None

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        await state.write(want("m", "hello", TOPIC))
        await outbox.idle()
    assert [place for _, place, _ in bot.calls] == [TOPIC, Place(TOPIC.chat)]


async def test_a_group_with_a_new_number_gets_what_was_meant_for_the_old(state: BridgeState, bot: MemoryBot) -> None:
    old, new = Place(-7), Place(-1007)
    bot.refuse = Times(ChatMoved("Bad Request: group chat was upgraded", new.chat), -1, chat=old.chat)
    async with running(state, bot) as outbox:
        await want_all(state, (message("a", "one", old), message("b", "two", old)))
        await outbox.idle()
    assert bot.texts(new) == ["one", "two"]


@pytest.mark.slow
async def test_when_telegram_is_away_everything_waits_in_order(
    state: BridgeState, bot: MemoryBot, caplog: pytest.LogCaptureFixture
) -> None:
    away = Times(Unreachable("Telegram cannot be reached", is_away=True), 12)
    bot.refuse = away
    async with running(state, bot) as outbox:
        await want_all(state, (message(str(n), str(n)) for n in range(5)))
        await until(lambda: away.left < 10)
        assert outbox.trouble == "Telegram cannot be reached"
        await outbox.idle()
        assert outbox.trouble == ""
    assert bot.texts() == [str(n) for n in range(5)]
    assert caplog.text.count("cannot be reached") == 1


@pytest.mark.slow
async def test_one_message_that_never_works_holds_up_no_other(state: BridgeState, bot: MemoryBot) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        return Unreachable("Internal Server Error") if content.text.text == "poison" else None

    bot.refuse = refuse
    async with running(state, bot):
        await want_all(state, (message("p", "poison"), message("a", "one"), message("b", "two")))
        await until(lambda: bot.texts() == ["one", "two"])
        bot.refuse = lambda *_: None
        await until(lambda: "poison" in bot.texts())


async def test_a_token_that_is_not_valid_any_more_ends_it(state: BridgeState, bot: MemoryBot) -> None:
    bot.refuse = Times(TokenInvalid("Telegram does not know this bot token"), -1)
    await state.write(want("m", "x"))
    with pytest.raises(TokenInvalid):
        await asyncio.wait_for(Outbox(state, bot, pace=QUICK).run(), 20)
    assert await state.read(lambda t: t.waiting()) == 1


async def test_a_mistake_in_a_bot_is_not_swallowed(state: BridgeState, bot: MemoryBot) -> None:
    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        raise ZeroDivisionError

    bot.refuse = refuse
    await state.write(want("m", "x"))
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(Outbox(state, bot, pace=QUICK).run(), 20)


async def test_a_file_whose_bytes_are_gone_comes_again_as_its_text(state: BridgeState, bot: MemoryBot) -> None:
    file = Attachment("a.txt", b"data")
    async with running(state, bot) as outbox:
        await state.write(want("m", text("Plan", attachment=file, buttons=BUTTONS)))
        await outbox.idle()
        bot.messages.clear()
        await state.write(want("m", text("The plan", attachment=file, buttons=BUTTONS)))
        await outbox.idle()
    (shown,) = bot.messages.values()
    assert (shown.text.text, shown.buttons) == ("The plan", BUTTONS)


@pytest.mark.slow
async def test_any_of_these_in_any_order_ends_with_what_is_wanted(state: BridgeState, bot: MemoryBot) -> None:
    troubles: list[BotError] = [
        FloodWait("Too Many Requests", 0.01),
        Unreachable("dropped"),
        BadEntities("entities"),
        MessageGone("Bad Request: message to edit not found"),
        NotEditable("Bad Request: message can't be edited"),
    ]
    calls = iter(range(10_000))

    def refuse(method: str, place: Place, content: Content) -> BotError | None:
        number = next(calls)
        error = troubles[number * 7 % 5] if number % 3 == 0 and number < 120 else None
        return None if isinstance(error, MessageGone | NotEditable) and method == "send" else error

    bot.refuse = refuse
    async with running(state, bot) as outbox:
        for turn in range(4):
            await want_all(
                state,
                (
                    message(str(n), text(f"{n}: {turn}", buttons=BUTTONS), Place(1 + n % 3), priority=Priority(n % 4))
                    for n in range(20)
                ),
            )
            await outbox.idle()
    known = await state.read(lambda t: [t.sent(str(n)) for n in range(20)])
    for n, sent in enumerate(known):
        assert sent is not None
        assert bot.messages[sent.place.chat, sent.message_id].text.text == f"{n}: 3"
