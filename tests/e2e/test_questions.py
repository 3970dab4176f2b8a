"""AskUserQuestion: what the model is told for each way to answer."""

from __future__ import annotations

from typing import Any

from handrail.protocol.asks import Answer, Answers, Deny
from handrail.testing.replies import ToolUse

from .support import Asks, Observe, World

COLOUR = "Which colour?"
TOPPINGS = "Which toppings?"


def question(text: str, *labels: str, many: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"Take {label}"} for label in labels]
    return {"question": text, "header": text.split()[-1][:10], "options": options, "multiSelect": many}


async def told_for(world: World, answer: Answer, *questions: dict[str, Any]) -> str:
    """Ask these questions, give this answer, and return what the model is told."""
    asks = Asks(answer)
    async with world.live([ToolUse("AskUserQuestion", {"questions": list(questions)}), "Noted."], on_ask=asks) as live:
        result = await live.client.run("Ask me")
        assert result.result == "Noted."
        (ask,) = asks.asked
        assert ask.kind == "question"
        assert [item["question"] for item in ask.questions] == [item["question"] for item in questions]
        return await live.tool_result_text()


def first_sentence(text: str) -> str:
    return text.partition(". ")[0]


async def test_one_choice(world: World, observe: Observe) -> None:
    told = await told_for(world, Answers({COLOUR: "Green"}), question(COLOUR, "Red", "Green"))
    assert f'"{COLOUR}"="Green"' in told
    observe("questions: one choice", first_sentence(told))


async def test_several_choices(world: World, observe: Observe) -> None:
    asked = question(TOPPINGS, "Ham", "Olives", "Capers", many=True)
    told = await told_for(world, Answers({TOPPINGS: ["Ham", "Capers"]}), asked)
    assert "Ham" in told
    assert "Capers" in told
    assert "Olives" not in told
    observe("questions: several choices", first_sentence(told))


async def test_free_text(world: World, observe: Observe) -> None:
    told = await told_for(world, Answers({COLOUR: 'the one "you" like, really'}), question(COLOUR, "Red", "Green"))
    assert 'the one "you" like, really' in told
    observe("questions: free text", first_sentence(told))


async def test_two_questions_in_one_ask(world: World) -> None:
    asked = (question(COLOUR, "Red", "Green"), question(TOPPINGS, "Ham", "Olives", many=True))
    told = await told_for(world, Answers({COLOUR: "Red", TOPPINGS: ["Olives"]}), *asked)
    assert f'"{COLOUR}"="Red"' in told
    assert f'"{TOPPINGS}"="Olives"' in told


async def test_notes_on_an_answer(world: World, observe: Observe) -> None:
    answer = Answers({COLOUR: "Red"}, annotations={COLOUR: {"notes": "but dark"}})
    told = await told_for(world, answer, question(COLOUR, "Red", "Green"))
    observe("questions: notes on an answer", "reach the model" if "but dark" in told else "do not reach the model")


async def test_a_question_that_is_denied(world: World, observe: Observe) -> None:
    told = await told_for(world, Deny("ask me tomorrow"), question(COLOUR, "Red", "Green"))
    assert "ask me tomorrow" in told
    observe("questions: deny", "the model is told the message")
