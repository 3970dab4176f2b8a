"""Hostile text in every field of an ask: it is shown, whole or with what is missing said, and Telegram takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events.view import AskItem
from handrail.policy.answers.plan import PlanContext
from handrail.policy.describing.described_forms import form_of, questions_of
from handrail.policy.describing.diffs import unified_hunks
from handrail.policy.describing.visible import hiding, visible
from handrail.protocol import descriptions as d
from handrail.telegram.asks.around import AskedIn
from handrail.telegram.asks.reading import read
from handrail.telegram.asks.showing import Shown, closed, shown, shown_late, whole_request
from handrail.telegram.asks.words import exact
from handrail.telegram.model import Place, Press

from ...rendering.hostile import NASTY
from .support import check, item, texts

SHORT = (
    "\u202egnp.exe\u202c",
    "rm\u00a0-rf\u200b /",
    "<b>bold</b> &lt;i&gt; <a href='tg://user?id=1'>x</a>",
    "**bold** _it_ [x](tg://resolve) ```\n``` ||spoiler||",
    "\x1b[31m\x00\x07",
    " ",
    "",
    "\n\n",
    "\u2028\u3164",
    "@someone /stop #tag https://evil.example",
)
LONG = (
    "\U0001f469\u200d\U0001f467" * 900,
    "שלום" * 1100,
    "a\u0301\u0302\u0303\u0304\u0305\u0306" * 300,
    "x" * 5000,
    "line\n" * 1000,
)


def everywhere(attack: str) -> Iterator[AskItem]:
    """Asks of every kind, with the attack in every field."""
    field = d.InputField(name=attack, value=attack)
    around: dict[str, Any] = {
        "title": attack,
        "agent_id": attack,
        "agent": attack,
        "purpose": attack,
        "cwd": attack,
        "reasons": (d.Reason(code=attack, words=attack),),
        "flags": (d.Flag(code="x", words=attack, where=attack, level="high"),),
        "fields": (field,),
        "paths": (d.AffectedPath(path=attack, absolute=attack, resolved=f"{attack}x", inside_project=False),),
        "risk": d.Risk(level="high"),
    }
    suggestion = {
        "type": "addRules",
        "rules": [{"toolName": attack, "ruleContent": attack}],
        "behavior": "allow",
        "destination": "session",
    }
    hunks = tuple(unified_hunks("a\nb\n", f"a\n{attack}\nc\n"))
    change = d.FileChange(path=attack, outcome="changed", hunks=hunks, notes=(attack,))
    other = d.FileChange(
        path=attack, outcome="unknown", replacements=(d.Replacement(old="a", new=attack),), text=attack
    )
    given = {"command": attack}
    yield item(d.Command(text=attack, language="bash"), given=given, suggestions=(suggestion, suggestion), **around)
    yield item(d.Fetch(url=attack, host=attack), tool=attack, **around)
    yield item(d.Change(change=change), tool="Edit", **around)
    yield item(d.Change(change=other), tool="Write", **around)
    yield item(d.Call(tool=attack, server=attack), tool=f"mcp__{attack}__{attack}", **around)
    asked = {
        "questions": [
            {
                "question": f"{attack}{number}",
                "header": attack,
                "options": [{"label": attack, "description": attack, "preview": attack, attack: attack}] * 4,
                "multiSelect": several,
                attack: attack,
            }
            for number, several in ((1, True), (2, False))
        ]
    }
    yield item(questions_of(asked), kind="question", tool="AskUserQuestion", given=asked, **around)
    prompts = [{"tool": attack, "prompt": attack}]
    plan = {"plan": attack, "allowedPrompts": prompts}
    context = PlanContext(cli_version=attack, bypass_available=True)
    what = d.PlanReview(plan=attack, path=attack)
    yield item(what, kind="plan", tool="ExitPlanMode", given=plan, plan=attack, context=context, **around)
    yield item(d.Call(tool="EnterPlanMode"), kind="enter_plan", tool="EnterPlanMode", **around)
    schema = {
        "type": "object",
        "properties": {attack or "n": {"type": "string", "title": attack, "description": attack, "enum": [attack] * 3}},
    }
    request = {"mcp_server_name": attack, "message": attack, "requested_schema": schema}
    yield item(form_of(request)[0], kind="elicitation", tool="", request=request, **around)
    request = {"mcp_server_name": attack, "message": attack, "mode": "url", "url": attack}
    yield item(form_of(request)[0], kind="elicitation", tool="", request=request, **around)
    yield item(d.Call(tool="dialog"), kind="dialog", tool="", **around)
    yield item(d.Call(tool="budget"), kind="budget", tool="", **around)
    yield item(None, tool=attack, given={attack: attack})


def minted() -> Any:
    """A mint that remembers."""
    presses: list[Press] = []

    def mint(press: Press) -> str:
        presses.append(press)
        return f"token{len(presses)}"

    return mint


def in_all_states(attack: str) -> Iterator[Shown]:
    about = AskedIn("s1", attack, attack)
    for each in everywhere(attack):
        yield shown(read(each), about, Place(5), minted(), changed=True)
        each.outcome, each.by, each.surface, each.message = "lost", attack, attack, attack
        yield shown(read(each), about, Place(5), minted(), role="approver")
        each.outcome, each.answer = "decided", {"type": "deny", "message": attack, "answers": {attack: [attack]}}
        yield Shown(closed(read(each), about))
        yield shown_late(read(each), about, Place(5), minted())
        yield Shown(whole_request(read(each)))


def check_shown(made: Shown) -> None:
    for content in (made.content, *(content for _, content in made.before)):
        check(content)
        assert not list(hiding(content.text.text)), "something in it cannot be seen"
        for words in texts(content):
            assert not list(hiding(words))
            assert "\n" not in words


@pytest.mark.parametrize("attack", [*SHORT, *(pytest.param(attack, marks=pytest.mark.slow) for attack in LONG)])
def test_telegram_takes_it_and_nothing_hides(attack: str) -> None:
    for made in in_all_states(attack):
        check_shown(made)


@pytest.mark.slow
@settings(max_examples=15)
@given(attack=NASTY)
def test_whatever_it_is(attack: str) -> None:
    for made in in_all_states(attack):
        check_shown(made)


@settings(max_examples=40)
@given(command=(st.text(max_size=300) | NASTY).filter(lambda text: visible(text).strip() != ""))
def test_a_command_is_in_the_message_as_it_is(command: str) -> None:
    made = shown(read(item(d.Command(text=command))), AskedIn("s1"), Place(5), minted())
    messages = (*(content for _, content in made.before), made.content)
    assert exact(command) in "\n".join(content.text.text for content in messages)


def test_a_megabyte_is_shortened_with_its_true_size_and_sent_whole() -> None:
    command = "echo begin\n" + "x" * 1_000_000 + "\nrm -rf ~ # the tail"
    made = shown(read(item(d.Command(text=command))), AskedIn("s1"), Place(5), minted())
    check_shown(made)
    text = made.content.text.text
    assert "echo begin" in text
    assert "rm -rf ~ # the tail" in text
    assert "Shortened: 7 lines, 977 KB in all. All of it is in the file above." in text
    assert "left out here" in text
    ((name, file),) = made.before
    assert name == "file:d1"
    assert file.attachment is not None
    assert command in file.attachment.data.decode()
    assert texts(made.content)[:2] == ["Allow", "Deny"]


def test_a_thousand_fields_are_said_to_be_there() -> None:
    fields = tuple(d.InputField(name=f"field{number}", value=str(number)) for number in range(1000))
    made = shown(read(item(d.Call(tool="X"), tool="X", fields=fields)), AskedIn("s1"), Place(5), minted())
    check_shown(made)
    ((_, file),) = made.before
    assert file.attachment is not None
    assert all(f"field{number}: {number}" in file.attachment.data.decode() for number in range(1000))


def test_what_is_too_long_for_telegram_at_all_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.telegram.asks.composing.LARGEST_FILE", 1000)
    made = shown(read(item(d.Command(text="x\n" * 20_000))), AskedIn("s1"), Place(5), minted())
    check_shown(made)
    assert made.before == ()
    assert "too long for Telegram. Look at the page." in made.content.text.text
