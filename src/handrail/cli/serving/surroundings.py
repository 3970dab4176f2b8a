"""What the hub is told of the machine that it runs on: its Claude Code, what is wrong, and a demo to play."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from handrail.cli.checkup.checkup import check_up
from handrail.cli.checkup.claude import claude_state
from handrail.cli.checkup.surroundings import Surroundings as Around
from handrail.cli.serving.demo import HubDemo
from handrail.server.hub import ClaudeStatus, Finding
from handrail.sessions.session import Session

__all__ = ["Surroundings"]

KEPT_FOR = 60.0
LEVELS = {"good": "ok", "attention": "warning", "broken": "problem"}


@dataclass
class Surroundings:
    """The surroundings of this process."""

    around: Around
    demo: HubDemo
    _claude: ClaudeStatus | None = None
    _asked_at: float = 0.0
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def claude(self) -> ClaudeStatus:
        """What is known of the Claude Code of this machine. Asking starts it, so the answer is kept for a while."""
        async with self._asking:
            if self._claude is None or time.monotonic() - self._asked_at > KEPT_FOR:
                state = await asyncio.to_thread(claude_state, self.around)
                version = state.version or ""
                self._claude = ClaudeStatus(found=state.found, version=version, logged_in=state.logged_in)
                self._asked_at = time.monotonic()
            return self._claude

    async def findings(self) -> Sequence[Finding]:
        """What a check-up finds."""
        found = await asyncio.to_thread(check_up, self.around)
        return [
            Finding(area=each.area, level=LEVELS[each.status], words=each.text, remedy=each.fix)
            for each in found
            if each.area != "terminal"  # the page is none
        ]

    async def start_demo(self) -> Session:
        """Start the scripted session that needs no account."""
        return await self.demo.start()
