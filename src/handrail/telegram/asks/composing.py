"""Putting a message together: what an ask is about, what surrounds it, and the buttons, whatever their lengths.

What fits one message is in one message. What does not is shown whole before it, in up to three messages; and what is
longer still is shortened in the message, which says so, with all of it in a file before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from handrail.rendering.amounts import count, size
from handrail.telegram.asks.deck import Deck
from handrail.telegram.asks.fitting import folded, paragraphs, shared_out, with_few_entities
from handrail.telegram.asks.words import in_short
from handrail.telegram.model import Attachment, Content
from handrail.telegram.text.rich import EMPTY, RichText, bold, italic, plain
from handrail.telegram.text.splitting import fits, split

__all__ = ["Composed", "Draught", "composed"]

MOST_PARTS = 3
PART = 3900
"""Leaves room for a line that says which part it is."""
LARGEST_FILE = 45 * 1024 * 1024
"""Telegram takes 50 MB from bots."""
SHORTENED = 3000
"""What is shortened anyway need not fill the screen twice."""
MOST_AROUND = 1200
MOST_LISTED = 800
MOST_NOTES = 600


@dataclass(frozen=True, slots=True)
class Draught:
    """What a message is to say, whole. `steps` is what is shown now of something that is longer than it."""

    head: RichText
    what: Sequence[RichText]
    around: RichText = EMPTY
    notes: Sequence[str] = ()
    title: str = ""
    file_name: str = "ask.txt"
    whole: Sequence[RichText] | None = None
    """Everything that is asked, where `what` is only one step of it: in the file, if there is one."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A message, and what is to stand before it: names and contents, in order."""

    text: RichText
    parts: Sequence[Content] = field(default=())
    file: Content | None = None


def composed(draught: Draught, deck: Deck) -> Composed:
    """The messages. The deck must hold its buttons already: what does not fit on them is listed."""
    text = paragraphs([draught.head, *draught.what, draught.around, deck.listed, _notes(draught)])
    if fits(text):
        return Composed(text)
    return _in_parts(draught, deck) or _with_file(draught, deck)


def _notes(draught: Draught) -> RichText:
    return italic("\n".join(draught.notes))


def _in_parts(draught: Draught, deck: Deck) -> Composed | None:
    """What is asked as messages of its own, if there need not be many."""
    what = paragraphs(draught.what)
    if draught.whole is not None or what.length > MOST_PARTS * PART:
        return None
    parts = split(what, PART, 99)
    above = "message" if len(parts) == 1 else f"{len(parts)} messages"
    pointer = bold(f"What exactly: in the {above} above.")
    text = paragraphs([draught.head, pointer, draught.around, deck.listed, _notes(draught)])
    if len(parts) > MOST_PARTS or not fits(text):
        return None
    return Composed(text, [_part(draught, part, number, len(parts)) for number, part in enumerate(parts, start=1)])


def _part(draught: Draught, part: RichText, number: int, parts: int) -> Content:
    place = f" · {number} of {parts}" if parts > 1 else ""
    return Content(text=italic(f"{in_short(draught.title, 80)}{place}") + "\n" + part)


def _with_file(draught: Draught, deck: Deck) -> Composed:
    whole = paragraphs([draught.head, *(draught.whole or draught.what), draught.around, deck.listed]).text
    data = whole.encode("utf-8", "replace")
    amount = f"{count(whole.count(chr(10)) + 1, 'line')}, {size(len(data))} in all"
    if len(data) > LARGEST_FILE:
        return Composed(_shortened(draught, deck, f"Shortened: {amount}, too long for Telegram. Look at the page."))
    caption = bold(in_short(draught.title, 200)) + plain(f"\nAll of it: {amount}.")
    file = Content(text=caption, attachment=Attachment(draught.file_name, data))
    return Composed(_shortened(draught, deck, f"Shortened: {amount}. All of it is in the file above."), file=file)


def _shortened(draught: Draught, deck: Deck, pointer: str) -> RichText:
    before = [folded(draught.head, MOST_AROUND), bold(pointer)]
    behind = [
        folded(draught.around, MOST_AROUND),
        folded(deck.listed, MOST_LISTED),
        folded(_notes(draught), MOST_NOTES),
    ]
    taken = paragraphs([*before, *behind]).length
    what = [block for block in draught.what if block]
    room = SHORTENED - taken - 2 * (len(what) + 1)
    return with_few_entities(paragraphs([*before, *_fitted(what, room), *behind]))


def _fitted(what: Sequence[RichText], room: int) -> list[RichText]:
    shared = shared_out(what, room) if room > 0 else []
    if sum(block.length for block in shared) <= room:
        return shared
    return [folded(paragraphs(what), max(room, 0))]  # there are too many to show something of each
