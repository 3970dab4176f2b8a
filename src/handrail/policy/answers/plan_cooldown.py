"""An option for plan review: for a while after an outline was asked for, plans are sent back at once."""

from __future__ import annotations

from collections.abc import Callable

from handrail.policy.answers.plan import OUTLINE
from handrail.protocol.asks import Deny

__all__ = ["OutlineCooldown"]


class OutlineCooldown:
    """How long plans are sent back at once after an outline was asked for: 30 s, then 60, 90 and at most 120.

    Holding the next plan for the person is the better answer, since Claude may give up on being sent back; so this is
    used only where it is asked for. `clock` gives seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float], *, step: float = 30.0, longest: float = 120.0) -> None:
        self._clock = clock
        self._step = step
        self._longest = longest
        self._count = 0
        self._since = 0.0

    @property
    def remaining(self) -> float:
        """For how many more seconds a plan is sent back; 0 if it goes to the person."""
        window = min(self._step * self._count, self._longest)
        return max(0.0, self._since + window - self._clock())

    def outlined(self) -> None:
        """The person asked for an outline: each time the wait is longer, also if the last one is long over."""
        self._count += 1
        self._since = self._clock()

    def intercept(self) -> Deny | None:
        """A plan came: the denial that sends it back, if it came too soon. The wait then begins anew."""
        if not self.remaining:
            return None
        self._since = self._clock()
        return Deny(f"{OUTLINE} A plan that comes within {self.remaining:.0f} seconds is sent back unread.")

    def answered(self) -> None:
        """The person approved or rejected a plan: it starts over."""
        self._count = 0
