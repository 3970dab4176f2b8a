"""`handrail prune`: remove now what need not be kept any longer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from handrail.cli.commands.parameters import JSON

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.store.base import Pruned

__all__ = ["prune"]


def prune(ctx: typer.Context, json: JSON = False) -> None:
    """Remove what is kept for longer than it should be.

    The settings storage.frames_days, storage.sessions_days and storage.max_size_mb say how long that is. Sessions that
    are not archived are never removed.

    Example: handrail prune --json
    """
    from handrail.cli.commands.workplace import at_work
    from handrail.cli.named_hub import refuse_elsewhere

    refuse_elsewhere("prune")

    async def work(place: Workplace) -> None:
        from handrail.cli.commands.retention import retention_of
        from handrail.config import load_config
        from handrail.places import Places

        retention = retention_of(load_config(Places.of_user(os.environ), os.environ).storage)
        pruned = await place.own.store.prune(retention, now=place.now)
        if json:
            place.json(pruned)
        else:
            place.done(_in_words(pruned))

    at_work(ctx, work)


def _in_words(pruned: Pruned) -> str:
    from handrail.cli.showing.amounts import count

    removed = [
        count(number, noun)
        for number, noun in ((pruned.sessions, "session"), (pruned.frames, "raw frame"), (pruned.artefacts, "artefact"))
        if number
    ]
    freed = max(0, pruned.bytes_before - pruned.bytes_after) / 1_000_000
    return f"removed {', '.join(removed)}; {freed:.1f} MB freed" if removed else "nothing needed to be removed"
