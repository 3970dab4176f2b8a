"""Markdown as Telegram shows it: text and entities, from answers as Claude writes them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from bench.common import Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client
from bench.telegram_answers import ANSWERS

__all__ = ["TelegramMarkdown"]

HANDRAIL = Contender("handrail", "telegram_text")
TELEGRAMIFY = Contender("telegramify-markdown", "telegramify")
PARSER = Contender("markdown-it alone", "markdown_it_alone")
SECONDS = {True: 0.3, False: 0.6}


class ConverterModule(Protocol):
    """A module of the contenders that takes Markdown."""

    def converter(self) -> Callable[[str], Any]: ...


class TelegramMarkdown(SessionGate):
    name = "telegram-markdown"
    title = "Telegram: Markdown to entities, characters a CPU second"
    contenders = (HANDRAIL, TELEGRAMIFY, PARSER)
    rounds = 5
    quick_rounds = 3

    def prepare(self, place: Place, *, quick: bool) -> None:
        place.write("saturated", b"", seconds=SECONDS[quick])

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        convert = cast(ConverterModule, client).converter()
        for answer in ANSWERS:
            convert(answer)
        gc.collect()
        enough, times, before = place.settings()["seconds"], 0, cpu_seconds()
        while (spent := cpu_seconds() - before) < enough:
            times += 1
            for answer in ANSWERS:
                convert(answer)
        return {"per_second": times * sum(map(len, ANSWERS)) / spent}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(below: Contender) -> list[float]:
            return samples.ratios("per_second", HANDRAIL.name, below.name)

        per_second = [value / 1e3 for value in samples.values("per_second", HANDRAIL.name)]
        return [
            Verdict("of telegramify-markdown, which parses in Rust", ratios(TELEGRAMIFY)),
            Verdict("of markdown-it alone, whose tokens nobody reads", ratios(PARSER)),
            Verdict("thousand characters", per_second, unit="", digits=0),
        ]
