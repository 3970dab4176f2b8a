"""What holds only from a session's next start on: it is said, with a button that starts it again now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.telegram.commands.context import Choice, CommandContext
from handrail.telegram.commands.wishes import WORKING, resume_as_wished
from handrail.telegram.commands.words import title
from handrail.telegram.text.rich import RichText, bold, joined

__all__ = ["apply_at_next_start", "restart_pressed"]


async def apply_at_next_start(context: CommandContext, said: RichText) -> None:
    """Say what was chosen. A session that runs was started otherwise: offer to start it again."""
    session_id = (await context.chat()).session_id
    if not session_id or not await context.hub.session(session_id).is_live():
        await context.say(said)
        return
    row = await context.hub.session(session_id).row()
    await context.say(
        said + joined(["\n", bold(title(row)), " runs as it was started. Started again, it goes on with this."]),
        [[Choice("Start it again now", {"restart": row.id})]],
        session_id=row.id,
    )


async def restart_pressed(context: CommandContext, data: Mapping[str, Any]) -> bool:
    """Start a session again, if that is what a button asks for; says whether it was."""
    if "restart" not in data:
        return False
    session = context.hub.session(str(data["restart"]))
    row = await session.row()
    if row.status in WORKING:
        await context.say(
            joined([bold(title(row)), " works now. Wait until it is done, or /interrupt it first."]),
            [[Choice("Start it again now", dict(data))]],
            session_id=row.id,
        )
        return True
    await session.stop()
    await resume_as_wished(context.hub, await context.chat(), await session.row())
    await context.say(joined([bold(title(row)), " was started again, as this chat prefers."]), session_id=row.id)
    return True
