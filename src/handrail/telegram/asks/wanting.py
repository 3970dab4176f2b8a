"""What chats are to show of an ask: found inside one transaction, from the ask and from what is known of it there.

Of each ask and place is noted what is shown: its digest, what became of it, and the words for that. From this a press
can be answered at once, and an ask that is over is never shown open again, in whatever order things are heard of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from handrail.events.view import AskItem
from handrail.telegram import lifetimes
from handrail.telegram.asks.around import AskedIn
from handrail.telegram.asks.closing import verdict
from handrail.telegram.asks.reading import RESUMABLE, Asked, read
from handrail.telegram.asks.showing import Shown, closed, key_of, shown, shown_late
from handrail.telegram.model import GONE, Content, Place, Priority, Role, SentMessage, WantedMessage
from handrail.telegram.state import Tables

__all__ = [
    "Known",
    "digest_key",
    "draft_key",
    "known_of",
    "note_digest",
    "place_in",
    "places_of",
    "want_ask",
    "want_beside",
]

_PASSING = (":prompt:", ":edited:")
"""In the keys of messages that nobody needs once the ask is over."""


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a place shows of an ask."""

    digest: str
    about: AskedIn
    outcome: str | None = None
    words: str = ""
    changed: bool = False
    """Whether it was another thing when it was first shown."""

    @property
    def is_over(self) -> bool:
        """Whether it can be answered no more."""
        return self.outcome is not None and self.outcome not in RESUMABLE

    @property
    def resumes(self) -> bool:
        return self.outcome in RESUMABLE


def draft_key(session_id: str, ask_id: str) -> str:
    """Under what the draft of an answer is kept: the CLI's own ids are unique only within a session."""
    return f"{session_id}/{ask_id}"


def digest_key(key: str) -> str:
    """Under what is noted which digest a message that is to be replied to belongs to."""
    return f"ask:digest:{key}"


def known_of(tables: Tables, session_id: str, ask_id: str, place: Place) -> Known | None:
    """What a place shows of an ask; None if it never did."""
    noted = tables.noted(key_of(session_id, ask_id, place))
    try:
        return msgspec.json.decode(noted, type=Known) if noted else None
    except msgspec.MsgspecError:  # of a version that noted another thing
        return None


def places_of(tables: Tables, session_id: str, ask_id: str) -> list[Place]:
    """Where an ask is shown."""
    noted = tables.notes(_before_place(session_id, ask_id))
    found = (place_in(key, session_id, ask_id) for key in noted)
    return [place for place in found if place is not None]


def place_in(key: str, session_id: str, ask_id: str) -> Place | None:
    """The place that a message of an ask was first wanted in. A group may have got another number since then."""
    before = _before_place(session_id, ask_id)
    if not key.startswith(before):
        return None
    chat, _, thread = key.removeprefix(before).partition(":")[0].partition("/")
    return Place(int(chat), int(thread or 0))


def _before_place(session_id: str, ask_id: str) -> str:
    return key_of(session_id, ask_id, Place(0)).removesuffix("0")


def want_ask(tables: Tables, item: AskItem, about: AskedIn, place: Place, *, role: Role, sound: bool) -> None:
    """Have a place show an ask as it is now."""
    before = known_of(tables, about.session_id, item.ask_id, place)
    if _is_old_news(item, before):
        return
    known = Known(item.digest, about, item.outcome, verdict(item), _has_changed(item, before))
    _note(tables, key_of(about.session_id, item.ask_id, place), known)
    asked = read(item)
    if known.is_over and before is None:
        _want_shown(tables, item, about, place, shown_late(asked, about, place, tables.mint))
    elif known.is_over:
        _want_closed(tables, asked, about, place)
    else:
        draft = tables.draft(draft_key(about.session_id, item.ask_id), place)
        sounds = sound and asked.is_open
        made = shown(asked, about, place, tables.mint, role=role, draft=draft, changed=known.changed, sound=sounds)
        _want_shown(tables, item, about, place, made)


