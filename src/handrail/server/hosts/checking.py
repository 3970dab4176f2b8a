"""Looks at what a host sends before anything of it is stored: a page with something wrong in it closes the link.

Whoever reads a copy trusts its rows as those of a journal of this machine: what is no JSON, or says another number than
its row, would break the pages of people who look at other sessions too.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec

from handrail.errors import HandrailError, LocalProtocolError
from handrail.link.wire import HostFacts
from handrail.sessions.launching import decode_settings
from handrail.store.base import CopyPage, EventRow

__all__ = ["check_facts", "check_page", "check_session_id", "readable_settings"]

LONGEST_FACTS: Final = 64 * 1024
"""In bytes: they are stored, and shown to everybody who looks at the hosts."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]{4,64}", re.ASCII)


class _Numbered(msgspec.Struct):
    """What an event must say of itself."""

    type: str
    seq: int


_event_decoder = msgspec.json.Decoder(_Numbered)
_object_decoder = msgspec.json.Decoder(dict[str, Any])


def check_session_id(session_id: str) -> None:
    """Raise `LocalProtocolError` for what cannot be the id of a session."""
    if not _ID.fullmatch(session_id):
        raise LocalProtocolError(f"{session_id[:80]!r} is no id of a session")


def check_facts(facts: HostFacts) -> None:
    """Raise `LocalProtocolError` for what no host can say of itself."""
    numbers = (facts.live, facts.load, facts.clock, facts.capacity or 0, facts.free_bytes or 0)
    if not all(0 <= number < math.inf for number in numbers):
        raise LocalProtocolError("what a host says of itself has numbers that cannot be")
    try:
        size = len(msgspec.json.encode(facts))
    except (TypeError, ValueError, RecursionError) as error:
        raise LocalProtocolError(f"what a host says of itself cannot be shown: {error}") from error
    if size > LONGEST_FACTS:
        raise LocalProtocolError(f"what a host says of itself takes {size} bytes, and {LONGEST_FACTS} are enough")


def readable_settings(told: bytes) -> bytes:
    """The settings of a session, without what only a newer Handrail can read: the host itself has them whole.

    What is not even JSON stays as it is, for `check_page` to refuse.
    """
    try:
        decode_settings(told)
    except (msgspec.MsgspecError, HandrailError, ValueError, TypeError, AttributeError, RecursionError):
        return _without_the_unfit(told)
    return told


def _without_the_unfit(told: bytes) -> bytes:
    try:
        found = _object_decoder.decode(told)
        for section in ("options", "policy"):
            if found.get(section) is not None:
                values = msgspec.convert(found[section], dict[str, Any])
                found[section] = {name: value for name, value in values.items() if _fits(section, name, value)}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return told
    return msgspec.json.encode(found)


def _fits(section: str, name: str, value: Any) -> bool:
    try:
        decode_settings(msgspec.json.encode({section: {name: value}}))
    except (msgspec.MsgspecError, HandrailError, ValueError, TypeError):
        return False
    return True


def check_page(page: CopyPage, *, known_settings: bytes = b"") -> None:
    """Raise `LocalProtocolError` if something in the page is not what its rows say. Known settings are good."""
    check_session_id(page.session.id)
    try:
        if page.session.settings != known_settings:
            decode_settings(page.session.settings)
        for row in (page.session, *page.asks, *page.messages, *page.runs, *page.usage):
            _check_numbers(row)
        for event in page.events:
            _check_event(event)
        for ask in page.asks:
            _object_decoder.decode(ask.body)
            if ask.session_id != page.session.id:
                raise LocalProtocolError(f"an ask of session {ask.session_id} is among those of {page.session.id}")
            if ask.answer is not None:
                _check_json(ask.answer)
        for message in page.messages:
            _check_json(message.content)
    except (msgspec.MsgspecError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise LocalProtocolError(f"the page of session {page.session.id} cannot be read: {error}") from error
    except HandrailError as error:
        raise LocalProtocolError(f"the page of session {page.session.id} cannot be used: {error}") from error


def _check_event(row: EventRow) -> None:
    _check_numbers(row)
    row.body.decode()  # it is sent on as it is, as text
    found = _event_decoder.decode(row.body)
    if found.seq != row.seq or found.type != row.type:
        raise LocalProtocolError(f"event {row.seq} ({row.type}) says that it is {found.seq} ({found.type})")


def _check_numbers(row: msgspec.Struct) -> None:
    """JSON has no others."""
    if not all(math.isfinite(value) for value in msgspec.structs.astuple(row) if isinstance(value, float)):
        raise LocalProtocolError(f"a number of a {type(row).__name__} is none")


def _check_json(content: bytes) -> None:
    msgspec.json.decode(content)
