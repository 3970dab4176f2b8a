"""`handrail resume`: go on with a session here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from handrail.cli.commands.parameters import JSONLines, Prompt, Session
from handrail.cli.commands.prompts import optional_prompt

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["resume"]


def resume(ctx: typer.Context, session: Session, prompt: Prompt = None, json: JSONLines = False) -> None:
    """Go on with a session here.

    With a PROMPT it ends when that is answered. Without one the session stays open: type what Claude should do.
    If it runs in another terminal, this one joins in.

    Example: handrail resume @ "Now write the tests"
    """
    text = optional_prompt(prompt)
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int:
        from handrail.cli.commands.live import go_on

        return await go_on(place, await place.session(session), text, as_json=json)

    at_work(ctx, work, may_start=True)
