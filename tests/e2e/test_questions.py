"""AskUserQuestion: what the model is told for each way to answer."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.errors import UnfitAnswer
from handrail.policy.answers.questions import skip_questions
from handrail.protocol.asks import Allow, Answer, Answers, Ask, Deny
from handrail.protocol.launch import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import ToolUse

from .support import Asks, Observe, Reaction, World, by_version

COLOUR = "Which colour?"
TOPPINGS = "Which toppings?"


def question(text: str, *labels: str, many: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"Take {label}"} for label in labels]
    return {"question": text, "header": text.split()[-1][:10], "options": options, "multiSelect": many}


async def told_for(world: World, answer: Reaction, *questions: dict[str, Any], options: Options | None = None) -> str:
    """Ask these questions, give this answer, and return what the model is told."""
    asks = Asks(answer)
    script = [ToolUse("AskUserQuestion", {"questions": list(questions)}), "Noted."]
    async with world.live(script, options=options, on_ask=asks) as live:
        if isinstance(answer, RefusedThen):
            answer.decide = live.client.decide
        result = await live.client.run("Ask me")
        assert result.result == "Noted."
        (ask,) = asks.asked
        assert ask.kind == "question"
        assert [item["question"] for item in ask.questions] == [item["question"] for item in questions]
        return await live.tool_result_text()


def with_input(**fields: Any) -> Reaction:
    """What the CLI itself makes of an answer, unchecked."""
    return lambda ask: Allow({**ask.input, **fields})


class RefusedThen:
    """Tries an answer that does not fit, then gives one that does."""

    decide: Any

    def __init__(self, unfit: Answer, fit: Answer) -> None:
        self._unfit = unfit
        self._fit = fit

    async def __call__(self, ask: Ask) -> Answer:
        with pytest.raises(UnfitAnswer):
            await self.decide(ask.id, self._unfit, actor="Ada", digest=ask.digest)
        return self._fit


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


async def test_notes_on_an_answer(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    asked = question(COLOUR, "Red", "Green")
    raw = with_input(answers={COLOUR: "Red"}, annotations={COLOUR: {"notes": "but dark"}})
    told = await told_for(world, raw, asked)
    observe("questions: notes on an answer", "reach the model" if "but dark" in told else "do not reach the model")
    noted = Answers({COLOUR: "Red"}, annotations={COLOUR: {"notes": "but dark"}})
    if by_version(cli, {"2.1.37": True, "2.1.52": False}):
        assert "Red, but dark" in await told_for(world, RefusedThen(noted, Answers({COLOUR: "Red, but dark"})), asked)
    else:
        assert "but dark" in await told_for(world, noted, asked)


async def test_a_note_in_place_of_an_answer(world: World, observe: Observe) -> None:
    asked = (question(COLOUR, "Red", "Green"), question(TOPPINGS, "Ham", "Olives", many=True))
    raw = with_input(answers={COLOUR: "Red"}, annotations={TOPPINGS: {"notes": "ask the cook"}})
    told = await told_for(world, raw, *asked)
    reaches = "reaches the model" if "ask the cook" in told else "does not reach the model"
    observe("questions: a note without an answer", reaches)


async def test_the_preview_of_the_chosen_option(world: World, observe: Observe) -> None:
    asked = question(COLOUR, "Red", "Green")
    for option in asked["options"]:
        option["preview"] = f"a {option['label']} sample"
    told = await told_for(world, Answers({COLOUR: "Green"}), asked)
    assert "Green" in told
    assert "a Red sample" not in told
    shown = "reaches the model" if "a Green sample" in told else "does not reach the model"
    observe("questions: the preview of the chosen option", shown)


async def test_a_partial_answer_is_refused_unless_it_says_so(world: World) -> None:
    asked = (question(COLOUR, "Red", "Green"), question(TOPPINGS, "Ham", "Olives", many=True))
    answers = {COLOUR: "Red"}
    told = await told_for(world, RefusedThen(Answers(answers), Answers(answers, partial=True)), *asked)
    assert f'"{COLOUR}"="Red"' in told
    assert TOPPINGS not in told


async def test_two_choices_for_one_are_refused(world: World) -> None:
    asked = question(COLOUR, "Red", "Green")
    told = await told_for(world, RefusedThen(Answers({COLOUR: ["Red", "Green"]}), Answers({COLOUR: ["Green"]})), asked)
    assert f'"{COLOUR}"="Green"' in told


async def test_all_questions_skipped(world: World, observe: Observe) -> None:
    asked = question(COLOUR, "Red", "Green")
    observe("questions: none answered", first_sentence(await told_for(world, with_input(answers={}), asked)))
    assert "The user did not answer the questions." in await told_for(world, skip_questions(), asked)


async def test_a_reply_in_place_of_answers(world: World, observe: Observe) -> None:
    asked = question(COLOUR, "Red", "Green")
    raw = with_input(answers={COLOUR: "Red"}, response="let us talk")
    told = await told_for(world, raw, asked)
    replaces = "replaces the answers" if "Red" not in told else "is told with the answers"
    observe("questions: response", replaces if "let us talk" in told else "is dropped")
    assert "The user responded: let us talk" in await told_for(world, Answers({}, response="let us talk"), asked)


async def test_questions_of_the_same_text_are_not_asked(world: World) -> None:
    asked = [question(COLOUR, "Red", "Green"), question(COLOUR, "Blue", "Black")]
    asks = Asks(skip_questions())
    async with world.live([ToolUse("AskUserQuestion", {"questions": asked}), "Noted."], on_ask=asks) as live:
        assert (await live.client.run("Ask me")).result == "Noted."
        assert "Question texts must be unique" in await live.tool_result_text()
        assert not asks.asked


@pytest.mark.parametrize("mode", ["plan", "bypassPermissions"])
async def test_questions_are_asked_in_every_mode(world: World, mode: Any) -> None:
    options = Options(permission_mode=mode, allow_dangerously_skip_permissions=mode == "bypassPermissions")
    told = await told_for(world, Answers({COLOUR: "Green"}), question(COLOUR, "Red", "Green"), options=options)
    assert f'"{COLOUR}"="Green"' in told


async def test_a_question_that_is_denied(world: World, observe: Observe) -> None:
    told = await told_for(world, Deny("ask me tomorrow"), question(COLOUR, "Red", "Green"))
    assert "ask me tomorrow" in told
    observe("questions: deny", "the model is told the message")
