"""The command /queue: what becomes of messages that are sent while Claude works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.telegram.commands.context import Choice, CommandContext
from handrail.telegram.commands.words import shortened
from handrail.telegram.text.rich import bold, joined

__all__ = ["queue", "queue_pressed"]

MOST_LISTED = 20
"""Each has two buttons, and Telegram takes 100 of them under a message."""
WORDS = {
    "steer": "at once: Claude reads them while it works",
    "after": "later: they wait until Claude is done",
}


async def queue(context: CommandContext, rest: str) -> None:
    """Show what waits, choose what becomes of messages, or have one wait."""
    match rest.lower():
        case "":
            await _show(context)
        case "steer" | "after" as chosen:
            await _set(context, chosen)
        case _:
            said = await context.said(rest)
            await context.sessions.send(context.hub, context.place, said, message_id=context.message_id, when="after")


async def queue_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    match data:
        case {"set": "steer" | "after" as chosen}:
            await _set(context, chosen)
            return
        case {"now": str(uuid)}:
            await context.sessions.send_now(context.hub, context.place, uuid)
        case {"back": str(uuid)}:
            await context.sessions.take_back(context.hub, context.place, uuid)
    await _show(context)


async def _set(context: CommandContext, chosen: str) -> None:
    await context.change_prefs(queue=chosen)
    await context.say(joined(["Messages that are sent while Claude works go ", bold(WORDS[chosen]), "."]))


async def _show(context: CommandContext) -> None:
    chosen = (await context.chat()).prefs.queue
    waiting = await context.sessions.queued(context.place)
    other = "after" if chosen == "steer" else "steer"
    listed = list(enumerate(waiting[:MOST_LISTED], 1))
    lines = [f"{number}. {shortened(each.text, 120)}" for number, each in listed]
    lines += [f"… and {more} more"] if (more := len(waiting) - len(listed)) else []
    said = joined(["Messages that are sent while Claude works go ", bold(WORDS[chosen]), "."])
    said += "\n\nWaiting:\n" + "\n".join(lines) if lines else "\n\nNothing waits."
    buttons = [
        [Choice(f"Send {number} now", {"now": each.uuid}), Choice(f"Take {number} back", {"back": each.uuid})]
        for number, each in listed
    ]
    await context.say(said, [*buttons, [Choice(f"From now on {WORDS[other]}", {"set": other})]])
