"""A call or a plan as somebody changed it, shown once more before it counts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail.protocol.asks import Allow, Ask
from handrail.sessions.asks import AnyAnswer
from handrail.telegram.asks.around import AskedIn, title
from handrail.telegram.asks.composing import Draught, composed
from handrail.telegram.asks.deck import Deck, Mint
from handrail.telegram.asks.not_understood import NotUnderstood
from handrail.telegram.asks.reading import Asked, described_anew
from handrail.telegram.asks.replies import edited_input, edited_plan
from handrail.telegram.asks.what import what_shown
from handrail.telegram.model import Content, Place
from handrail.telegram.text.rich import bold

__all__ = ["edited_content"]


def edited_content(
    asked: Asked, about: AskedIn, place: Place, key: str, purpose: str, text: str, mint: Mint
) -> Iterator[tuple[str, Content]]:
    """What is about to be allowed instead: the ends of keys and contents. Raises `NotUnderstood`.

    The button carries the change, so what is allowed is what this message shows.
    """
    changed, answer = _changed(asked, purpose, text)
    deck = Deck(
        mint, place=place, key=key, session_id=about.session_id, ask_id=asked.item.ask_id, digest=asked.item.digest
    )
    words = "Allow with these changes" if purpose == "input" else "Approve this and accept edits"
    deck.row(deck.decide(words, answer, style="success", resume=asked.resumes), deck.step("Back", "dismiss"))
    named = title(asked)
    draught = Draught(
        head=bold(f"⏸ {named} · as you changed it"),
        what=what_shown(described_anew(changed, named)),
        title=named,
        file_name="changed.txt",
    )
    made = composed(draught, deck)
    before = [*made.parts, *([made.file] if made.file is not None else [])]
    yield from ((f":{number}", content) for number, content in enumerate(before, start=1))
    yield "", Content(text=made.text, buttons=deck.keyboard)


def _changed(asked: Asked, purpose: str, text: str) -> tuple[Ask, AnyAnswer]:
    """The ask as it would be, and the answer that makes it so."""
    if asked.ask is None:
        raise NotUnderstood("this ask cannot be changed here")
    if purpose == "input":
        given = edited_input(asked.ask, text)
        return msgspec.structs.replace(asked.ask, input=given), Allow(updated_input=given)
    answer = edited_plan(asked, text)
    return msgspec.structs.replace(asked.ask, plan=text.strip()), answer
