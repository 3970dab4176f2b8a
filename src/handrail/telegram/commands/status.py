"""Commands that say how things are: /status of this chat, /health of everything behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from handrail.errors import HandrailError
from handrail.remote.facts import About
from handrail.remote.records import HostView
from handrail.telegram import projects
from handrail.telegram.commands.context import CommandContext
from handrail.telegram.commands.words import SIGNS, age, ago, shortened, status_words, title
from handrail.telegram.projects import NoProject
from handrail.telegram.show.amounts import cost, count
from handrail.telegram.show.mode_words import PLANMODES
from handrail.telegram.state.chats import Chat
from handrail.telegram.text.rich import EMPTY, RichText, bold, code, joined

__all__ = ["health", "status"]

LONGEST_ERROR: Final = 300
PATIENCE: Final = 5.0
"""For how many seconds the hub is waited for, where it is asked how it is."""
_NOT_AS_USUAL: Final = {
    "away": "is not connected: this is the last that was heard. What runs there goes on",
    "draining": "is being drained: nothing is started there",
}
"""What it means for a session how its host is."""


# ---------------------------------------------------------------- /status


async def status(context: CommandContext, rest: str) -> None:
    """What this chat is about: its session, its project, and how its sessions are run."""
    chat = await context.chat()
    session_id = await context.session_id(rest) if rest or context.replied_session or chat.session_id else ""
    parts = (
        [await _session_words(context, session_id)] if session_id else [joined(["No session yet: write a message."])]
    )
    parts.append(await _project_words(context, chat))
    parts += [joined([line]) for line in _preferences(chat)]
    if waiting := len(await context.sessions.queued(context.place)):
        parts.append(joined([f"{count(waiting, 'message')} waiting: /queue"]))
    await context.say(joined(parts, "\n"), session_id=session_id)


async def _session_words(context: CommandContext, session_id: str) -> RichText:
    session = context.hub.session(session_id)
    row = await session.row()
    asks = len(await session.asks())
    host = next((each for each in await context.hub.hosts() if each.id == row.host), None) if row.host else None
    facts = [
        status_words(row.status),
        f"on {shortened(host.name, 40)}" if host is not None else "",
        ago(context.now() - row.updated_at),
        row.model,
        cost(row.cost_usd) if row.cost_usd else "",
    ]
    said = joined([bold(title(row)), "\n", " · ".join(fact for fact in facts if fact)])
    if host is not None and host.state in _NOT_AS_USUAL:
        said += f"\n⚠ {shortened(host.name, 40)} {_NOT_AS_USUAL[host.state]}"
    if asks:
        said += f"\n{count(asks, 'ask')} waiting for you"
    if row.cli_session_id:
        said += joined(["\n", code(f"claude --resume {row.cli_session_id}")])
    return said


async def _project_words(context: CommandContext, chat: Chat) -> RichText:
    try:
        project = await projects.project_of(context.state, context.place, context.settings)
    except NoProject:
        return joined(["No project yet: /project"])
    branch = joined([" on ", code(f"@{chat.worktree}")]) if chat.worktree else EMPTY
    return joined(["Project: ", code(project.place), branch])


def _preferences(chat: Chat) -> Iterator[str]:
    prefs = chat.prefs
    if prefs.model:
        yield f"Model: {shortened(prefs.model, 60)}"
    if prefs.planmode:
        yield f"Plan mode: {prefs.planmode}, {PLANMODES[prefs.planmode]}"
    if prefs.mode:
        yield f"Mode: {prefs.mode}"
    if prefs.policy:
        yield f"Policy: {prefs.policy}"
    if prefs.budget:
        yield f"Budget of a session: {cost(prefs.budget)}"
    if prefs.queue == "after":
        yield "Messages wait until Claude is done"
    if prefs.verbose:
        yield "All steps are shown"


# ---------------------------------------------------------------- /health


async def health(context: CommandContext, _: str) -> None:
    """How the hub, its machines, Claude Code and the bridge are."""
    lines = [joined([bold("Hub")]), *await _hub_lines(context), joined([bold("Bridge")])]
    lines += [joined([line]) for line in await _bridge_lines(context)]
    await context.say(joined(lines, "\n"))


async def _hub_lines(context: CommandContext) -> list[RichText]:
    hub = context.hub
    try:
        async with asyncio.timeout(PATIENCE):
            about, hosts, counts = await hub.facts.about(), await hub.hosts(), await hub.count()
    except TimeoutError:
        return [joined(["✗ it does not answer"])]
    except HandrailError as error:  # what cannot be reached is what this command is to say
        return [joined([f"✗ {shortened(str(error), LONGEST_ERROR)}"])]
    lines = [f"✓ Handrail {about.version}, up {age(context.now() - about.started_at)}", _claude(about)]
    lines += [_host(host, context.now()) for host in hosts if not host.is_hub]
    live = ", ".join(f"{number} {SIGNS.get(status, (status, status))[1]}" for status, number in sorted(counts.items()))
    return [joined([line]) for line in [*lines, f"Sessions: {live or 'none'}"]]


def _claude(about: About) -> str:
    claude = about.claude
    if not claude.found:
        return "✗ Claude Code was not found on the hub's machine: install it, or set claude.path"
    if claude.logged_in is False:
        return f"✗ Claude Code {claude.version} is not logged in on the hub's machine: run claude there once"
    return f"✓ Claude Code {claude.version}"


def _host(host: HostView, now: float) -> str:
    seen = f", last seen {ago(now - host.last_seen_at)}" if host.last_seen_at and host.state == "away" else ""
    sign = "✓" if host.state == "connected" else "✗"
    runs = "".join(f", Claude Code {shortened(cli.version, 20)}" for cli in host.facts.clis[:1])
    trouble = f"\n⚠ {shortened(host.facts.trouble, LONGEST_ERROR)}" if host.facts.trouble else ""
    return f"{sign} {shortened(host.name, 40)}: {host.state}{seen}, {host.live} live{runs}{trouble}"


async def _bridge_lines(context: CommandContext) -> list[str]:
    bridge, now = context.bridge, context.now()
    backlog = await bridge.backlog()
    lines = [
        f"✓ up {age(now - bridge.started_at)}, by {bridge.poller}",
        f"{'✓' if bridge.hub_connected else '✗'} {'connected to' if bridge.hub_connected else 'cannot reach'} the hub",
        f"{count(backlog, 'message')} to send" if backlog else "✓ everything is sent",
    ]
    resting, refused = await context.state.read(lambda tables: (tables.resting(), tables.problems()))
    if resting:
        lines.append(f"{count(len(resting), 'chat')} cannot be written to: somebody must write there first")
    if refused:
        lines.append(f"Telegram refused {count(len(refused), 'message')}: {shortened(refused[-1][1], LONGEST_ERROR)}")
    if bridge.last_error:
        lines.append(f"Last trouble, {ago(now - bridge.last_error_at)}: {shortened(bridge.last_error, LONGEST_ERROR)}")
    return lines
