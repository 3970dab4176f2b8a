"""What is noted of sessions in the bridge's memory, and under which names."""

from __future__ import annotations

import msgspec

from handrail.telegram import lifetimes
from handrail.telegram.model import Place
from handrail.telegram.state import Tables

__all__ = ["Origin", "choice_note", "conversation_note", "leaving_note", "note_conversation", "origin_note"]


class Origin(msgspec.Struct, frozen=True):
    """The message in a chat that a message to Claude was."""

    place: Place
    message_id: int
    session_id: str = ""


def origin_note(uuid: str) -> str:
    """Under which name it is noted where a message to Claude came from, until it is answered."""
    return f"prompt:{uuid}"


def conversation_note(session_id: str) -> str:
    """Under which name it is noted what a chat called the session that it began."""
    return f"outbox:{session_id}"


def note_conversation(tables: Tables, session_id: str, conversation: str) -> None:
    """Remember it before the session is begun."""
    tables.note(conversation_note(session_id), conversation, stays=lifetimes.BEGINNINGS)


def leaving_note(session_id: str, place: Place) -> str:
    """Under which name it is noted that a place follows a session only until that is done."""
    return f"leave:{session_id}:{place}"


def choice_note(place: Place) -> str:
    """Under which name it is noted which session an owner last had a chat go on with."""
    return f"chosen:{place}"
