"""What a search found, under the sessions it was found in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.commands.wording import from_home, short_id
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.style import QUIET, exact
from handrail.policy.describing.visible import one_line
from handrail.store.base import Hit, SessionRow

__all__ = ["hit_data", "hit_page"]


def hit_page(hits: Sequence[Hit], rows: Mapping[str, SessionRow]) -> RenderableType:
    """The sessions, best first, each with where the words are."""
    by_session: dict[str, list[Hit]] = {}
    for hit in hits:
        by_session.setdefault(hit.session_id, []).append(hit)
    parts: list[RenderableType] = []
    for session_id, found in by_session.items():
        parts.append(_heading(rows[session_id]))
        parts += [_place(hit) for hit in sorted(found, key=lambda hit: hit.seq) if _is_news(hit, rows[session_id])]
    return Group(*parts)


def _is_news(hit: Hit, row: SessionRow) -> bool:
    """Whether it is more than the title, which stands above already."""
    return bool(hit.seq) and not (hit.type == "titled" and hit.snippet == row.title)


def _heading(row: SessionRow) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(short_id(row.id))
    line.append("  ").append_text(exact(one_line(row.title) or "(no title)", "bold"))
    return line.append("  ").append_text(exact(from_home(row.cwd), QUIET))


def _place(hit: Hit) -> RenderableType:
    return Hanging(Text(f"  {hit.type} #{hit.seq}  ", style=QUIET), exact(one_line(hit.snippet)))


def hit_data(hit: Hit, row: SessionRow) -> dict[str, Any]:
    """A hit for a program; these names stay."""
    return {
        "session_id": hit.session_id,
        "session_title": row.title,
        "cwd": row.cwd,
        "seq": hit.seq,
        "type": hit.type,
        "snippet": hit.snippet,
    }
