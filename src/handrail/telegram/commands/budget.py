"""The command /budget: what a session may cost before it pauses and asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.restarting import apply_at_next_start, restart_pressed
from handrail.telegram.commands.words import title
from handrail.telegram.show.amounts import cost
from handrail.telegram.text.rich import RichText, bold, joined

__all__ = ["budget", "budget_pressed"]

MOST: Final = 1_000_000.0
OFFERED: Final = (1.0, 5.0, 20.0)
_AMOUNT: Final = re.compile(r"\$?\s*(?P<number>\d+(?:[.,]\d+)?)\s*(?:\$|usd|dollars?)?", re.IGNORECASE)


async def budget(context: CommandContext, rest: str) -> None:
    """Show what sessions cost and may cost, or set it."""
    if not rest:
        await _show(context)
        return
    await _set(context, None if rest.lower() in ("off", "none", "no") else _dollars(rest))


async def budget_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    if await restart_pressed(context, data):
        return
    wanted = data.get("set")
    await _set(context, float(wanted) if isinstance(wanted, int | float) else None)


def _dollars(written: str) -> float:
    found = _AMOUNT.fullmatch(written.strip())
    amount = float(found["number"].replace(",", ".")) if found is not None else 0.0
    if not 0 < amount <= MOST:
        raise NotSo(f"write what a session may cost in US dollars, such as /budget 5, or /budget off: not {written!r}")
    return amount


async def _set(context: CommandContext, amount: float | None) -> None:
    await context.change_prefs(budget=amount)
    if amount is None:
        await context.say("Sessions that are started here have the budget that the hub is set to, or none.")
        return
    await apply_at_next_start(
        context, joined(["A session that is started here may cost ", bold(cost(amount)), ". Then it pauses and asks."])
    )


async def _show(context: CommandContext) -> None:
    chosen = (await context.chat()).prefs.budget
    said = joined(
        ["Sessions that are started here may cost ", bold(cost(chosen) if chosen else "what the hub is set to")]
    )
    said += ". Then they pause and ask."
    offers = [Choice(cost(amount), {"set": amount}) for amount in OFFERED]
    await context.say(said + await _spent(context), [offers, [Choice("No budget of this chat", {"set": None})]])


async def _spent(context: CommandContext) -> RichText:
    session_id = (await context.chat()).session_id
    if not session_id:
        return joined([])
    row = await context.hub.session(session_id).row()
    return joined(["\n", bold(title(row)), f" has cost {cost(row.cost_usd)}."])
