"""An ask as a message: what exactly is asked, what stands out about it, and every answer that may be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from handrail.policy.answers.forms import Field, form_fields
from handrail.policy.answers.questions import Question, questions_of
from handrail.policy.describing.json_text import json_text
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask
from handrail.telegram.asks import filling, stepping
from handrail.telegram.asks.around import AskedIn, around, heading, title
from handrail.telegram.asks.closing import changes, said, sign, verdict
from handrail.telegram.asks.composing import Composed, Draught, composed
from handrail.telegram.asks.deck import Deck, Mint
from handrail.telegram.asks.fitting import folded, paragraphs, stacked, with_few_entities
from handrail.telegram.asks.form_view import field_shown, fields_to_read, offer_field
from handrail.telegram.asks.offers import VIEWERS, Offer, offer
from handrail.telegram.asks.plan_view import PlanDraft, leaves_shown, offer_plan
from handrail.telegram.asks.question_view import offer_step, questions_shown, step_shown
from handrail.telegram.asks.reading import Asked
from handrail.telegram.asks.what import what_shown
from handrail.telegram.asks.words import exact, sentence
from handrail.telegram.model import Attachment, Content, Place, Role, is_at_least
from handrail.telegram.text.rich import RichText, bold, italic, plain, pre

__all__ = ["Draft", "Shown", "closed", "draft_of", "key_of", "shown", "shown_late", "whole_request"]

CHANGED = "What is asked has changed: look again."
CLOSED_WHAT = 1500
CLOSED_SAID = 1200
LONGEST_REQUEST = 3800

Draft = stepping.Steps | filling.Filling | PlanDraft
"""What was chosen so far, where an answer takes more than one step."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The message of an ask, what a reply to it means, and what is to stand before it, by the ends of their keys."""

    content: Content
    purpose: str = ""
    before: Sequence[tuple[str, Content]] = field(default=())


def key_of(session_id: str, ask_id: str, place: Place) -> str:
    """The key of the message of an ask."""
    return f"ask:{session_id}:{ask_id}:{place}"


def shown(
    asked: Asked,
    about: AskedIn,
    place: Place,
    mint: Mint,
    *,
    role: Role = "owner",
    draft: bytes | None = None,
    changed: bool = False,
    sound: bool = False,
) -> Shown:
    """An ask that can be answered. `draft` is how far somebody came, `changed` whether it was another thing before."""
    step = draft_of(asked, draft)
    deck = _deck(asked, about, place, mint, step)
    blocks = _step_blocks(asked, step)
    may_answer = is_at_least(role, "approver")
    offered = _offer(asked, step, deck, role) if may_answer else Offer((VIEWERS,))
    ask_title = title(asked)
    draught = Draught(
        head=paragraphs([heading(asked, about), *_notices(asked, changed)]),
        what=blocks,
        around=around(asked),
        notes=offered.notes,
        title=ask_title,
        file_name=_file_name(asked),
        whole=_all_steps(asked) if step is not None and not isinstance(step, PlanDraft) else None,
    )
    made = composed(draught, deck)
    content = Content(text=made.text, buttons=deck.keyboard, sound=sound)
    return Shown(content, offered.purpose, tuple(_before(asked, made)))


def _deck(asked: Asked, about: AskedIn, place: Place, mint: Mint, step: Draft | None) -> Deck:
    item = asked.item
    return Deck(
        mint,
        place=place,
        key=key_of(about.session_id, item.ask_id, place),
        session_id=about.session_id,
        ask_id=item.ask_id,
        digest=item.digest,
        at=0 if step is None or isinstance(step, PlanDraft) else step.at,
    )


def _notices(asked: Asked, changed: bool) -> list[RichText]:
    if asked.resumes:
        return [bold(sentence(verdict(asked.item)))]
    return [bold(f"▲ {CHANGED}")] if changed else []


def _before(asked: Asked, made: Composed) -> list[tuple[str, Content]]:
    version = asked.item.digest[:12]
    parts = [(f"part:{number}", content) for number, content in enumerate(made.parts, start=1)]
    return [*parts, *([(f"file:{version}", made.file)] if made.file is not None else [])]


def _file_name(asked: Asked) -> str:
    kinds = {d.PlanReview: "plan.md", d.Command: "command.txt", d.Change: "change.diff.txt"}
    return kinds.get(type(asked.description.what), f"{asked.item.kind}.txt")


# ---------------------------------------------------------------- kinds


