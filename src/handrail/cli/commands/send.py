"""`handrail send`: a message to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import Session
from handrail.cli.commands.prompts import prompt_text

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["send"]

Message = Annotated[str, typer.Argument(metavar="TEXT", help="The message; with -, standard input is read.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is answered, and print the answer.")]
Resume = Annotated[
    bool, typer.Option("--resume/--no-resume", help="Whether to resume the session if no Claude Code runs for it.")
]
JSON = Annotated[bool, typer.Option("--json", help="Write the message's uuid, and with --wait the answer, as JSON.")]


def send(
    ctx: typer.Context,
    session: Session,
    text: Message,
    wait: Wait = False,
    resume: Resume = True,
    json: JSON = False,
) -> None:
    """Send a message to a session.

    If no Claude Code runs for it, the session is resumed in this terminal, and the command ends with its answer.

    Example: git diff | handrail send @ - --wait
    """
    message = prompt_text(text)
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int | None:
        from handrail.cli.commands.sending import deliver

        return await deliver(place, await place.session(session), message, wait=wait, resume=resume, as_json=json)

    at_work(ctx, work, may_start=True)
