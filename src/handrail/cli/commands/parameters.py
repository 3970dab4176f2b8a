"""Arguments and options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from handrail.cli.candidates import session_ids

__all__ = ["JSON", "JSONLines", "Limit", "Prompt", "Session", "Sessions", "Yes"]

Session = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A session: its id or the start of it, Claude Code's id, a pasted claude --resume line, "
        "or @ for the latest one of this directory.",
        autocompletion=session_ids,
    ),
]
Sessions = Annotated[
    list[str], typer.Argument(metavar="ID", help="Sessions, as for handrail show.", autocompletion=session_ids)
]
Prompt = Annotated[
    str | None, typer.Argument(metavar="PROMPT", help="What Claude should do next; with -, standard input is read.")
]
JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
JSONLines = Annotated[bool, typer.Option("--json", help="Write each event as a line of JSON, for programs.")]
Limit = Annotated[
    int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="At most so many; by default 100.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
