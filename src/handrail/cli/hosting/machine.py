"""What a hub may ask about this machine as a whole: a check-up, and a probe of its Claude Code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from handrail.cli.checkup.checkup import check_up
from handrail.cli.checkup.probing.kept import probe_facts
from handrail.cli.checkup.probing.watch import probe_now
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.serving.surroundings import LEVELS

__all__ = ["machine_commands"]


def machine_commands(around: Surroundings) -> Mapping[str, Callable[[dict[str, Any]], Awaitable[Any]]]:
    """The commands by name."""

    async def doctor(params: dict[str, Any]) -> list[dict[str, str]]:
        found = await asyncio.to_thread(check_up, around)
        return [
            {"area": each.area, "level": LEVELS[each.status], "words": each.text, "remedy": each.fix}
            for each in found
            if each.area != "terminal"  # whoever reads this sits elsewhere
        ]

    async def probe(params: dict[str, Any]) -> dict[str, Any]:
        kept = await probe_now(around)
        return probe_facts(around.places, kept.version)

    return {"doctor": doctor, "probe": probe}
