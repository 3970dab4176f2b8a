"""A step of filling in a form, as text and buttons."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.policy.answers.forms import Field
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask, Elicited
from handrail.telegram.asks.deck import Deck
from handrail.telegram.asks.filling import Filling, can_be_left_out, filled_in, picked, problem, value_of
from handrail.telegram.asks.fitting import stacked
from handrail.telegram.asks.offers import Offer
from handrail.telegram.asks.reading import Asked
from handrail.telegram.asks.what import form_field_shown
from handrail.telegram.asks.words import ended, in_short, line, words
from handrail.telegram.model import Button
from handrail.telegram.text.rich import RichText, bold, plain

__all__ = ["field_shown", "fields_to_read", "offer_field"]

MOST_CHOICES = 40
LEFT_OUT = "(left out)"


def field_shown(asked: Asked, ask: Ask, fields: Sequence[Field], filling: Filling) -> list[RichText]:
    """The value that is asked for now, or all values so far."""
    if filling.at >= len(fields):
        return _review(ask, fields, filling)
    field = fields[filling.at]
    place = f"Value {filling.at + 1} of {len(fields)}" if len(fields) > 1 else "Value"
    shown = stacked([plain(place), _described(asked, field)])
    given = value_of(filling, field)
    return [shown, *([plain(f"So far: {words(given)}")] if given else [])]


def fields_to_read(asked: Asked) -> list[RichText]:
    """All values that are wanted."""
    what = asked.description.what
    return [form_field_shown(field) for field in what.form_fields] if isinstance(what, d.Form) else []


def _described(asked: Asked, field: Field) -> RichText:
    what = asked.description.what
    found = [each for each in what.form_fields if each.name == field.name] if isinstance(what, d.Form) else []
    if found:
        return form_field_shown(found[0])
    return bold(line(field.title)) + (plain(f"\n{words(field.description)}") if field.description else plain(""))


def _review(ask: Ask, fields: Sequence[Field], filling: Filling) -> list[RichText]:
    rows = [bold("What is sent")]
    rows += [plain(f"{line(field.title)}: ") + bold(line(value_of(filling, field)) or LEFT_OUT) for field in fields]
    wrong = problem(ask, filling)
    return [stacked(rows), *([plain(f"▲ {ended(words(wrong))}")] if wrong else [])]


# ---------------------------------------------------------------- buttons


def offer_field(asked: Asked, ask: Ask, fields: Sequence[Field], filling: Filling, deck: Deck) -> Offer:
    """The buttons of a step. What sends the form carries its values as they are shown."""
    is_review = filling.at >= len(fields)
    if is_review:
        _offer_review(asked, ask, fields, filling, deck)
    else:
        _offer_values(fields[filling.at], filling, deck)
    back = [deck.step("Back", "back")] if filling.at > 0 and fields else []
    deck.row(*back, deck.show("Show all"))
    deck.row(
        deck.decide("Decline", Elicited("decline"), style="danger", resume=asked.resumes),
        deck.decide("Cancel", Elicited("cancel"), resume=asked.resumes),
    )
    return Offer() if is_review else Offer(("Reply to this message with the value.",), "field")


def _offer_values(field: Field, filling: Filling, deck: Deck) -> None:
    taken = picked(filling, field)
    for position, (_, shown) in enumerate(field.choices[:MOST_CHOICES]):
        deck.row(_choice_button(field, position, line(shown), position in taken, deck), is_one_of_many=True)
    if field.kind == "boolean" and not field.choices:
        deck.row(deck.step("Yes", "yes"), deck.step("No", "no"))
    if field.several and field.choices and taken:
        deck.row(deck.step("Next", "next", style="primary"))
    if field.default is not None:
        deck.row(deck.step(f"Take {in_short(_default(field), 50)}", "default"))
    if can_be_left_out(field):
        deck.row(deck.step("Leave it out", "leave"))


def _choice_button(field: Field, position: int, name: str, is_taken: bool, deck: Deck) -> Button:
    if not field.several:
        return deck.step(f"• {name}" if is_taken else name, "take", position)
    return deck.step(f"☑ {name}", "drop", position) if is_taken else deck.step(f"☐ {name}", "take", position)


def _default(field: Field) -> str:
    return value_of(Filling("", 0, {field.name: field.default}), field)


def _offer_review(asked: Asked, ask: Ask, fields: Sequence[Field], filling: Filling, deck: Deck) -> None:
    if not problem(ask, filling):
        deck.row(deck.decide("Send", filled_in(filling), style="primary", resume=asked.resumes))
    for position, field in enumerate(fields[:MOST_CHOICES]):
        deck.row(deck.step(f"Change: {in_short(field.title, 40)}", "go", position), is_one_of_many=True)
