"""`handrail fork`: go on from a session in a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from handrail.cli.commands.parameters import JSONLines, Prompt, Session
from handrail.cli.commands.prompts import optional_prompt

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["fork"]


def fork(ctx: typer.Context, session: Session, prompt: Prompt = None, json: JSONLines = False) -> None:
    """Go on from a session in a new one; the old one stays as it is.

    Example: handrail fork 3f2a "Try it with a queue instead"
    """
    text = optional_prompt(prompt)
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int:
        from handrail.cli.commands.live import go_on

        found = await place.session(session)
        return await go_on(place, await place.manager.fork(found.id), text, as_json=json)

    at_work(ctx, work, may_start=True)
