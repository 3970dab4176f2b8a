"""`handrail asks`: everything that waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import JSON

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["asks"]

Lost = Annotated[
    bool, typer.Option("--lost", help="Also asks whose session ended before they were answered: they can be taken up.")
]


def asks(ctx: typer.Context, lost: Lost = False, json: JSON = False) -> None:
    """List what waits for an answer, oldest first.

    Example: handrail asks --json | jq -r '.[].title'
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.commands.ask_list import ask_data, ask_table

        rows = await place.manager.asks(states=("pending", "lost") if lost else ("pending",))
        sessions = await place.rows(row.session_id for row in rows)
        if json:
            place.json([ask_data(row, sessions.get(row.session_id)) for row in rows])
        elif rows:
            place.print(ask_table(rows, sessions, now=place.now))
        else:
            place.remark("nothing waits for an answer" + ("" if lost else await _hint(place)))

    at_work(ctx, work)


async def _hint(place: Workplace) -> str:
    """That there are others, which only wait for somebody to resume their session."""
    from handrail.cli.showing.amounts import count

    lost = await place.manager.asks(states=("lost",))
    return f"; {count(len(lost), 'ask')} went unanswered when the session ended: handrail asks --lost" if lost else ""