def _note(tables: Tables, key: str, known: Known) -> None:
    """Remember what is shown; and all that belongs to it for as long as the ask can be answered."""
    stays = lifetimes.ANSWERED_ASKS if known.is_over else lifetimes.WAITING_ASKS
    tables.note(key, msgspec.json.encode(known).decode(), stays=stays, holds=not known.is_over)


def note_digest(tables: Tables, key: str, digest: str) -> None:
    """Remember what a message that is to be replied to belongs to."""
    tables.note(digest_key(key), digest, stays=lifetimes.WAITING_ASKS)


def _is_old_news(item: AskItem, before: Known | None) -> bool:
    """Whether more is known already, or it was over before anybody here saw it. Plans are read even then."""
    if before is None:
        return _order(item.outcome) == _order("decided") and item.kind != "plan"
    return _order(item.outcome) < _order(before.outcome)


def _order(outcome: str | None) -> int:
    """An ask only ever moves on: it waits, it may be lost, it is over."""
    return 0 if outcome is None else 1 if outcome in RESUMABLE else 2


def _has_changed(item: AskItem, before: Known | None) -> bool:
    return before is not None and (before.changed or before.digest != item.digest)


# ---------------------------------------------------------------- messages


def _want_shown(tables: Tables, item: AskItem, about: AskedIn, place: Place, made: Shown) -> None:
    key = key_of(about.session_id, item.ask_id, place)
    before = [(f"{key}:{name}", content) for name, content in made.before]
    contents = [*before, (key, made.content)]
    for (each, content), after in zip(contents, ["", *(name for name, _ in contents)], strict=False):
        tables.want(_message(each, place, content, about, item.ask_id, made.purpose, after))
    names = [name for name, _ in before]
    _take_away(tables, _beside(tables, about, item.ask_id, place, (":part:", ":file:")), but=names)
    stale = [each for each in _beside(tables, about, item.ask_id, place, _PASSING) if item.digest[:12] not in each.key]
    _take_away(tables, stale)


def _want_closed(tables: Tables, asked: Asked, about: AskedIn, place: Place) -> None:
    item = asked.item
    key = key_of(about.session_id, item.ask_id, place)
    tables.want(_message(key, place, closed(asked, about), about, item.ask_id, "", ""))
    tables.set_draft(draft_key(about.session_id, item.ask_id), place, None)
    passing = list(_beside(tables, about, item.ask_id, place, _PASSING))
    _take_away(tables, passing)
    for message in passing:
        tables.note(digest_key(message.key), None)


def want_beside(
    tables: Tables, about: AskedIn, ask_id: str, place: Place, name: str, content: Content, *, purpose: str = ""
) -> str:
    """Want a message that belongs to an ask; returns its key."""
    key = f"{key_of(about.session_id, ask_id, place)}:{name}"
    tables.want(_message(key, place, content, about, ask_id, purpose, "", Priority.REPLY))
    return key


def _message(
    key: str,
    place: Place,
    content: Content,
    about: AskedIn,
    ask_id: str,
    purpose: str,
    after: str,
    priority: Priority = Priority.ASK,
) -> WantedMessage:
    return WantedMessage(
        key=key,
        place=place,
        content=content,
        priority=priority,
        session_id=about.session_id,
        ask_id=ask_id,
        purpose=purpose,
        after=after,
    )


def _beside(tables: Tables, about: AskedIn, ask_id: str, place: Place, kinds: Sequence[str]) -> Iterator[SentMessage]:
    """The messages of these kinds that stand beside the ask's own."""
    key = key_of(about.session_id, ask_id, place)
    for message in tables.of_ask(about.session_id, ask_id):
        if message.key.startswith(f"{key}:") and message.key.removeprefix(key).startswith(tuple(kinds)):
            yield message


def _take_away(
    tables: Tables, messages: Iterator[SentMessage] | Sequence[SentMessage], but: Sequence[str] = ()
) -> None:
    for message in list(messages):
        if message.key not in but and message.content != GONE:
            gone = WantedMessage(
                key=message.key,
                place=message.place,
                content=GONE,
                session_id=message.session_id,
                ask_id=message.ask_id,
            )
            tables.want(gone)
