"""Programs that offer hooks, tools and answers to the sessions that they started through the hub."""

from __future__ import annotations

from handrail.server.programs.programs import Programs
from handrail.server.programs.socket import ProgramSockets

__all__ = ["ProgramSockets", "Programs"]
