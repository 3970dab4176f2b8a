"""Questions in a chat: one per step, several choices where that is allowed, words of one's own, back, skip, send."""

from __future__ import annotations

from typing import Any

from handrail.policy.describing.described_forms import questions_of
from handrail.protocol.asks import Answers
from handrail.store.base import AskRow
from handrail.telegram.asks.desk import item_of

from .support import ANN, Chat, FakeHub, check, row_of, texts

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "preview": "`#00f`"}],
    "multiSelect": False,
}
PARTS = {
    "question": "Which parts?",
    "header": "Parts",
    "options": [{"label": "Docs"}, {"label": "Tests"}, {"label": "Code"}],
    "multiSelect": True,
}


def asking(*questions: dict[str, Any], **given: Any) -> AskRow:
    asked = {"questions": list(questions)}
    return row_of(questions_of(asked), kind="question", tool="AskUserQuestion", given=asked, **given)


async def test_one_question_takes_one_press(chat: Chat, hub: FakeHub) -> None:
    content = await chat.show(item_of(hub.put(asking(COLOUR))))
    assert content.text.text == (
        "⏸ Needs you · Question\nFix the rounding\n\n"
        "Colour\n\n"
        "Which colour?\n\n"
        "1  Red\nwarm\n2  Blue\n#00f\n\n"
        "Reply to this message to answer in your own words."
    )
    assert texts(content) == ["Red", "Blue", "Skip all", "Reply in your own words instead…", "Show all"]
    assert await chat.press("Blue") == "Answers sent"
    assert hub.decided == [("ask-1", Answers({"Which colour?": "Blue"}), "d1", False)]
    assert (await chat.ask()).text.text.startswith("✓ Answered by Ann (telegram).\n\n“Which colour? → Blue”")


async def test_one_question_in_ones_own_words(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(asking(COLOUR))))
    assert await chat.reply(" Green ")
    assert hub.decided[0][1] == Answers({"Which colour?": "Green"})


async def test_several_choices_are_marked_and_sent(chat: Chat, hub: FakeHub) -> None:
    first = await chat.show(item_of(hub.put(asking(PARTS))))
    assert "Choose as many as you like." in first.text.text
    assert texts(first)[:4] == ["☐ Docs", "☐ Tests", "☐ Code", "Skip all"]
    await chat.press("☐ Code")
    await chat.press("☐ Docs")
    await chat.press("☐ Docs", content=first)
    assert texts(await chat.ask())[:4] == ["☑ Docs", "☐ Tests", "☑ Code", "Send"]
    await chat.press("☑ Docs")
    await chat.reply("and the wiki")
    content = await chat.ask()
    assert "In your words: and the wiki" in content.text.text
    await chat.press("Send")
    assert hub.decided[0][1] == Answers({"Which parts?": ["Code", "and the wiki"]})


async def test_several_questions_are_asked_one_by_one(chat: Chat, hub: FakeHub) -> None:
    content = await chat.show(item_of(hub.put(asking(COLOUR, PARTS))))
    assert "Question 1 of 2 · Colour" in content.text.text
    assert texts(content) == ["Red", "Blue", "Skip", "Reply in your own words instead…", "Show all"]
    assert await chat.press("Red") == ""
    content = await chat.ask()
    assert "Question 2 of 2 · Parts" in content.text.text
    assert "Back" in texts(content)
    await chat.press("☐ Tests")
    await chat.press("Next")
    content = await chat.ask()
    assert "Your answers\n\nWhich colour?\n→ Red\n\nWhich parts?\n→ Tests" in content.text.text
    assert texts(content) == ["Send", "Change: Colour", "Change: Parts", "Back", "Skip all"]
    await chat.press("Change: Colour")
    assert texts(await chat.ask())[:2] == ["• Red", "Blue"]
    await chat.reply("Green")
    await chat.press("Next")
    assert hub.decided == []
    await chat.press("Send")
    assert hub.decided[0][1] == Answers({"Which colour?": "Green", "Which parts?": ["Tests"]})


