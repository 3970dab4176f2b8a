"""Questions that Claude asks: they come as asks, and what is answered reaches the model."""

from __future__ import annotations

from typing import Any

from handrail.protocol.asks import Allow, Answers
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Replies, Stage
from handrail.testing.replies import ToolUse

__all__ = ["QUESTIONS"]

ASKED = Behaviour(
    name="questions: AskUserQuestion",
    need="breaks",
    otherwise="questions are not shown to anybody",
)
ANSWERED = Behaviour(
    name="questions: the answers",
    need="breaks",
    otherwise="what a person answers does not reach Claude",
)
NOTES = Behaviour(
    name="questions: a note on an answer",
    need="degrades",
    otherwise="a note that is written beside an answer does not reach Claude",
    copes="where notes do not arrive, they are refused with that reason: write them into the answer",
)

COLOUR, TOPPINGS = "Which colour?", "Which toppings?"


async def play(stage: Stage) -> None:
    asked = [_question(COLOUR, "Red", "Green"), _question(TOPPINGS, "Ham", "Olives", "Capers", many=True)]
    replies: Replies = {
        "Ask me": [ToolUse("AskUserQuestion", {"questions": asked}), "Noted."],
        "Ask me once more": [ToolUse("AskUserQuestion", {"questions": asked[:1]}), "Noted."],
    }
    asks = Asks(
        Answers({COLOUR: "Green", TOPPINGS: ["Ham", "Capers"]}),
        lambda ask: Allow({**ask.input, "answers": {COLOUR: "Red"}, "annotations": {COLOUR: {"notes": "but dark"}}}),
    )
    async with stage.live(replies, on_ask=asks) as live:
        await live.run("Ask me")
        works = [ask.kind for ask in asks.asked] == ["question"] and len(asks.asked[0].questions) == 2
        stage.see(ASKED, works, "asked, with its questions" if works else "not asked")
        told = live.last_told
        arrive = all(word in told for word in (f'"{COLOUR}"="Green"', "Ham", "Capers")) and "Olives" not in told
        stage.see(ANSWERED, arrive, "reach the model" if arrive else "do not reach the model as they were given")
        await live.run("Ask me once more")
        arrives = "but dark" in live.last_told
        stage.see(NOTES, arrives, "reaches the model" if arrives else "does not reach the model")


def _question(text: str, *labels: str, many: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"Take {label}"} for label in labels]
    return {"question": text, "header": text.split()[-1][:10], "options": options, "multiSelect": many}


QUESTIONS = Scenario("questions", (ASKED, ANSWERED, NOTES), play)
