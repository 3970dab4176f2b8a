"""Hostile text in every field of cards and rows: it is shown, and does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from handrail.events import model as e
from handrail.events.view import PromptItem
from handrail.policy.describing.diffs import unified_hunks
from handrail.policy.describing.visible import hiding, visible
from handrail.protocol import descriptions as d
from handrail.server.showing import Pieces, card, closed, prompt_row, row_details
from handrail.store.base import AskRow

from ...rendering.hostile import NASTY
from ...rendering.safe_html import check_html, shown_text
from ...rendering.test_text import unbracketed
from ..payloads import PAYLOADS
from .support import SESSION, html_in, row_of, texts_in


def everywhere(attack: str) -> Iterator[AskRow]:
    """Asks with the attack in every field."""
    field = d.InputField(name=attack, value=attack)
    around: dict[str, Any] = {
        "title": attack,
        "tool": attack,
        "cwd": attack,
        "agent_id": attack,
        "agent": attack,
        "purpose": attack,
        "fields": (field, d.InputField(name="json", value=msgspec.json.encode(attack).decode(), is_json=True)),
        "flags": (d.Flag(code="x", words=attack, where=attack),),
        "reasons": (d.Reason(code=attack, words=attack),),
        "paths": (d.AffectedPath(path=attack, absolute=attack, resolved=attack + "x"),),
        "given": {attack: attack, "plan": attack, "allowedPrompts": [{"tool": attack, "prompt": attack}]},
        "suggestions": (
            {"type": attack, "rules": [attack]},
            {"type": "setMode", "mode": attack, "destination": "session"},
        ),
    }
    hunks = unified_hunks(f"a\n{attack}\nb", f"a\n{attack}x\nb")
    change = d.FileChange(path=attack, outcome="changed", hunks=hunks, text=attack, notes=(attack,))
    failing = d.FileChange(path=attack, outcome="fails", replacements=(d.Replacement(old=attack, new=attack),))
    option = d.Option(label=attack, description=attack, preview=attack, fields=(field,))
    question = d.Question(text=attack, header=attack, options=(option,), fields=(field,))
    choice = d.Choice(value=attack, shown=attack)
    asked = d.FormField(name=attack, title=attack, kind=attack, description=attack, default=attack, choices=(choice,))
    whats: list[tuple[Any, d.What]] = [
        ("permission", d.Command(text=attack, language=attack)),
        ("permission", d.Command(text=attack)),
        ("permission", d.Fetch(url=attack, host=attack)),
        ("permission", d.Change(change=change)),
        ("permission", d.Change(change=failing)),
        ("permission", d.Call(tool=attack, server=attack)),
        ("plan", d.PlanReview(plan=attack, path=attack)),
        ("question", d.Questions(questions=(question,))),
        ("elicitation", d.Form(server=attack, message=attack, url=attack, form_fields=(asked,))),
    ]
    for kind, what in whats:
        yield row_of(what, kind=kind, plan=attack, **around)
    yield row_of(None, given={attack: attack})
    decided = {"state": "sent", "decided_by": attack, "surface": attack, "answer": msgspec.json.encode(answer(attack))}
    yield row_of(None, given={attack: attack}, row=decided)


def answer(attack: str) -> dict[str, Any]:
    permission = {"type": "addRules", "rules": [{"toolName": attack}], "behavior": attack, "destination": "session"}
    return {"type": "deny", "message": attack, "updated_permissions": [permission], "answers": {attack: [attack]}}


def check(value: Any) -> None:
    """Everything that is HTML is harmless, and in everything that is text nothing is hidden."""
    for html in html_in(value):
        check_html(html)
    for text in texts_in(value):
        assert list(hiding(text)) == []
    msgspec.json.encode(value)


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces()


@pytest.mark.parametrize("attack", PAYLOADS, ids=range(len(PAYLOADS)))
def test_on_a_card_an_attack_is_text(attack: str, pieces: Pieces) -> None:
    for row in everywhere(attack):
        shown = card(row, session=msgspec.structs.replace(SESSION, title=attack), pieces=pieces)
        check(shown)
        if shown["what"]["type"] == "command":
            assert unbracketed(shown_text(shown["what"]["html"])) == unbracketed(visible(attack))
    check(closed("decided", answer=answer(attack), by=attack, surface=attack, message=attack))


def rows(attack: str) -> Iterator[list[e.Event]]:
    """The events of rows with the attack in every field."""
    block = {"type": attack, "text": attack, attack: attack}
    picture = {"type": "image", "source": {"type": "base64", "media_type": attack, "data": attack}}
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{attack}", f"+{attack}"]}]
    inputs: list[tuple[str, Any, dict[str, Any]]] = [
        ("Bash", {"command": attack, "description": attack, attack: attack}, {}),
        ("Edit", {"file_path": attack, "old_string": attack, "new_string": attack + "x"}, {}),
        ("Edit", {"file_path": attack, "old_string": attack, "new_string": ""}, {"structuredPatch": patch}),
        ("Write", {"file_path": f"{attack}.py", "content": attack}, {}),
        ("TodoWrite", {"todos": [{"content": attack, "status": attack}]}, {}),
        ("Task", {"prompt": attack, "description": attack}, {}),
        (attack, {attack: [attack, {attack: attack}]}, {}),
        (f"mcp__{attack}__x", attack, {}),
    ]
    for name, given_input, result in inputs:
        detail = {"tool_name": name, "tool_input": given_input}
        content = [{"type": "text", "text": attack}, block, picture, attack]
        over = {"content": content, "tool_use_result": result, "reason": attack}
        yield [
            e.Action(id=attack, kind="tool", title=attack, phase="started", detail=detail, seq=1),
            e.Action(id=attack, kind="tool", title=attack, phase="completed", ok=False, detail=over, seq=2),
        ]
    yield [e.Text(block=attack, text=attack)]
    yield [e.Prompt(uuid=attack, content=[attack, block, picture])]
    yield [e.Unknown(frame_type=attack, frame={attack: [attack]})]
    yield [e.Completed(ok=False, error=attack)]


@pytest.mark.parametrize("attack", PAYLOADS, ids=range(len(PAYLOADS)))
def test_in_a_row_an_attack_is_text(attack: str, pieces: Pieces) -> None:
    for events in rows(attack):
        details = row_details(events, session_id=SESSION.id, pieces=pieces)
        check(details)
        assert details["images"] == []
    item = PromptItem(uuid=attack, content=attack, by=attack, surface=attack, reason=attack)
    check(prompt_row(item, session_id=SESSION.id, pieces=pieces))


@settings(deadline=None, max_examples=8)
@given(NASTY)
def test_any_text_is_harmless_everywhere(attack: str) -> None:
    for row in everywhere(attack):
        check(card(row, session=SESSION))
    for events in rows(attack):
        check(row_details(events))