def draft_of(asked: Asked, stored: bytes | None) -> Draft | None:
    """How far somebody came with this ask, from what was stored; None if it is answered in one step."""
    if asked.ask is None:
        return None
    kind: type[Draft]
    fresh: Draft
    if asked.item.kind in ("plan", "enter_plan"):
        kind, fresh = PlanDraft, PlanDraft(asked.item.digest)
    elif questions := questions_in(asked):
        kind, fresh = stepping.Steps, stepping.begun(asked.item.digest, questions)
    elif is_form(asked):
        kind, fresh = filling.Filling, filling.begun(asked.item.digest)
    else:
        return None
    return _stored(stored, kind, asked.item.digest) or fresh


def _stored(stored: bytes | None, kind: type[Draft], digest: str) -> Draft | None:
    try:
        draft = msgspec.json.decode(stored, type=kind) if stored else None
    except msgspec.MsgspecError:  # of a version that kept another thing
        return None
    return draft if draft is not None and draft.digest == digest else None


def questions_in(asked: Asked) -> tuple[Question, ...]:
    """The questions that are answered one by one; none if this is something else, or has another shape."""
    if asked.ask is None or asked.item.kind != "question" or not isinstance(asked.description.what, d.Questions):
        return ()
    questions = questions_of(asked.ask)
    return questions if len(questions) == len(asked.description.what.questions) else ()


def is_form(asked: Asked) -> bool:
    """Whether an MCP server wants values, and not a visit to an address."""
    return asked.ask is not None and asked.item.kind == "elicitation" and asked.ask.request.get("mode") != "url"


def fields_in(ask: Ask) -> list[Field]:
    return form_fields(ask.request)


def _step_blocks(asked: Asked, step: Draft | None) -> list[RichText]:
    """What is shown of what is asked: all of it, or the step that somebody is at."""
    blocks = what_shown(asked.description)
    if asked.ask is None:
        return blocks
    match step:
        case stepping.Steps():
            return [*step_shown(asked, questions_in(asked), step), *(blocks if step.at == 0 else [])]
        case filling.Filling():
            return [*blocks, *field_shown(asked, asked.ask, fields_in(asked.ask), step)]
        case PlanDraft():
            return [*blocks, *leaves_shown(asked.ask)]
    return blocks


def _all_steps(asked: Asked) -> list[RichText]:
    return [*what_shown(asked.description), *questions_shown(asked), *fields_to_read(asked)]


def _offer(asked: Asked, step: Draft | None, deck: Deck, role: Role) -> Offer:
    if asked.ask is None:
        return offer(asked, deck, role)
    match step:
        case stepping.Steps():
            return offer_step(asked, questions_in(asked), step, deck)
        case filling.Filling():
            return offer_field(asked, asked.ask, fields_in(asked.ask), step, deck)
        case PlanDraft():
            return offer_plan(asked, asked.ask, step, deck, role)
    return offer(asked, deck, role)


# ---------------------------------------------------------------- afterwards


def closed(asked: Asked, about: AskedIn) -> Content:
    """An ask that is over: what became of it, and what it was. It has no buttons."""
    item = asked.item
    head = bold(f"{sign(item)} {sentence(verdict(item))}")
    what_it_was = [*what_shown(asked.description), *questions_shown(asked)]
    rows = [plain(sentence(change)) for change in changes(item)]
    rows += [plain(f"“{text}”") for text in said(item)]
    blocks = [head, folded(stacked(rows), CLOSED_SAID), heading(asked, about, sign="", lead="")]
    return Content(text=with_few_entities(paragraphs([*blocks, folded(paragraphs(what_it_was), CLOSED_WHAT)])))


def shown_late(asked: Asked, about: AskedIn, place: Place, mint: Mint) -> Shown:
    """An ask that was over before it could be shown: whole, and without buttons."""
    head = bold(f"{sign(asked.item)} {sentence(verdict(asked.item))}")
    draught = Draught(
        head=paragraphs([head, heading(asked, about, sign="", lead="")]),
        what=_all_steps(asked),
        around=around(asked),
        title=title(asked),
        file_name=_file_name(asked),
    )
    made = composed(draught, _deck(asked, about, place, mint, None))
    return Shown(Content(text=made.text), "", tuple(_before(asked, made)))


def whole_request(asked: Asked) -> Content:
    """The whole request as Claude Code sent it, as JSON, with hidden characters written out."""
    ask = asked.ask
    sent = (ask.request or {"input": ask.input}) if ask is not None else asked.item.ask
    text = exact(json_text(sent))
    heads = italic("The whole request, as Claude Code sent it:")
    if len(text) <= LONGEST_REQUEST // 2:
        return Content(text=heads + "\n" + pre(text, "json"))
    return Content(text=heads, attachment=Attachment("request.json", text.encode("utf-8", "replace")))
