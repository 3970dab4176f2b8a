"""What was asked of a person and what they answered, in words and sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.events.model import AskClosed
from handrail.policy.describing.json_text import json_text
from handrail.policy.describing.outcomes import GRANTED, UNSENT
from handrail.policy.describing.suggestions import describe_mode, describe_suggestion
from handrail.protocol import descriptions as d
from handrail.sessions.ask_records import ask_of
from handrail.sessions.exporting.noise import is_any_hook
from handrail.sessions.exporting.remarks import Tone
from handrail.sessions.exporting.sections import Code, Lines, Prose, Section
from handrail.sessions.exporting.story import Asked
from handrail.sessions.exporting.words import clock, duration

__all__ = ["Verdict", "ask_heading", "ask_sections", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an ask: a word, who and when, and what else was said."""

    tone: Tone
    words: str
    who: str = ""
    when: str = ""
    sections: tuple[Section, ...] = ()


# ---------------------------------------------------------------- what was asked


def ask_heading(asked: Asked, *, inside_call: bool = False) -> str:
    """What kind of ask it was; which one, where that is not plain from what is shown with it."""
    named = {"plan": "Plan to approve", "question": "Question", "enter_plan": "May Claude plan first?"}
    if asked.opened.kind in named:
        return named[asked.opened.kind]
    return "Asked" if inside_call else f"Asked: {asked.opened.title}"


def ask_sections(asked: Asked, *, inside_call: bool = False) -> Iterator[Section]:
    """What was asked, whole. `inside_call`: the call that it is about is shown already."""
    description = _description(asked)
    if description is None:
        if not inside_call:
            yield Code(json_text(asked.opened.ask or {"title": asked.opened.title}), "json")
        return
    yield from _what(description, inside_call)
    remarks = [f"{flag.words}: {flag.where}" if flag.where else flag.words for flag in description.flags]
    remarks += [reason.words for reason in description.reasons if not is_any_hook(reason)]
    if remarks:
        yield Lines(tuple(remarks), "To notice")


def _description(asked: Asked) -> d.Description | None:
    try:
        return ask_of(asked.opened.ask).description
    except (msgspec.ValidationError, TypeError, KeyError):  # whatever the journal holds, the rest can be read
        return None


def _what(description: d.Description, inside_call: bool) -> Iterator[Section]:
    match description.what:
        case d.PlanReview(plan=plan):
            yield Prose(plan)
        case d.Questions(questions=questions):
            for question in questions:
                yield Lines(tuple(_choice(option) for option in question.options), question.text)
        case d.Form(message=message, url=url, form_fields=fields):
            yield Prose("\n\n".join(part for part in (message, url) if part))
            if fields:
                yield Lines(tuple(f"{each.title or each.name} ({each.kind})" for each in fields), "Form")
        case _ if not inside_call:
            yield from _tool_call(description)


def _choice(option: d.Option) -> str:
    return f"{option.label}: {option.description}" if option.description else option.label


def _tool_call(description: d.Description) -> Iterator[Section]:
    match description.what:
        case d.Command(text=text, language=language):
            yield Code(text, language)
        case d.Fetch(url=url):
            yield Code(url)
        case d.Change(change=change):
            diff = change.unified()
            yield Code(diff, "diff") if diff else Code(change.text or change.path, file_name=change.path)
    if description.fields:
        yield Code("\n".join(f"{each.name}: {each.value}" for each in description.fields))


# ---------------------------------------------------------------- what was answered


def verdict(asked: Asked) -> Verdict:
    """What became of an ask."""
    closed = asked.closed
    if closed is None or closed.outcome in ("cancelled", "expired", "lost"):
        outcome = "lost" if closed is None else closed.outcome
        return Verdict("quiet", _UNANSWERED[outcome], when=_when(asked, closed))
    tone, words, sections = _answer(closed.answer or {})
    if closed.outcome == "unsent":
        tone, words = "failed", f"{words}, but {UNSENT}"
    elif closed.outcome == "resumed":
        words = f"{words} after the session had ended"
    elif closed.granted_by:
        words = f"{words}, {GRANTED}"
    return Verdict(tone, words, _who(closed), _when(asked, closed), tuple(sections))


