"""The pace: what the server counts, and that a bot which waits as long as it is told gets through."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.testing import TelegramPace
from handrail.testing.telegram.pace import Pacer

from .support import raw_bot


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_too_much_is_refused_and_says_how_long_to_wait() -> None:
    clock = Clock()
    async with raw_bot(pace=TelegramPace(chat_burst=2, clock=clock)) as (bot, _, chat):
        await bot.say(chat, "one")
        await bot.say(chat, "two")
        refused = await bot.answer("sendMessage", chat_id=chat.id, text="three")
        assert refused["error_code"] == 429
        assert refused["description"] == "Too Many Requests: retry after 1"
        assert refused["parameters"] == {"retry_after": 1}
        assert bot.server.counts_429 == 1
        clock.now += 1
        await bot.say(chat, "three")
        edit = {"chat_id": chat.id, "message_id": chat.messages[-1].id, "text": "more"}
        assert (await bot.answer("editMessageText", **edit))["error_code"] == 429
        await bot.call("getMe")
        await bot.call("sendChatAction", chat_id=chat.id, action="typing")


def allowed(pacer: Pacer, chat: int, count: int) -> int:
    return sum(pacer.retry_after(chat) == 0 for _ in range(count))


def test_a_group_takes_twenty_a_minute() -> None:
    clock = Clock()
    pacer = Pacer(TelegramPace(chat_burst=100, clock=clock))
    assert allowed(pacer, -1001, 25) == 20
    assert pacer.retry_after(-1001) == 60
    clock.now += 59.5
    assert pacer.retry_after(-1001) == 1
    clock.now += 0.5
    assert allowed(pacer, -1001, 25) == 20


def test_all_chats_together_take_thirty_a_second() -> None:
    pacer = Pacer(TelegramPace(clock=Clock()))
    assert sum(allowed(pacer, chat, 1) for chat in range(1, 50)) == 30


def test_a_scale_makes_everything_faster() -> None:
    clock = Clock()
    pacer = Pacer(TelegramPace(scale=10, clock=clock))
    assert allowed(pacer, 1, 6) == 5
    clock.now += 0.1
    assert allowed(pacer, 1, 6) == 1


def test_without_a_pace_nothing_is_counted() -> None:
    assert allowed(Pacer(None), -1001, 1000) == 1000


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from([1, 2, -1001])), max_size=60))
def test_whoever_waits_as_told_gets_through(steps: list[tuple[float, int]]) -> None:
    clock = Clock()
    pacer = Pacer(TelegramPace(chat_burst=3, group_messages=5, overall_messages=6, clock=clock))
    for pause, chat in steps:
        clock.now += pause
        wait = pacer.retry_after(chat)
        clock.now += wait
        assert wait == 0 or pacer.retry_after(chat) == 0
