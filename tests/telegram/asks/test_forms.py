"""Forms, addresses, dialogs and budgets in a chat."""

from __future__ import annotations

from typing import Any

from handrail.policy.describing.described_forms import form_of
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Allow, Deny, DialogResult, Elicited
from handrail.store.base import AskRow
from handrail.telegram.asks.desk import item_of

from .support import BEA, Chat, FakeHub, item, row_of, texts

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As on the door", "minLength": 2},
        "age": {"type": "integer", "minimum": 18},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "default": "m"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
        "news": {"type": "boolean"},
    },
    "required": ["name", "age", "size"],
}


def asking(schema: dict[str, Any] | None = None, **request: Any) -> AskRow:
    asked = {"mcp_server_name": "shop", "message": "What may we send?", **request}
    asked |= {"requested_schema": schema} if schema is not None else {}
    form, _ = form_of(asked)
    return row_of(form, kind="elicitation", tool="", request=asked, title="shop asks", message=asked["message"])


async def test_a_form_is_filled_in_value_by_value(chat: Chat, hub: FakeHub) -> None:
    content = await chat.show(item_of(hub.put(asking(SCHEMA))))
    assert content.text.text == (
        "⏸ Needs you · shop asks\nFix the rounding\n\n"
        "MCP server shop\n\n"
        "What may we send?\n\n"
        "Value 1 of 5\nYour name (name)  string, required\nAs on the door\nminLength: 2\n\n"
        "Reply to this message with the value."
    )
    assert texts(content) == ["Show all", "Decline", "Cancel"]
    assert await chat.reply("Ada")
    assert await chat.reply("old")
    assert await chat.reply("17")
    first, second = await chat.beside("said:")
    assert first.content.text.text == "Sorry, write a whole number."
    assert second.content.text.text == "Sorry, it must be at least 18."
    await chat.reply("36")
    assert texts(await chat.ask())[:3] == ["Small", "Medium", "Take Medium"]
    await chat.press("Small")
    assert texts(await chat.ask())[:4] == ["☐ a", "☐ b", "☐ c", "Leave it out"]
    await chat.press("☐ a")
    await chat.press("☐ c")
    await chat.press("Next")
    assert texts(await chat.ask())[:3] == ["Yes", "No", "Leave it out"]
    await chat.press("No")
    content = await chat.ask()
    assert "What is sent\nYour name: Ada\nage: 36\nsize: Small\nextras: a, c\nnews: false" in content.text.text
    await chat.press("Send")
    sent = {"name": "Ada", "age": 36, "size": "s", "extras": ["a", "c"], "news": False}
    assert hub.decided == [("ask-1", Elicited("accept", sent), "d1", False)]
    assert (await chat.ask()).text.text.startswith("✓ Filled in by Ann (telegram).")


async def test_what_does_not_fit_is_said_before_it_is_sent(chat: Chat, hub: FakeHub) -> None:
    await chat.show(
        item_of(hub.put(asking({"type": "object", "properties": {"n": {"type": "string", "minLength": 3}}})))
    )
    await chat.reply("ab")
    content = await chat.ask()
    assert "▲ n must have at least 3 characters." in content.text.text
    assert "Send" not in texts(content)
    await chat.press("Change: n")
    await chat.reply("abc")
    await chat.press("Back")
    assert "So far: abc" in (await chat.ask()).text.text
    await chat.press("Leave it out")
    await chat.press("Send")
    assert hub.decided[0][1] == Elicited("accept", {})


async def test_a_form_can_be_declined_or_left(chat: Chat, hub: FakeHub) -> None:
    for words, action, toast in (("Decline", "decline", "Declined"), ("Cancel", "cancel", "Cancelled")):
        await chat.show(item_of(hub.put(asking(SCHEMA))))
        shown = await chat.ask()
        if shown.buttons:
            assert await chat.press(words) == toast
            assert hub.decided.pop()[1] == Elicited(action)  # type: ignore[arg-type]
        await chat.state.write(lambda tables: tables.note(chat.key, None))


