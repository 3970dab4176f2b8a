"""How long it takes in Telegram: from a button to its toast, and from what happens in a session to the chat."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import cast

from bench.common import Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client
from bench.telegram_staging import BotModule, Staged, Watched, staged

__all__ = ["TelegramLatency"]

WARM_UP = 3

BRIDGE = Contender("bridge", "telegram_bridge", look="unpaced")
READER = Contender("a reader of the hub", "telegram_reader")
PTB = Contender("python-telegram-bot", "telegram_ptb")
AIOGRAM = Contender("aiogram", "telegram_aiogram")


class TelegramLatency(SessionGate):
    """Telegram and the hub are another process; nobody waits for Telegram's pace."""

    name = "telegram-latency"
    title = "Telegram: a button, an ask, an answer"
    contenders = (BRIDGE, READER, PTB, AIOGRAM)
    rounds = 3
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        (place.path / "settings").write_text(json.dumps({"count": 10 if quick else 20}))

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        count = int(place.settings()["count"])
        async with staged(place, sessions=1) as stage, cast(BotModule, client).serving(stage, contender.look) as bot:
            await _times(stage, bot, contender, first=0, count=WARM_UP)
            before = cpu_seconds()
            times = await _times(stage, bot, contender, first=WARM_UP, count=count)
            spent = cpu_seconds() - before
        medians = {f"{kind}_ms": statistics.median(each) * 1e3 for kind, each in times.items() if any(each)}
        return {**medians, "cpu_ms": spent / count * 1e3}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(metric: str, below: Contender) -> list[float]:
            return samples.ratios(metric, BRIDGE.name, below.name)

        def of_bridge(words: str, metric: str) -> Verdict:
            return Verdict(words, samples.values(metric, BRIDGE.name), unit=" ms", digits=1)

        return [
            Verdict("button to toast, of python-telegram-bot", ratios("toast_ms", PTB)),
            Verdict("button to toast, of aiogram", ratios("toast_ms", AIOGRAM)),
            of_bridge("button to toast", "toast_ms"),
            Verdict("ask to chat, of a bare `send_message`", ratios("ask_ms", PTB)),
            Verdict("ask to chat, of a reader that keeps nothing", ratios("ask_ms", READER)),
            of_bridge("ask to chat", "ask_ms"),
            Verdict("answer to chat, of a bare `send_message`", ratios("answer_ms", PTB)),
            Verdict("answer to chat, of a reader that keeps nothing", ratios("answer_ms", READER)),
            of_bridge("answer to chat", "answer_ms"),
            Verdict("CPU of a turn (ask, button, answer), of such a reader", ratios("cpu_ms", READER)),
            of_bridge("CPU of such a turn", "cpu_ms"),
        ]


async def _times(
    stage: Staged, bot: Watched, contender: Contender, *, first: int, count: int
) -> Mapping[str, Sequence[float]]:
    """Seconds that each thing took."""
    if contender in (BRIDGE, READER):
        return await stage.do("exchange", first=first, count=count, pressed=contender is BRIDGE)
    return await _alone(stage, bot, count)


async def _alone(stage: Staged, bot: Watched, count: int) -> Mapping[str, Sequence[float]]:
    """A bot that follows nothing: how long a message takes that is sent at once, and a button that is only answered."""
    begun = await bot.sent(count)
    arrived = (await stage.do("arrivals"))["at"][-count:]
    sent = [at - start for at, start in zip(arrived, begun, strict=True)]
    return {"ask": sent, "answer": sent, **await stage.do("press", count=count)}
