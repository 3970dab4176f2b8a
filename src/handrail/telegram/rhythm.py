"""How often something is shown while Claude works."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rhythm"]


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Times in seconds. What Telegram takes is less, as a rule: then the outbox shows only the latest."""

    progress: float = 2.0
    """Between two states of the progress."""
    first_progress: float = 1.5
    """How long a run may take without any."""
    heartbeat: float = 15.0
    """Between two states of it while nothing happens: the clock in it goes on."""
    settling: float = 0.2
    """How long an ask must have waited before anybody is told: what a policy answers is answered sooner."""
    draft: float = 1.0
    typing: float = 4.5
    rest: float = 30.0
    """How long a session that does nothing is followed."""