async def test_an_address_is_read_before_it_is_opened(chat: Chat, hub: FakeHub) -> None:
    row = asking(mode="url", url="https://еvil.example/\u200bx")
    content = await chat.show(item_of(hub.put(row)))
    assert "https://еvil.example/<U+200B>x" in content.text.text
    assert texts(content) == ["I have opened it", "Decline", "Cancel", "Show all"]
    assert not any(button.url for line in content.buttons for button in line)
    await chat.press("I have opened it")
    assert hub.decided[0][1] == Elicited("accept")


async def test_a_dialog_is_answered_with_json(chat: Chat, hub: FakeHub) -> None:
    row = row_of(
        d.Call(tool="dialog"), kind="dialog", tool="", given={"kind": "x"}, fields=(d.InputField(name="a", value="b"),)
    )
    content = await chat.show(item_of(hub.put(row)))
    assert texts(content) == ["Reply…", "Close without a reply", "Show all"]
    assert await chat.reply("{")
    assert await chat.reply("NaN")
    first, second = [each.content.text.text for each in await chat.beside("said:")]
    assert first.startswith("Sorry, that is not JSON: Expecting")
    assert second == "Sorry, that is not JSON: NaN is no number there. Nothing was sent."
    await chat.press("Reply")
    (prompt,) = await chat.beside("prompt:")
    await chat.reply('{"choice": 1}', to=prompt)
    assert hub.decided[0][1] == DialogResult({"choice": 1})


async def test_a_dialog_can_be_closed(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Call(tool="dialog"), kind="dialog", tool=""))))
    assert await chat.press("Close without a reply") == "Closed"
    assert hub.decided[0][1] == DialogResult(behavior="cancelled")


def budget(**given: Any) -> AskRow:
    words = "$5.10 of $5.00 are spent. Go on, with $5.00 more?"
    return row_of(d.Call(tool="budget"), kind="budget", tool="", title="The budget is spent", purpose=words, **given)


async def test_a_budget_is_raised_or_not(chat: Chat, hub: FakeHub) -> None:
    content = await chat.show(item_of(hub.put(budget())))
    assert "$5.10 of $5.00 are spent. Go on, with $5.00 more?" in content.text.text
    assert "Go on: as much again may be spent.\nStop here: nothing more is sent." in content.text.text
    assert texts(content) == ["Go on", "Stop here", "Another limit…"]
    assert await chat.press("Stop here", BEA) == "Denied"
    assert hub.decided[0][1] == Deny("the user decided not to go on")


async def test_an_owner_sets_another_limit(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(budget())))
    assert await chat.reply("20", BEA)
    assert await chat.reply("lots")
    assert await chat.reply("-3")
    assert await chat.reply("$12.50")
    assert hub.decided == [("ask-1", Allow(updated_input={"limit_usd": 12.5}), "d1", False)]
    assert [each.content.text.text for each in await chat.beside("said:")] == [
        "Only an owner may do this. You are an approver.",
        "Sorry, write an amount of dollars, such as 5 or 12.50.",
        "Sorry, write an amount of dollars above 0, such as 5 or 12.50.",
    ]


async def test_what_has_no_reply_hands_it_on(chat: Chat) -> None:
    await chat.show(item(d.Call(tool="EnterPlanMode"), kind="enter_plan", tool="EnterPlanMode"))
    assert not await chat.reply("go on with the docs")


async def test_choices_with_long_names_leave_room_for_the_other_buttons(chat: Chat, hub: FakeHub) -> None:
    names = [f"{number:02}{'漢' * 62}" for number in range(40)]
    schema = {"type": "object", "properties": {"which": {"type": "string", "enum": names}}, "required": ["which"]}
    content = await chat.show(item_of(hub.put(asking(schema))))
    assert texts(content)[0].startswith("00")
    assert texts(content)[-3:] == ["Show all", "Decline", "Cancel"]
