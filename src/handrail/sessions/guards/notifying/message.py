"""What is told about sessions, in the form in which it is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from handrail.transports.redact import Redactor

__all__ = ["Message", "NotDelivered", "Notice", "message_of", "plain"]

LONGEST_TEXT = 300
LINES = 5
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


class NotDelivered(Exception):
    """A notification could not be sent. `cause` says why, in the same words each time; neither holds a secret."""

    def __init__(self, cause: str, *, detail: str = "") -> None:
        super().__init__(f"{cause}{detail}")
        self.cause = cause
        self.detail = detail


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to tell. `detail` is left out unless the settings ask for it."""

    kind: str
    session_id: str
    text: str
    """In one line, for people."""
    at: float = 0.0
    session_title: str = ""
    ask_id: str | None = None
    ask_title: str | None = None
    digest: str | None = None
    cost_usd: float | None = None
    detail: dict[str, Any] | None = None


class Message(msgspec.Struct, frozen=True):
    """Notices, ready to be sent: as JSON, and as variables of an environment for a command that reads none."""

    body: bytes
    variables: dict[str, str]


def message_of(notices: Sequence[Notice], *, dropped: int, details: bool) -> Message:
    """The message that tells of these; `dropped` notices before them were never sent."""
    told = [notice if details else msgspec.structs.replace(notice, detail=None) for notice in notices]
    redactor = Redactor()
    text = redactor.text(_summary(notices, dropped))
    content = {"text": text, "notices": told, "dropped": dropped}
    last = notices[-1]
    return Message(
        redactor.line(msgspec.json.encode(content)),
        {
            "HANDRAIL_NOTICE": text,
            "HANDRAIL_NOTICE_KIND": last.kind,
            "HANDRAIL_NOTICE_COUNT": str(len(notices)),
            "HANDRAIL_SESSION": last.session_id,
            "HANDRAIL_SESSION_TITLE": redactor.text(plain(last.session_title)),
            "HANDRAIL_ASK": last.ask_id or "",
        },
    )


def plain(text: str) -> str:
    """A short line without anything that a screen would obey."""
    line = CONTROL_CHARACTERS.sub(" ", text).strip()
    return line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]}…"


def _summary(notices: Sequence[Notice], dropped: int) -> str:
    lines = [notice.text for notice in notices[:LINES]]
    more = len(notices) - len(lines)
    if more:
        lines.append(f"and {more} more")
    if dropped:
        lines.append(f"{dropped} earlier ones were dropped")
    return "\n".join(lines)
