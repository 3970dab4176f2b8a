"""Commands that show figures and send files of them: /usage and /export."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.store.base import UsageRow
from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.parsing import first_word
from handrail.telegram.commands.words import short_id, shortened, table, title
from handrail.telegram.model import Attachment
from handrail.telegram.show.amounts import cost, tokens
from handrail.telegram.text.rich import RichText, bold, joined, plain, pre

__all__ = ["by_model", "export", "export_pressed", "usage", "usage_pressed"]

SPANS: Final = {"today": ("Today", 1), "week": ("The last 7 days", 7), "month": ("The last 30 days", 30)}
FORMATS: Final = {"markdown": "md", "html": "html", "jsonl": "jsonl"}
MOST_MODELS: Final = 8
LARGEST_FILE: Final = 50 * 1024 * 1024
"""What a bot may send."""


# ---------------------------------------------------------------- /usage


async def usage(context: CommandContext, rest: str) -> None:
    """Show what was used."""
    span = rest.lower() or "today"
    if span not in SPANS:
        raise NotSo(f"write /usage today, /usage week or /usage month: not {rest!r}")
    await _show_usage(context, span)


async def usage_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    span = str(data.get("span", "today"))
    await _show_usage(context, span if span in SPANS else "today")


async def _show_usage(context: CommandContext, span: str) -> None:
    words, days = SPANS[span]
    since = _midnight(context.now(), days - 1)
    models = await context.hub.usage(since=since, by=("model",))
    said = bold(words)
    if not models:
        said += "\nNothing was used."
    else:
        said += joined(["\n", pre(by_model(models))])
        if days > 1:
            said += joined(["\n", pre(_by_day(await context.hub.usage(since=since, by=("day",))))])
        said += "\nCosts are estimates of Claude Code's."
    others = [Choice(SPANS[name][0], {"span": name}) for name in SPANS if name != span]
    await context.say(said, [others])


def _midnight(now: float, days_ago: int) -> float:
    today = datetime.datetime.fromtimestamp(now).astimezone().date()
    return datetime.datetime.combine(today - datetime.timedelta(days=days_ago), datetime.time()).timestamp()


def by_model(rows: Sequence[UsageRow]) -> str:
    """A table of the dearest models, and of all together."""
    dearest = sorted(rows, key=lambda row: -row.cost_usd)
    lines = [(shortened(row.model, 20) or "?", *_amounts([row])) for row in dearest[:MOST_MODELS]]
    if len(dearest) > MOST_MODELS:
        lines.append(("others", *_amounts(dearest[MOST_MODELS:])))
    if len(rows) > 1:
        lines.append(("all", *_amounts(rows)))
    return table(("model", "in", "out", "cost"), lines)


def _by_day(rows: Sequence[UsageRow]) -> str:
    return table(("day", "in", "out", "cost"), [(row.day[5:], *_amounts([row])) for row in rows])


def _amounts(rows: Sequence[UsageRow]) -> tuple[str, str, str]:
    taken = sum(row.input_tokens + row.cache_read_tokens + row.cache_write_tokens for row in rows)
    return tokens(taken), tokens(sum(row.output_tokens for row in rows)), cost(sum(row.cost_usd for row in rows))


# ---------------------------------------------------------------- /export


async def export(context: CommandContext, rest: str) -> None:
    """Send a session as a file."""
    word, others = first_word(rest)
    if word.lower() in FORMATS:
        await _send_export(context, word.lower(), await context.session_id(others))
        return
    session_id = await context.session_id(word)
    await context.say(
        joined(["As which file is ", bold(title(await context.hub.session(session_id).row())), " to be sent?"]),
        [[Choice(name, {"format": name, "session": session_id}) for name in FORMATS]],
        session_id=session_id,
    )


async def export_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    await _send_export(context, str(data.get("format", "markdown")), str(data.get("session", "")))


async def _send_export(context: CommandContext, file_format: str, session_id: str) -> None:
    session = context.hub.session(session_id)
    row = await session.row()
    content = (await session.export(file_format)).encode()
    if len(content) > LARGEST_FILE:
        raise NotSo(
            f"the file would have {len(content) // 1024**2} MB, and a bot may send 50: write "
            f"`handrail export {short_id(row.id)}` where the hub runs, or use the page"
        )
    name = f"session-{short_id(row.id)}.{FORMATS[file_format]}"
    await context.say(_caption(title(row)), attachment=Attachment(name, content), session_id=row.id)


def _caption(name: str) -> RichText:
    return plain("") + bold(name)
