"""`handrail search`: find sessions by their titles and by what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import JSON, Limit

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["search"]

LIMIT = 100

Words = Annotated[
    list[str], typer.Argument(metavar="TEXT", help="Words that must all be there; the last one may be unfinished.")
]


def search(ctx: typer.Context, text: Words, limit: Limit = None, json: JSON = False) -> None:
    """Find sessions by their titles and by what was said.

    Example: handrail search flaky login
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int | None:
        from handrail.cli.commands.failures import ExitCode
        from handrail.cli.commands.hit_list import hit_data, hit_page

        hits = await place.manager.search(" ".join(text), limit=limit or LIMIT)
        rows = await place.rows(hit.session_id for hit in hits)
        hits = [hit for hit in hits if hit.session_id in rows]
        if json:
            place.json([hit_data(hit, rows[hit.session_id]) for hit in hits])
        elif hits:
            place.print(hit_page(hits, rows))
        else:
            place.remark("nothing was found")
            return ExitCode.FAILED
        return None

    at_work(ctx, work)