_UNANSWERED = {
    "cancelled": "no longer asked: Claude Code took it back",
    "expired": "nobody answered in time",
    "lost": "never answered: the session ended first",
}


def _who(closed: AskClosed) -> str:
    return f"{closed.by} ({closed.surface})" if closed.by and closed.surface else closed.by or closed.surface


def _when(asked: Asked, closed: AskClosed | None) -> str:
    at = (closed.decided_at or closed.at) if closed is not None else 0.0
    if not at:
        return ""
    waited = at - asked.opened.at
    return clock(at) + (f", after {duration(waited)}" if asked.opened.at and waited >= 1 else "")


def _answer(answer: dict[str, Any]) -> tuple[Tone, str, list[Section]]:
    # A recording has the answer in the form of the wire.
    match answer.get("type", answer.get("behavior")):
        case "allow":
            return "done", "allowed", _allowed(answer)
        case "deny" | "reject_plan" as kind:
            words = "denied" if kind == "deny" else "plan rejected"
            stops = " and the turn ended" if answer.get("interrupt") else ""
            return "failed", words + stops, _said(answer, "message")
        case "answers":
            return "done", "answered", _answers(answer)
        case "elicited":
            accepted = answer.get("action") == "accept"
            return "done" if accepted else "failed", str(answer.get("action")), _json(answer.get("content"))
        case "approve_plan" | "approve_in_fresh_context" as kind:
            fresh = " in a fresh context" if kind == "approve_in_fresh_context" else ""
            return "done", f"plan approved{fresh}{_mode(answer)}", _edited_plan(answer)
        case "revise_plan":
            return "needs_you", "plan sent back", _said(answer, "feedback")
        case "outline_plan":
            return "needs_you", "an outline was wanted first", []
        case "enter_plan":
            return "plan", "plan mode allowed", []
        case "implement_now":
            return "failed", "no plan wanted", []
        case "failed":
            return "failed", "whoever should have answered failed", _said(answer, "error")
    return "quiet", "answered", _json({key: value for key, value in answer.items() if key != "type"})


def _allowed(answer: dict[str, Any]) -> list[Section]:
    sections: list[Section] = []
    if isinstance(answer.get("updated_input"), dict):
        sections.append(Code(json_text(answer["updated_input"]), "json", label="With another input"))
    rules = answer.get("updated_permissions") or []
    described = [describe_suggestion(rule) for rule in rules if isinstance(rule, Mapping)]
    return [*sections, Lines(tuple(described), "From then on")] if described else sections


def _answers(answer: dict[str, Any]) -> list[Section]:
    given = answer.get("answers")
    lines = [f"{question} → {_chosen(choice)}" for question, choice in given.items()] if isinstance(given, dict) else []
    return [*([Lines(tuple(lines))] if lines else []), *_said(answer, "response")]


def _chosen(choice: Any) -> str:
    return ", ".join(map(str, choice)) if isinstance(choice, list) else str(choice)


def _mode(answer: dict[str, Any]) -> str:
    mode = answer.get("mode")
    return f": {describe_mode(mode)}" if isinstance(mode, str) else ""


def _edited_plan(answer: dict[str, Any]) -> list[Section]:
    plan = answer.get("plan")
    return [Prose(plan, "The plan as approved")] if isinstance(plan, str) and plan else []


def _said(answer: dict[str, Any], key: str) -> list[Section]:
    text = answer.get(key)
    return [Prose(text)] if isinstance(text, str) and text else []


def _json(value: Any) -> list[Section]:
    return [Code(json_text(value), "json")] if value else []
