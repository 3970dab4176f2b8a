"""Tells whoever should know what a probe found: the log, and those whom the settings name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from handrail.cli.checkup.probing.kept import KeptProbe
from handrail.cli.checkup.probing.watch import ProbeWatch, TryOut, log_probe, probe_now
from handrail.cli.checkup.surroundings import Surroundings
from handrail.sessions.guards.notifications import PROBE, Notice, Notifier, Notify

__all__ = ["notice_of", "probes_watched"]


@asynccontextmanager
async def probes_watched(
    around: Surroundings, *, hours: float, notify: Sequence[Notify], try_out: TryOut = probe_now
) -> AsyncGenerator[ProbeWatch, None]:
    """Try Claude Code out meanwhile whenever it was updated, and tell what came of it."""
    async with Notifier([rule for rule in notify if PROBE in rule.kinds], environ=around.environ) as notifier:

        def tell(probe: KeptProbe) -> None:
            log_probe(probe)
            if probe.status != "fine":
                notifier.tell(notice_of(probe))

        async with ProbeWatch(around, hours=hours, tell=tell, try_out=try_out) as watch:
            yield watch


def notice_of(probe: KeptProbe) -> Notice:
    """What is sent of a probe that found something."""
    return Notice(
        kind=PROBE,
        session_id="",
        text=probe.text,
        at=probe.at,
        detail={"version": probe.version, "status": probe.status, "findings": list(probe.findings)},
    )
