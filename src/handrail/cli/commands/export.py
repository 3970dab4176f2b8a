"""`handrail export`: a session as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.candidates import export_formats
from handrail.cli.commands.parameters import Session

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["export"]

FORMATS = ("markdown", "html", "jsonl")
ENDINGS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".jsonl": "jsonl"}

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="markdown, html or jsonl; by default what FILE's ending says.",
        autocompletion=export_formats,
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")]


def export(
    ctx: typer.Context, session: Session, format: Format = None, output: Output = None, force: Force = False
) -> None:
    """Write a session as Markdown, HTML or JSON Lines.

    Example: handrail export @ -o session.html
    """
    if format is None and output is not None and output.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(
            f"the ending of {output} says no format: say --format, with one of {', '.join(FORMATS)}",
            param_hint="--output",
        )
    chosen = format or (ENDINGS[output.suffix.lower()] if output else "markdown")
    if chosen not in FORMATS:
        raise typer.BadParameter(f"{chosen!r} is none of {', '.join(FORMATS)}", param_hint="--format")
    if output is not None and output.exists() and not force:
        raise typer.BadParameter(f"{output} exists: choose another name, or say --force", param_hint="--output")
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        text = await (await place.session(session)).export(chosen)
        if output is None:
            place.line(text.rstrip("\n"))
        else:
            output.write_text(text, encoding="utf-8", errors="replace")
            place.done(f"written to {output}")

    at_work(ctx, work)
