"""Permissions in a chat: shown whole, answered with one press, by whoever may, for exactly what was shown."""

from __future__ import annotations

import msgspec
import pytest

from handrail.errors import HandrailError, HostAway, OutcomeUnknown, UnfitAnswer
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Allow, Deny
from handrail.telegram.asks.desk import item_of
from handrail.telegram.asks.offers import DENIED, STOPPED
from handrail.telegram.asks.reading import read
from handrail.telegram.asks.showing import whole_request
from handrail.telegram.model import GONE, User

from .support import ABOUT, ANN, BEA, Chat, FakeHub, check, find, item, row_of, texts

SUGGESTION = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "pytest:*"}],
    "behavior": "allow",
    "destination": "session",
}
VIEWER = User(1003, "Vic", "viewer")


async def test_everything_about_it_is_in_the_message(chat: Chat) -> None:
    content = await chat.show(
        item(
            d.Command(text="rm -rf build\u202e"),
            given={"command": "rm -rf build\u202e", "timeout": 5000},
            suggestions=(SUGGESTION,),
            purpose="Clean up",
            agent_id="a1",
            agent="explore",
            reasons=(
                d.Reason(code="decision_reason", words="not allowed beforehand"),
                d.Reason(code="decision_reason_hook_source", words="settings"),
            ),
            flags=(d.Flag(code="deletes", words="deletes files", where="rm -rf", level="high"),),
            risk=d.Risk(level="high"),
            fields=(d.InputField(name="timeout", value="5000", is_json=True),),
            paths=(d.AffectedPath(path="x", absolute="/p/x", resolved="/etc/x", access="write", inside_project=False),),
        )
    )
    assert content.text.text == (
        "⏸ Needs you · Bash · Run a command · HIGH RISK\n"
        "Fix the rounding · asked by explore\n\n"
        "rm -rf build<U+202E>\n\n"
        "timeout: 5000\n\n"
        "▲ 1 hidden character is shown as <U+…>\n"
        "✗ deletes files rm -rf\n"
        "What for: Clean up\n"
        "Why asked: not allowed beforehand\n"
        "Runs in: /home/ada/weather\n"
        "writes x leads to /etc/x (outside the project)\n\n"
        "Reply to this message to deny it and say why."
    )
    assert texts(content) == [
        *("Allow", "Deny", "Always: allow Bash(pytest:*), for this session"),
        *("Deny with a reason…", "Edit…", "Deny and stop", "Show all"),
    ]
    assert content.sound


