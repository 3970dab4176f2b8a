"""Commands that begin, go on with, and end sessions: /new, /continue, /stop, /interrupt, /cancel, /claude."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from handrail.errors import SessionNotLive
from handrail.events.resume import find_resume_token
from handrail.sessions.session import Session
from handrail.store.base import SessionFilter
from handrail.telegram import projects
from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.parsing import first_word
from handrail.telegram.commands.words import ago, directory, title
from handrail.telegram.projects import Project
from handrail.telegram.text.rich import bold, code, joined

__all__ = [
    "cancel",
    "claude",
    "claude_pressed",
    "continue_session",
    "interrupt",
    "named_session",
    "new",
    "stop",
    "stop_pressed",
]

_ID: Final = re.compile(r"[0-9A-Fa-f]{8}[0-9A-Fa-f-]*")


# ---------------------------------------------------------------- beginning and going on


async def new(context: CommandContext, rest: str) -> None:
    """Start a session with these words, or with the next message."""
    branch, text = projects.branch_at_start(rest, context.bot_username)
    if branch:
        await projects.bind_branch(context.hub, context.state, context.settings, context.place, branch)
    await context.sessions.leave(context.place)
    project = await projects.project_of(context.state, context.place, context.settings)
    if said := await context.said(text):
        await context.sessions.start(context.hub, context.place, said, message_id=context.message_id)
        return
    await context.say(joined(["Your next message starts a new session in ", *_where(project, await _branch(context))]))


async def _branch(context: CommandContext) -> str:
    return (await context.chat()).worktree


def _where(project: Project, branch: str) -> list[Any]:
    parts: list[Any] = [bold(project.name or directory(project.cwd))]
    if project.host:
        parts += [" on ", bold(project.host)]
    if branch:
        parts += [", on the branch ", code(f"@{branch}")]
    return [*parts, "."]


async def continue_session(context: CommandContext, rest: str) -> None:
    """Go on with a session: the one that was named, else the last one of the project, also one of the terminal."""
    branch, rest = projects.branch_at_start(rest, context.bot_username)
    if branch:
        context.check("owner", "choosing a branch")
        await projects.bind_branch(context.hub, context.state, context.settings, context.place, branch)
    reference, text = named_session(rest)
    session = await (context.named_session(reference) if reference else _latest(context))
    await context.sessions.take(context.hub, context.place, session.id)
    if said := await context.said(text):
        await context.sessions.send(
            context.hub, context.place, said, message_id=context.message_id, session_id=session.id
        )
        return
    row = await session.row()
    await context.say(
        joined(["This chat goes on with ", bold(title(row)), f" ({ago(context.now() - row.updated_at)}). Write on."]),
        session_id=row.id,
    )


def named_session(text: str) -> tuple[str, str]:
    """The session that a text names first, by an id or a whole resume line, and the rest; "" if it names none."""
    line, _, following = text.partition("\n")
    if token := find_resume_token(line):
        return token, following.strip()
    word, rest = first_word(text)
    return (word, rest) if _ID.fullmatch(word) else ("", text)


async def _latest(context: CommandContext) -> Session:
    """The session of the chat's project that was used last, whether the hub ran it or somebody in a terminal."""
    project = await projects.project_of(context.state, context.place, context.settings)
    if branch := await _branch(context):
        if found := await projects.session_of_branch(context.hub, project, branch):
            return context.hub.session(found.id)
        raise NotSo(f"nothing was done on @{branch} yet: write a message to begin")
    host = await projects.host_id(context.hub, project.host)
    rows = await context.hub.list(SessionFilter(cwd=project.cwd, host=host), limit=1)
    terminal = [] if project.host else await context.hub.adoptable(project.cwd, unknown_only=True)
    newest = max(terminal, key=lambda each: each.updated_at, default=None)
    if newest is not None and (not rows or newest.updated_at > rows[0].updated_at):
        return await context.hub.adopt(newest.session_id)
    if not rows:
        raise NotSo(f"there is no session in {project.place} yet: write a message to begin, or see /sessions all")
    return context.hub.session(rows[0].id)


# ---------------------------------------------------------------- ending


async def stop(context: CommandContext, rest: str) -> None:
    """End a session's Claude Code; all of them after a further look."""
    if rest.lower() == "all":
        await context.say(
            "This ends every session that runs, on all machines of the hub, whoever started it.",
            [[Choice("Stop all of them", {"stop": "all"}, "danger"), Choice("Keep them", {"stop": ""})]],
        )
        return
    session = await context.session(rest)
    row = await session.row()
    if not await session.is_live():
        await context.say(joined([bold(title(row)), " does not run. A message starts it again."]), session_id=row.id)
        return
    await session.stop()
    await context.say(joined(["Stopped ", bold(title(row)), ". A message starts it again."]), session_id=row.id)


async def stop_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    if data.get("stop") != "all":
        await context.say("Nothing was stopped.")
        return
    number = await context.hub.stop_all()
    await context.say(f"Stopped {number} session{'' if number == 1 else 's'}.")


async def interrupt(context: CommandContext, rest: str) -> None:
    """Stop what Claude does now. The session goes on."""
    session = await context.session(rest)
    row = await session.row()
    if row.status not in ("running", "needs_you"):
        await context.say(joined([bold(title(row)), " does nothing now."]), session_id=row.id)
        return
    await session.interrupt()
    await context.say(
        joined(["Interrupted ", bold(title(row)), ". Write what it should do instead."]), session_id=row.id
    )


async def cancel(context: CommandContext, _: str) -> None:
    """Give up what this chat has under way: messages that wait, and what Claude does now."""
    waiting = await context.sessions.queued(context.place)
    taken = [await context.sessions.take_back(context.hub, context.place, each.uuid) for each in waiting]
    chat = await context.chat()
    interrupted = await _interrupted(context, context.replied_session or chat.session_id)
    done = [words for words, holds in ((_taken_back(sum(taken)), any(taken)), ("interrupted", interrupted)) if holds]
    await context.say(f"Cancelled: {', '.join(done)}." if done else "There is nothing to cancel.")


async def _interrupted(context: CommandContext, session_id: str) -> bool:
    if not session_id:
        return False
    session = context.hub.session(session_id)
    if (await session.row()).status not in ("running", "needs_you"):
        return False
    try:
        await session.interrupt()
    except SessionNotLive:
        return False
    return True


def _taken_back(number: int) -> str:
    return f"{number} waiting message{'' if number == 1 else 's'} taken back"


# ---------------------------------------------------------------- commands of Claude Code's own


async def claude(context: CommandContext, rest: str) -> None:
    """Send a slash command to Claude Code as it is."""
    if not rest:
        raise NotSo("write the command of Claude Code's behind it: /claude /compact")
    text = rest if rest.startswith("/") else f"/{rest}"
    await context.sessions.send(
        context.hub,
        context.place,
        text,
        message_id=context.message_id,
        session_id=await context.session_id(),
        when="steer",
    )


async def claude_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    text = str(data.get("text", ""))
    await claude(context, text)
    await context.say(
        joined(["Sent to Claude Code: ", code(first_word(text)[0])]), session_id=await context.session_id()
    )
