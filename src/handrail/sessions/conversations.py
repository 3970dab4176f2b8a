"""Begins a session's conversation with Claude Code, or goes on with it, whatever Claude Code itself has kept of it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol
from uuid import uuid4

import msgspec

from handrail.errors import ProcessExited
from handrail.protocol.options import Options
from handrail.sessions.engine import Engine
from handrail.sessions.launching import SessionSettings, for_fork, for_new, for_resume
from handrail.store.base import SessionRow

__all__ = ["Sit", "begin", "go_on"]

NO_CONVERSATION = "No conversation found"
"""What Claude Code says of an id that it keeps nothing of: it was ended before it had written anything down."""
IN_USE = "is already in use"
"""What it says of an id that it keeps a conversation of: Handrail ended before it could store the first run."""
STARTS_ANEW = "Claude Code kept nothing of this conversation: it starts anew, and knows nothing of what was said"


class Sit(Protocol):
    """Makes a session live with these options."""

    def __call__(self, row: SessionRow, options: Options) -> Awaitable[Engine]: ...


async def begin(row: SessionRow, settings: SessionSettings, sit: Sit) -> None:
    """Begin a session's conversation."""
    if settings.forks is not None:
        await sit(row, for_fork(settings.options, settings.forks))
        return
    cli_session_id = row.cli_session_id or str(uuid4())
    try:
        await sit(row, for_new(settings.options, cli_session_id))
    except ProcessExited as error:
        if IN_USE not in str(error):
            raise
        await sit(row, for_resume(settings.options, cli_session_id))


async def go_on(row: SessionRow, settings: SessionSettings, sit: Sit) -> None:
    """Go on with a session's conversation, or, if Claude Code kept nothing of it, begin another one."""
    try:
        await sit(row, for_resume(settings.options, str(row.cli_session_id)))
    except ProcessExited as error:
        if NO_CONVERSATION not in str(error):
            raise
        # Another id: some versions refuse one of which they keep an empty file.
        row = msgspec.structs.replace(row, cli_session_id=str(uuid4()))
        engine = await sit(row, for_new(settings.options, str(row.cli_session_id)))
        engine.begins_anew(STARTS_ANEW)
