"""Refuses what is for people only to Claude, and to anything it starts."""

from __future__ import annotations

import os

from handrail.errors import SelfApproval

__all__ = ["refuse_inside_session"]


def refuse_inside_session() -> None:
    """What loosens a policy or a setting is for people. Raises `SelfApproval` inside a session."""
    from handrail.transports.ancestry import descends_from_session  # only what changes something pays for it
    from handrail.transports.process_tree import MARKER_VARIABLE

    if os.environ.get(MARKER_VARIABLE) or (os.getppid() > 0 and descends_from_session(os.getppid())):
        raise SelfApproval("this command runs inside a session of Claude Code: run it in a terminal of your own")
