"""What may be answered to each kind of ask, as buttons, and what a reply to its message means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from handrail.policy.describing.suggestions import describe_reach, describe_suggestion
from handrail.protocol.asks import Allow, Deny, DialogResult, Elicited
from handrail.sessions.asks import AnyAnswer
from handrail.telegram.asks.deck import Deck
from handrail.telegram.asks.reading import Asked
from handrail.telegram.model import Button, ButtonStyle, Role, is_at_least

__all__ = ["DENIED", "STOPPED", "Offer", "denied_because", "offer"]

DENIED = "The user denied this."
STOPPED = "The user denied this and stopped the turn."
ENOUGH = "the user decided not to go on"

VIEWERS = "You can look at this, but not answer it: an approver or an owner can."
OWNERS = "Rules and edits need an owner."


@dataclass(frozen=True, slots=True)
class Offer:
    """`notes` stand above the buttons; `purpose` is what a reply means, nothing if it means nothing."""

    notes: tuple[str, ...] = ()
    purpose: str = ""


def denied_because(reason: str) -> str:
    """What Claude is told with a denial."""
    return f"The user denied this and says: {reason}" if reason else DENIED


def offer(asked: Asked, deck: Deck, role: Role) -> Offer:
    """Put the answers on the deck. Plans, questions and forms have answers of their own."""
    if asked.item.kind == "budget":
        return _budget(asked, deck, role)
    if asked.item.kind == "dialog":
        return _dialog(asked, deck)
    if asked.item.kind == "elicitation":
        return _address(asked, deck)
    return _lost_permission(asked, deck) if asked.resumes else _permission(asked, deck, role)


# ---------------------------------------------------------------- tools


def _permission(asked: Asked, deck: Deck, role: Role) -> Offer:
    is_risky = asked.description.risk.level == "high"
    allowing: ButtonStyle = "danger" if is_risky else "success"
    denying: ButtonStyle = "primary" if is_risky else "danger"
    is_owner = is_at_least(role, "owner")
    suggestions = [each for each in asked.ask.suggestions if isinstance(each, Mapping)] if asked.ask else []
    deck.row(deck.decide("Allow", Allow(), style=allowing), deck.decide("Deny", Deny(DENIED), style=denying))
    for suggestion in suggestions if is_owner else ():
        always = Allow(updated_permissions=(suggestion,))
        reach = describe_reach(suggestion)
        short = f"Always · {reach}" if reach else ""
        deck.row(deck.decide(f"Always: {describe_suggestion(suggestion)}", always, short=short), is_one_of_many=True)
    edit = [deck.prompt("Edit…", "input")] if is_owner and asked.ask is not None and asked.ask.input else []
    deck.row(deck.prompt("Deny with a reason…", "deny"), *edit)
    deck.row(deck.decide("Deny and stop", Deny(STOPPED, interrupt=True)), deck.show("Show all"))
    needs_owner = (OWNERS,) if suggestions and not is_owner else ()
    return Offer((*needs_owner, "Reply to this message to deny it and say why."), "deny")


def _lost_permission(asked: Asked, deck: Deck) -> Offer:
    deck.row(deck.decide("Resume and allow exactly this once", Allow(), style="success", resume=True))
    deck.row(
        deck.decide("Resume and deny", Deny(DENIED), style="danger", resume=True),
        deck.prompt("Deny with a reason…", "deny"),
    )
    deck.row(deck.show("Show all"))
    return Offer(("Reply to this message to deny it and say why.",), "deny")


# ---------------------------------------------------------------- addresses, dialogs, budgets


def _address(asked: Asked, deck: Deck) -> Offer:
    """An MCP server wants a person to open an address."""
    _ways(asked, deck, ("I have opened it", Elicited("accept")), ("Decline", Elicited("decline")))
    deck.row(_decide(asked, deck, "Cancel", Elicited("cancel")), deck.show("Show all"))
    return Offer(("Open the address only if you know it, and then say so.",))


def _dialog(asked: Asked, deck: Deck) -> Offer:
    closing = DialogResult(behavior="cancelled")
    deck.row(deck.prompt("Reply…", "result"), _decide(asked, deck, "Close without a reply", closing, "danger"))
    deck.row(deck.show("Show all"))
    return Offer(('Reply to this message, as JSON: "yes", 3, {"choice": 1}',), "result")


def _budget(asked: Asked, deck: Deck, role: Role) -> Offer:
    _ways(asked, deck, ("Go on", Allow()), ("Stop here", Deny(ENOUGH)))
    notes = ("Go on: as much again may be spent.", "Stop here: nothing more is sent.")
    if not is_at_least(role, "owner"):
        return Offer(notes)
    deck.row(deck.prompt("Another limit…", "limit"))
    return Offer((*notes, "Reply to this message with another limit, in dollars."), "limit")


def _ways(asked: Asked, deck: Deck, yes: tuple[str, AnyAnswer], no: tuple[str, AnyAnswer]) -> None:
    deck.row(
        deck.decide(*yes, style="success", resume=asked.resumes), deck.decide(*no, style="danger", resume=asked.resumes)
    )


def _decide(asked: Asked, deck: Deck, text: str, answer: AnyAnswer, style: ButtonStyle = "") -> Button:
    return deck.decide(text, answer, style=style, resume=asked.resumes)
