"""What it costs to follow many sessions in Telegram while they stream, and whether Telegram has to ask for silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from bench import traffic
from bench.common import AT_MOST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client
from bench.gates.memory import Peak
from bench.telegram_stage import APART
from bench.telegram_staging import BotModule, staged

__all__ = ["TelegramWatching"]

SESSIONS = 50
RATE = 50
SECONDS = 10

PRIVATE = Contender("bridge, private chats", "telegram_bridge", look="private")
TOPICS = Contender("bridge, topics of a group", "telegram_bridge", look="topics")
READER = Contender("a reader of the hub", "telegram_reader", look="silent")
LIGHT = ("sendMessageDraft", "sendChatAction")
WRITTEN = ("sendMessage", "editMessageText", "deleteMessage")


class TelegramWatching(SessionGate):
    """Telegram, which keeps the pace of the real one, and the hub are another process."""

    name = "telegram-watching"
    title = f"Telegram: {SESSIONS} sessions × {RATE} frames/s followed"
    contenders = (PRIVATE, TOPICS, READER)
    rounds = 1
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        played = traffic.one_turn(traffic.conversation(RATE * SECONDS))
        place.write("paced", played, rate=RATE)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        where = "topics" if contender is TOPICS else "private"
        async with staged(place, sessions=SESSIONS, where=where) as stage:
            memory = Peak()
            async with cast(BotModule, client).serving(stage, contender.look) as bot:
                before = cpu_seconds()
                played = await stage.do("play")
                await bot.caught_up(played["ends"])
                spent = cpu_seconds() - before
                calls = await stage.do("calls")
                rise = memory.rise()
        methods: Mapping[str, int] = calls["methods"]
        return {
            "percent": spent / SECONDS / SESSIONS * 1e2,
            "late": (played["seconds"] - APART * SESSIONS) / SECONDS,
            "kb_per_session": rise / SESSIONS / 1024,
            "written": sum(methods.get(method, 0) for method in WRITTEN) / played["seconds"],
            "light": sum(methods.get(method, 0) for method in LIGHT) / played["seconds"],
            "too_many": sum(calls["refused"].values()),
        }

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def values(metric: str, contender: Contender) -> list[float]:
            return samples.values(metric, contender.name)

        verdicts = []
        for contender in (PRIVATE, TOPICS):
            words = contender.name.removeprefix("bridge, ")
            ratios = samples.ratios("percent", contender.name, READER.name)
            verdicts += [
                Verdict(f"{words}: CPU, of a reader that shows nothing", ratios),
                Verdict(f"{words}: CPU a session, of a core", values("percent", contender), unit=" %", digits=2),
                Verdict(f"{words}: memory a session", values("kb_per_session", contender), unit=" KB", digits=0),
                Verdict(
                    f"{words}: messages, edits, deletions a second", values("written", contender), unit="", digits=1
                ),
                Verdict(f"{words}: drafts, signs of typing", values("light", contender), unit=" a s", digits=1),
                Verdict(f"{words}: too many requests", values("too_many", contender), AT_MOST, 0, unit="", digits=0),
            ]
        return [
            *verdicts,
            Verdict("a reader: CPU a session, of a core", values("percent", READER), unit=" %", digits=2),
            Verdict("what was played took, of its time", values("late", PRIVATE)),
        ]
