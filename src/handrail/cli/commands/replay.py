"""`handrail replay`: play a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import JSONLines

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["replay"]

AT_ONCE = "max"

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A file written by handrail run --record, or handrail show --raw; - is standard input."
    ),
]
Speed = Annotated[
    str | None,
    typer.Option(metavar="N", help="So many times as fast as it was, or max. By default 1, and max with --json."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show tool output whole, and every kind of event.")]


def replay(
    ctx: typer.Context, file: File, speed: Speed = None, verbose: Verbose = False, json: JSONLines = False
) -> None:
    """Play a recording.

    What happened is shown as if it happened now. Nothing runs, and nothing is asked.

    Example: handrail replay session.jsonl --speed 4
    """
    factor = _factor(speed or (AT_ONCE if json else "1"))
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int:
        from handrail.cli.commands.playing import Player
        from handrail.cli.surface import make_surface

        surface = make_surface(json=json, verbose=verbose, without="leave")
        return await Player(surface, speed=factor, for_a_person=not json).play(file)

    at_work(ctx, work, with_sessions=False)


def _factor(speed: str) -> float | None:
    """How many times as fast; None for at once."""
    if speed == AT_ONCE:
        return None
    try:
        factor = float(speed.removesuffix("x"))
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise typer.BadParameter("a number above 0, or max", param_hint="--speed")
    return factor