async def test_one_press_allows_what_was_shown(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    assert await chat.press("Allow") == "Approved"
    assert hub.decided == [("ask-1", Allow(), "d1", False)]
    content = await chat.ask()
    assert content.text.text.startswith("✓ Allowed by Ann (telegram).\n")
    assert "make" in content.text.text
    assert not content.buttons


@pytest.mark.parametrize(
    ("words", "answer", "toast"),
    [
        ("Deny", Deny(DENIED), "Denied"),
        ("Deny and stop", Deny(STOPPED, interrupt=True), "Denied, and the turn ends"),
        ("Always", Allow(updated_permissions=[SUGGESTION]), "Approved, and the rule added"),
    ],
)
async def test_other_answers(chat: Chat, hub: FakeHub, words: str, answer: object, toast: str) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make"), suggestions=(SUGGESTION,)))))
    assert await chat.press(words) == toast
    assert [each[1] for each in hub.decided] == [answer]


async def test_stopping_stops_the_turn_too(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    await chat.press("Deny and stop")
    assert hub.interrupted == ["Ann"]


async def test_a_rule_that_is_too_long_for_a_button_is_in_the_text(chat: Chat) -> None:
    wide = {**SUGGESTION, "rules": [{"toolName": "Bash", "ruleContent": "x" * 80}], "destination": "localSettings"}
    content = await chat.show(item(d.Command(text="make"), suggestions=(SUGGESTION, wide)))
    assert f"1. Always: allow Bash({'x' * 80}), saved in .claude/settings.local.json" in content.text.text
    assert texts(content)[2:4] == [
        "Always: allow Bash(pytest:*), for this session",
        "1. Always · this project, for you",
    ]


# ---------------------------------------------------------------- replies


async def test_a_reply_denies_and_says_why(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    assert await chat.reply("use ninja")
    assert hub.decided == [("ask-1", Deny("The user denied this and says: use ninja"), "d1", False)]
    content = await chat.ask()
    assert content.text.text.startswith("✗ Denied by Ann (telegram).\n\n“use ninja”")


async def test_a_reason_can_be_asked_for(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    assert await chat.press("Deny with a reason") == ""
    (prompt,) = await chat.beside("prompt:")
    assert (prompt.purpose, prompt.content.placeholder) == ("deny", "Why not?")
    assert await chat.reply("use ninja", to=prompt)
    assert hub.decided[0][1] == Deny("The user denied this and says: use ninja")
    assert await chat.beside("prompt:") == []


async def test_a_reply_to_what_is_over_is_not_an_answer(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    await chat.press("Deny with a reason")
    (prompt,) = await chat.beside("prompt:")
    await chat.press("Allow", BEA)
    assert not await chat.reply("and now the docs")
    assert await chat.reply("use ninja", to=prompt)
    (said,) = await chat.beside("said:")
    assert said.content.text.text == "Allowed by Bea (telegram). Your answer was not taken."
    assert len(hub.decided) == 1


async def test_an_edited_command_is_shown_again_and_then_allowed(chat: Chat, hub: FakeHub) -> None:
    row = row_of(d.Command(text="make"), given={"command": "make", "timeout": 5})
    await chat.show(item_of(hub.put(row)))
    await chat.press("Edit")
    (prompt,) = await chat.beside("prompt:")
    assert "make" in prompt.content.text.text
    assert await chat.reply("make -j4", to=prompt)
    assert hub.decided == []
    (edited,) = await chat.beside("edited:")
    assert "make -j4\n\ntimeout: 5" in edited.content.text.text
    assert await chat.reply("make -j8", to=edited)
    _, edited = await chat.beside("edited:")
    assert await chat.press("Allow with these changes", content=edited.content) == "Approved with your changes"
    assert hub.decided[0][1] == Allow(updated_input={"command": "make -j8", "timeout": 5})
    assert await chat.beside("edited:") == []


async def test_an_edit_can_be_taken_back(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Call(tool="X"), tool="X", given={"a": 1}))))
    await chat.press("Edit")
    (prompt,) = await chat.beside("prompt:")
    assert await chat.reply("[1]", to=prompt)
    assert await chat.reply("{nonsense", to=prompt)
    first, second = await chat.beside("said:")
    assert first.content.text.text == "Sorry, nothing is changed: the input must be a JSON object."
    assert second.content.text.text.startswith("Sorry, that is not JSON: ")
    assert await chat.reply('{"a": 2}', to=prompt)
    (edited,) = await chat.beside("edited:")
    await chat.press("Back", content=edited.content)
    assert await chat.beside("edited:") == []
    assert hub.decided == []


async def test_show_all_sends_the_request(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make"), request={"subtype": "x", "odd": "a\u202eb"}))))
    assert await chat.press("Show all", VIEWER) == ""
    (request,) = await chat.beside("request:")
    assert '"odd": "a<U+202E>b"' in request.content.text.text
    long = whole_request(read(item(d.Command(text="make"), request={"long": "x" * 5000})))
    check(long)
    assert long.attachment is not None
    assert long.attachment.data == b'{\n  "long": "' + b"x" * 5000 + b'"\n}'


# ---------------------------------------------------------------- who may


async def test_viewers_cannot_answer(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    assert await chat.press("Allow", VIEWER) == "Only an approver or an owner may do this. You are a viewer."
    assert await chat.reply("no", VIEWER)
    (said,) = await chat.beside("said:")
    assert said.content.text.text == "Only an approver or an owner may do this. You are a viewer."
    assert hub.decided == []


async def test_rules_and_edits_need_an_owner(chat: Chat, hub: FakeHub) -> None:
    row = row_of(d.Command(text="make"), given={"command": "make"}, suggestions=(SUGGESTION,))
    await chat.show(item_of(hub.put(row)))
    for words in ("Always", "Edit"):
        assert await chat.press(words, BEA) == "Only an owner may do this. You are an approver."
    assert await chat.press("Allow", BEA) == "Approved"


async def test_where_no_owner_is_nothing_for_owners_is_offered(chat: Chat) -> None:
    chat.desk._role_at = lambda place: "approver"
    content = await chat.show(item(d.Command(text="make"), given={"command": "make"}, suggestions=(SUGGESTION,)))
    assert texts(content) == ["Allow", "Deny", "Deny with a reason…", "Deny and stop", "Show all"]
    assert "Rules and edits need an owner." in content.text.text
    chat.desk._role_at = lambda place: "viewer"
    content = await chat.show(item(d.Command(text="make"), suggestions=(SUGGESTION,), digest="d2"))
    assert texts(content) == []
    assert "You can look at this, but not answer it" in content.text.text


# ---------------------------------------------------------------- several people, several places


async def test_the_second_one_hears_who_was_first(chat: Chat, hub: FakeHub) -> None:
    before = await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    await chat.press("Deny", BEA)
    assert await chat.press(find(before, "Allow")) == "Denied by Bea (telegram)."
    assert len(hub.decided) == 1


async def test_somebody_was_faster_elsewhere(chat: Chat, hub: FakeHub) -> None:
    """The bridge has not heard of it yet when the button is pressed."""
    row = hub.put(row_of(d.Command(text="make")))
    await chat.show(item_of(row))
    hub.put(
        msgspec.structs.replace(
            row, state="sent", decided_by="Bea", surface="web", answer=b'{"type":"deny","message":"no"}'
        )
    )
    assert await chat.press("Allow") == "Approved"
    (said,) = await chat.beside("said:")
    assert said.content.text.text == "Already decided by Bea. Your answer was not taken."
    content = await chat.ask()
    assert content.text.text.startswith("✗ Denied by Bea (web).")
    assert not content.buttons


async def test_the_same_press_handled_twice_says_nothing_of_itself(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    token = find(await chat.ask(), "Allow").token
    press = await chat.state.read(lambda tables: tables.press(token))
    assert press is not None
    for _ in range(2):  # as after a crash between the decision and its being noted
        await chat.desk.carry_out(press, ANN, hub.acting_for(ANN))
    assert len(hub.decided) == 1
    assert await chat.beside("said:") == []


# ---------------------------------------------------------------- changed, over, refused


async def test_an_old_button_says_that_the_ask_changed(chat: Chat, hub: FakeHub) -> None:
    before = await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    after = await chat.show(item_of(hub.put(row_of(d.Command(text="make install"), digest="d2"))))
    assert "What is asked has changed: look again." in after.text.text
    assert "make install" in after.text.text
    assert await chat.press(find(before, "Allow")) == "What is asked has changed: look again."
    assert hub.decided == []
    await chat.press("Allow")
    assert hub.decided == [("ask-1", Allow(), "d2", False)]


async def test_a_change_that_the_bridge_has_not_heard_of(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    hub.put(row_of(d.Command(text="make install"), digest="d2"))
    await chat.press("Allow")
    assert hub.decided == []
    (said,) = await chat.beside("said:")
    assert said.content.text.text == "What is asked has changed: look again. Your answer was not taken."
    assert "make install" in (await chat.ask()).text.text


async def test_a_prompt_belongs_to_what_was_shown_when_it_was_asked_for(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    await chat.press("Deny with a reason")
    (prompt,) = await chat.beside("prompt:")
    await chat.show(item_of(hub.put(row_of(d.Command(text="make install"), digest="d2"))))
    assert await chat.reply("no", to=prompt)
    assert hub.decided == []


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("cancelled", "· Withdrawn by Claude Code: no answer is needed any more."),
        ("expired", "· Nobody answered in time, and Claude was told so."),
    ],
)
async def test_what_nobody_answered(chat: Chat, outcome: str, words: str) -> None:
    before = await chat.show(item())
    content = await chat.show(item(row={"state": outcome}))
    assert content.text.text.startswith(words)
    assert not content.buttons
    assert await chat.press(find(before, "Allow")) == words.removeprefix("· ")


async def test_what_was_over_before_it_was_seen_is_not_shown(chat: Chat) -> None:
    over = item(row={"state": "sent"})
    await chat.state.write(lambda tables: chat.desk.want(tables, over, ABOUT, chat.place))
    assert await chat.message(chat.key) is None


async def test_what_is_over_is_not_opened_again_by_old_news(chat: Chat) -> None:
    await chat.show(item())
    await chat.show(item(row={"state": "cancelled"}))
    assert not (await chat.show(item())).buttons


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (UnfitAnswer("it has no such field"), "Your answer was not taken, and the ask waits: it has no such field."),
        (
            HostAway("build-box is away"),
            "Your answer was not taken, and the ask waits: build-box is away. Answer again when it is back.",
        ),
        (
            OutcomeUnknown("build-box did not answer"),
            "Your answer may not have been taken: build-box did not answer. "
            "If the ask waits when it is back, answer again.",
        ),
        (HandrailError("the disk is full"), "Your answer was not taken; it could not be sent: the disk is full."),
    ],
)
async def test_what_goes_wrong_is_said(chat: Chat, hub: FakeHub, error: HandrailError, words: str) -> None:
    await chat.show(item_of(hub.put(row_of(d.Command(text="make")))))
    hub.fails_with = error
    await chat.press("Allow")
    (said,) = await chat.beside("said:")
    assert said.content.text.text == words
    assert texts(await chat.ask())[0] == "Allow"


# ---------------------------------------------------------------- lost


async def test_a_lost_ask_can_be_resumed_and_allowed_once(chat: Chat, hub: FakeHub) -> None:
    before = await chat.show(item_of(hub.put(row_of(d.Command(text="make"), suggestions=(SUGGESTION,)))))
    content = await chat.show(item_of(hub.put(row_of(d.Command(text="make"), row={"state": "lost"}))))
    assert "The process ended; answering will resume it." in content.text.text
    assert texts(content) == [
        *("Resume and allow exactly this once", "Resume and deny", "Deny with a reason…", "Show all"),
    ]
    assert await chat.press(find(before, "Allow")) == "The process ended; answering will resume it."
    assert await chat.press("Resume and allow") == "Approved; resuming…"
    assert hub.decided == [("ask-1", Allow(), "d1", True)]
    shown = await chat.ask()
    assert shown.text.text.startswith(
        "✓ Allowed by Ann (telegram), after the process had ended: the session was resumed."
    )


async def test_an_unsent_answer_says_so(chat: Chat, hub: FakeHub) -> None:
    row = row_of(
        d.Command(text="make"),
        row={"state": "unsent", "decided_by": "Bea", "surface": "web", "answer": b'{"type":"allow"}'},
    )
    content = await chat.show(item_of(hub.put(row)))
    said = "Allowed by Bea (web), but the process ended just then: whether Claude Code was told is not known"
    assert said in content.text.text
    assert not content.sound
    assert await chat.reply("no")
    assert hub.decided == [("ask-1", Deny("The user denied this and says: no"), "d1", True)]


# ---------------------------------------------------------------- unchanged


async def test_the_same_again_is_the_same_message(chat: Chat) -> None:
    first = await chat.show(item())
    assert await chat.show(item()) == first
    assert first != GONE
