"""What became of an ask: who answered, from where and when, and what that changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.policy.describing.outcomes import ENDED, NOBODY, changes_of, decided, texts_of
from handrail.server.showing.strings import line, words
from handrail.store.base import AskRow

__all__ = ["ENDED", "OUTCOMES", "closed", "closed_row"]

OUTCOMES: Mapping[str, str] = {"sent": "decided"}
"""The outcome that goes with a row's state, where it has another name."""


def closed_row(row: AskRow) -> dict[str, Any] | None:
    """What became of the ask of a row; None while it waits."""
    if row.state == "pending":
        return None
    return closed(
        OUTCOMES.get(row.state, row.state),
        answer=_decoded(row.answer),
        by=row.decided_by,
        surface=row.surface,
        at=row.decided_at or row.closed_at,
        granted=bool(row.granted_by),
    )


def closed(
    outcome: str,
    *,
    answer: Mapping[str, Any] | None = None,
    by: str = "",
    surface: str = "",
    at: float | None = None,
    message: str = "",
    granted: bool = False,
) -> dict[str, Any]:
    """What became of an ask, in words: `words` on one line, `changes` one by one, `said` as it was written."""
    given = answer or {}
    told, chosen = texts_of(given, message)
    return {
        "outcome": outcome,
        "by": line(by),
        "surface": line(surface),
        "at": at,
        "words": NOBODY.get(outcome) or decided(outcome, given, line(by), line(surface), granted=granted),
        "changes": list(changes_of(given)),
        "said": words("\n\n".join([*told, *chosen])),
    }


def _decoded(answer: bytes | None) -> dict[str, Any]:
    found = msgspec.json.decode(answer) if answer else None
    return found if isinstance(found, dict) else {}