async def test_questions_can_be_left_open(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(asking(COLOUR, PARTS))))
    await chat.press("Skip")
    await chat.press("Skip")
    content = await chat.ask()
    assert "(left open)" in content.text.text
    assert "Send" not in texts(content)
    await chat.press("Back")
    await chat.press("☐ Docs")
    await chat.press("Next")
    await chat.press("Send")
    assert hub.decided[0][1] == Answers({"Which parts?": ["Docs"]}, partial=True)


async def test_all_can_be_skipped(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(asking(COLOUR))))
    assert await chat.press("Skip all") == "Skipped"
    assert hub.decided[0][1] == Answers({}, partial=True)
    assert (await chat.ask()).text.text.startswith("✗ Skipped by Ann (telegram).")


async def test_a_reply_in_place_of_answers(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(asking(COLOUR, PARTS))))
    await chat.press("Reply in your own words")
    (prompt,) = await chat.beside("prompt:")
    await chat.reply("Let us talk first", to=prompt)
    assert hub.decided[0][1] == Answers({}, response="Let us talk first")


async def test_a_button_of_another_step_does_nothing(chat: Chat, hub: FakeHub) -> None:
    first = await chat.show(item_of(hub.put(asking(COLOUR, PARTS))))
    await chat.press("Red")
    await chat.press("Blue", content=first)
    assert "☑" not in "".join(texts(await chat.ask()))


async def test_a_reply_that_comes_twice_counts_once(chat: Chat, hub: FakeHub) -> None:
    """As after a crash: what was not marked as done is handled again."""
    await chat.show(item_of(hub.put(asking(COLOUR, PARTS))))
    message = await chat.message(chat.key)
    assert message is not None
    for _ in range(2):
        assert await chat.desk.replied(message, "Green", ANN, hub.acting_for(ANN), message_id=77)
    content = await chat.ask()
    assert "Question 2 of 2" in content.text.text
    assert "In your words" not in content.text.text


async def test_a_reply_to_a_step_that_is_over_is_no_answer_to_the_next(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(asking(COLOUR, PARTS))))
    first = await chat.message(chat.key)
    await chat.press("Red")
    assert await chat.reply("Green", to=first)
    (said,) = await chat.beside("said:")
    assert said.content.text.text == "Sorry, that was another step: look again, and answer the one that is shown now."
    assert "In your words" not in (await chat.ask()).text.text


async def test_how_far_somebody_came_survives_and_is_forgotten_with_the_ask(chat: Chat, hub: FakeHub) -> None:
    row = hub.put(asking(COLOUR, PARTS))
    await chat.show(item_of(row))
    await chat.press("Red")
    again = await chat.show(item_of(row))
    assert "Question 2 of 2" in again.text.text
    changed = await chat.show(item_of(hub.put(asking(PARTS, COLOUR, digest="d2"))))
    assert "Question 1 of 2 · Parts" in changed.text.text


async def test_questions_of_another_shape_are_shown_and_can_be_refused(chat: Chat) -> None:
    given = {"questions": ["what?"]}
    content = await chat.show(item_of(row_of(None, kind="question", tool="AskUserQuestion", given=given)))
    assert '"what?"' in content.text.text
    assert texts(content)[:2] == ["Allow", "Deny"]


async def test_a_long_question_is_sent_whole_as_a_file(chat: Chat) -> None:
    long = {**COLOUR, "question": "Why? " * 2000}
    row = asking(long, PARTS)
    content = await chat.show(item_of(row))
    check(content)
    assert "All of it is in the file above." in content.text.text
    (file,) = await chat.beside("file:")
    assert file.content.attachment is not None
    assert texts(content)[:2] == ["Red", "Blue"]


async def test_answers_of_lost_questions_resume(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(asking(COLOUR, row={"state": "lost"}))))
    assert await chat.press("Red") == "Answers sent; resuming…"
    assert hub.decided == [("ask-1", Answers({"Which colour?": "Red"}), "d1", True)]
    assert ANN.name in (await chat.ask()).text.text
