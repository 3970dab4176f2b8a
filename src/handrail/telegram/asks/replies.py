"""What was written in reply to an ask, made into an answer; and the messages that ask for words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.policy.answers.plan import RejectPlan, RevisePlan
from handrail.policy.answers.plan_choices import plan_choices
from handrail.protocol.asks import Allow, Answers, Ask, Deny, DialogResult
from handrail.sessions.asks import AnyAnswer
from handrail.telegram.asks.fitting import paragraphs
from handrail.telegram.asks.not_understood import NotUnderstood
from handrail.telegram.asks.offers import denied_because
from handrail.telegram.asks.reading import Asked
from handrail.telegram.asks.words import exact
from handrail.telegram.model import Attachment, Content, User
from handrail.telegram.text.rich import mention, plain, pre

__all__ = ["EDITS", "edited_input", "edited_plan", "prompt", "simple_answer", "usual_field"]

EDITS = ("input", "plan")
"""Purposes of replies that are shown once more before they count."""
USUAL = ("command", "content", "new_string", "url")
"""What people mostly want to change of a call."""
LONGEST_COPY = 3000
AS_A_FILE = "as a text file (.md or .txt) if it is long"

_PROMPTS: Mapping[str, tuple[str, str]] = {
    "deny": ("Tell Claude why, and what to do instead: reply to this message.", "Why not?"),
    "reject": ("Tell Claude why the plan is rejected: reply to this message.", "Why not?"),
    "revise": ("What should change? Reply to this message.", "What should change?"),
    "plan": (f"Reply with the whole plan as you want it, {AS_A_FILE}. You see it once more before it counts.", "Plan"),
    "response": ("Your reply, in place of answers: reply to this message.", "Your reply"),
    "result": ('The reply, as JSON: "yes", 3, {"choice": 1}. Reply to this message.', "JSON"),
    "limit": ("The new limit, in dollars: reply to this message.", "Dollars"),
}


def prompt(asked: Asked, purpose: str, *, of: User | None = None) -> Content:
    """The message that asks for words, to be replied to. In a group it says `of` whom."""
    content = _prompt(asked, purpose)
    if of is None:
        return content
    return msgspec.structs.replace(content, text=mention(of.name, of.id) + ": " + content.text)


def _prompt(asked: Asked, purpose: str) -> Content:
    if purpose == "input":
        return _input_prompt(asked)
    words, placeholder = _PROMPTS.get(purpose, _PROMPTS["response"])
    if purpose == "plan" and asked.ask is not None:
        return _with_copy(words, asked.ask.plan or "", "plan.md", placeholder, language="markdown")
    return Content(text=plain(words), placeholder=placeholder)


def _input_prompt(asked: Asked) -> Content:
    given = asked.ask.input if asked.ask is not None else {}
    name = usual_field(given)
    if name:
        words = f"Reply with the {name} as you want it, {AS_A_FILE}. You see it once more before it runs."
        return _with_copy(words, str(given[name]), f"{name}.txt", name)
    words = f"Reply with the whole input as JSON, as you want it, {AS_A_FILE}. You see it once more before it runs."
    return _with_copy(words, json.dumps(given, indent=2, ensure_ascii=False), "input.txt", "JSON", language="json")


def _with_copy(words: str, text: str, file_name: str, placeholder: str, *, language: str = "") -> Content:
    """Ask for something that is like this text: to be copied and changed, or saved and changed if it is long."""
    copy = pre(exact(text), language) if text.strip() else plain("")
    if copy.length <= LONGEST_COPY:
        return Content(text=paragraphs([plain(words), copy]), placeholder=placeholder)
    file = Attachment(file_name, text.encode(errors="replace"))
    return Content(text=plain(words), attachment=file, placeholder=placeholder)


def usual_field(given: Mapping[str, Any]) -> str:
    """The field of an input that people mostly want to change; empty if none stands out."""
    return next((name for name in USUAL if isinstance(given.get(name), str)), "")


# ---------------------------------------------------------------- answers


def simple_answer(purpose: str, text: str) -> AnyAnswer:
    """The answer that a reply makes. Raises `NotUnderstood` with what to write instead."""
    words = text.strip()
    match purpose:
        case "deny":
            return Deny(denied_because(words))
        case "reject":
            return RejectPlan(words)
        case "revise":
            return RevisePlan(words)
        case "response":
            return Answers({}, response=words)
        case "result":
            return DialogResult(_json(words))
        case "limit":
            return Allow(updated_input={"limit_usd": _dollars(words)})
    raise NotUnderstood("this message takes no reply: press one of its buttons")


def edited_input(ask: Ask, text: str) -> dict[str, Any]:
    """The input of a call as somebody wants it. Raises `NotUnderstood` with what to write instead."""
    name = usual_field(ask.input)
    if name:
        return {**ask.input, name: text}
    changed = _json(text)
    if not isinstance(changed, dict):
        raise NotUnderstood("nothing is changed: the input must be a JSON object")
    return changed


def edited_plan(asked: Asked, text: str) -> AnyAnswer:
    """The approval of a plan as somebody wrote it. Raises `NotUnderstood` if there is none to be had."""
    choices = plan_choices(asked.ask, asked.plan) if asked.ask is not None else ()
    choice = next((each for each in choices if each.needs == "plan"), None)
    if choice is None:
        raise NotUnderstood("there is no plan to change here: say what is wanted instead")
    return choice.filled_in(text.strip())


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise NotUnderstood(f"that is not JSON: {error}. Nothing was sent") from None
    except RecursionError:
        raise NotUnderstood("that is nested too deeply. Nothing was sent") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number there")


def _dollars(text: str) -> float:
    try:
        amount = float(text.strip("$ ").replace(",", "."))
    except ValueError:
        raise NotUnderstood("write an amount of dollars, such as 5 or 12.50") from None
    if not (math.isfinite(amount) and amount > 0):
        raise NotUnderstood("write an amount of dollars above 0, such as 5 or 12.50")
    return amount
