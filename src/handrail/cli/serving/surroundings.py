"""What the hub is told of the machine that it runs on: its Claude Code, what is wrong, and a demo to play."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from handrail.cli.checkup.checkup import check_up
from handrail.cli.checkup.claude import claude_state
from handrail.cli.checkup.surroundings import Surroundings as Around
from handrail.cli.serving.demo import HubDemo
from handrail.server.hub import ClaudeStatus, Finding
from handrail.sessions.session import Session

__all__ = ["Surroundings"]

LEVELS = {"good": "ok", "attention": "warning", "broken": "problem"}


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of this process."""

    around: Around
    demo: HubDemo

    async def claude(self) -> ClaudeStatus:
        """What is known of the Claude Code of this machine."""
        state = await asyncio.to_thread(claude_state, self.around)
        return ClaudeStatus(found=state.found, version=state.version or "", logged_in=state.logged_in)

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
