"""How fast bridges of tests work: they wait for nothing that only people need time for."""

from __future__ import annotations

from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.rhythm import Rhythm

FAST = Pace().faster(1000)
QUICK = Rhythm(progress=0.05, first_progress=0.0, heartbeat=5.0, settling=0.02, draft=0.05, typing=0.5, rest=0.3)
