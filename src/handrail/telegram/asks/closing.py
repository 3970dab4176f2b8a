"""What became of an ask, as a chat shows it: who answered, from where, and what that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.events.view import AskItem
from handrail.policy.describing.outcomes import NOBODY, answered, changes_of, decided, texts_of
from handrail.telegram.asks.words import in_short, words

__all__ = ["changes", "said", "sign", "verdict"]

REFUSALS = ("denied", "skipped", "plan rejected", "declined", "dismissed", "not answered")
IN_ANY_CASE = re.compile(r"\AThe user denied this(?: and stopped the turn)?(?:\.\Z| and says: )")
LONGEST_NAME = 60


def verdict(item: AskItem) -> str:
    """What became of it, on one line; empty while it waits."""
    if item.outcome is None:
        return ""
    by, surface = in_short(item.by, LONGEST_NAME), in_short(item.surface, LONGEST_NAME)
    granted = bool(item.granted_by)
    return NOBODY.get(item.outcome) or decided(item.outcome, item.answer or {}, by, surface, granted=granted)


def sign(item: AskItem) -> str:
    """✓ if it was let happen, ✗ if not, ⏸ if it still can be answered, · for everything else."""
    if item.outcome in ("lost", "unsent"):
        return "⏸"
    if item.outcome in NOBODY:
        return "·"
    return "✗" if answered(item.answer or {}).startswith(REFUSALS) else "✓"


def said(item: AskItem) -> Iterator[str]:
    """What the person wrote or chose, without the words that Claude is told in any case."""
    told, chosen = texts_of(item.answer or {}, item.message)
    yield from (own for text in told if (own := words(IN_ANY_CASE.sub("", text))))
    yield from map(words, chosen)


def changes(item: AskItem) -> Iterator[str]:
    """What the answer changed besides letting it happen, one by one."""
    yield from changes_of(item.answer or {})
