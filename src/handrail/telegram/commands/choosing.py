"""Commands that choose among sessions: /sessions and /watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from handrail.errors import SessionNotFound
from handrail.sessions.adoption import Adoptable
from handrail.store.base import SessionFilter, SessionRow
from handrail.telegram import projects
from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.pages import page_of
from handrail.telegram.commands.parsing import first_word
from handrail.telegram.commands.words import SIGNS, ago, directory, machine, short_id, shortened, status_words, title
from handrail.telegram.projects import NoProject, Project
from handrail.telegram.text.rich import RichText, bold, joined
from handrail.telegram.text.safe import line

__all__ = ["sessions", "sessions_pressed", "watch", "watch_pressed"]

MOST_LISTED: Final = 400
WATCHABLE: Final = 6
TERMINAL: Final = "terminal"
LONGEST_SEARCH: Final = 100
"""More characters than this nobody looks for; the hub takes a few more."""


# ---------------------------------------------------------------- /sessions


class Which(msgspec.Struct, frozen=True):
    """Which sessions are listed: those of the chat's project, or all; with these words in their titles."""

    scope: str = "project"
    words: str = ""


async def sessions(context: CommandContext, rest: str) -> None:
    """List sessions, to go on with one of them."""
    word, others = first_word(rest)
    if word.lower() == TERMINAL:
        await _list_of_terminals(context, 0)
        return
    which = Which("all", others) if word.lower() == "all" else Which("all" if rest else "project", rest)
    await _list(context, which, 0)


async def sessions_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    match data:
        case {"session": str(session_id)}:
            context.check("approver", "going on with a session")
            await _take(context, session_id)
            return
        case {"adopt": str(conversation)}:
            context.check("owner", "taking over a session of a terminal")
            await _take(context, (await context.hub.adopt(conversation)).id)
            return
        case {"scope": "terminal"}:
            await _list_of_terminals(context, data.get("page", 0))
            return
    await _list(context, Which(str(data.get("scope", "all")), str(data.get("words", ""))), data.get("page", 0))


async def _list(context: CommandContext, which: Which, page_number: Any) -> None:
    wanted, where = await _filter(context, which)
    rows = await context.hub.list(wanted, limit=MOST_LISTED)
    page = page_of(rows, page_number)
    now, current = context.now(), (await context.chat()).session_id
    # In the heading of a project stands where it is.
    names = {} if where else await projects.host_names(context.hub, page.items)
    buttons = [[Choice(_label(row, now, current, names), {"session": row.id})] for row in page.items]
    data = {"scope": which.scope, "words": which.words}
    buttons.append(page.turning(data))
    if where:
        buttons.append([Choice("All projects", {"scope": "all"}), Choice("Of terminals", {"scope": TERMINAL})])
    await context.say(_heading(which, where, len(rows)), buttons)


async def _list_of_terminals(context: CommandContext, page_number: Any) -> None:
    """Sessions that Claude Code itself keeps on the hub's machine, of whoever ran it there."""
    kept = await context.hub.adoptable(unknown_only=True)
    page = page_of(sorted(kept, key=lambda each: -each.updated_at), page_number)
    buttons = [[Choice(_label_of_terminal(each, context.now()), {"adopt": each.session_id})] for each in page.items]
    buttons.append(page.turning({"scope": TERMINAL}))
    said = "Sessions of terminals, the latest first. Which one does this chat go on with?"
    await context.say(said if kept else "There are no sessions of terminals on the hub's machine.", buttons)


def _label_of_terminal(each: Adoptable, now: float) -> str:
    name = shortened(each.title, 30) or short_id(each.session_id)
    return f"{name} · {directory(each.cwd)} · {ago(now - each.updated_at)}"


async def _filter(context: CommandContext, which: Which) -> tuple[SessionFilter, str]:
    """What to list, and the words for where, if it is one project."""
    if which.scope != "project":
        return SessionFilter(text=which.words[:LONGEST_SEARCH]), ""
    try:
        project = await projects.project_of(context.state, context.place, context.settings)
    except NoProject:
        return SessionFilter(text=which.words[:LONGEST_SEARCH]), ""
    host = await projects.host_id(context.hub, project.host)
    branch = (await context.chat()).worktree
    of_branch = await projects.session_of_branch(context.hub, project, branch) if branch else None
    cwd = of_branch.cwd if of_branch is not None else project.cwd
    return SessionFilter(cwd=cwd, host=host, text=which.words[:LONGEST_SEARCH]), _where(project, branch)


def _where(project: Project, branch: str) -> str:
    on_host = f"{shortened(project.host, 30)}:" if project.host else ""
    return (project.name or f"{on_host}{directory(project.cwd)}") + (f" @{branch}" if branch else "")


def _heading(which: Which, where: str, number: int) -> RichText:
    of_these = f" with “{line(which.words, LONGEST_SEARCH)}”" if which.words else ""
    inside = f" in {where}" if where else ""
    if not number:
        return joined([f"There are no sessions{of_these}{inside} yet."])
    return joined([bold(f"Sessions{of_these}{inside}"), ", the latest first. Which one does this chat go on with?"])


def _label(row: SessionRow, now: float, current: str, names: Mapping[str, str]) -> str:
    sign, _ = SIGNS.get(row.status, ("·", ""))
    here = " (here)" if row.id == current else ""
    on_host = f" · {machine(row, names)}" if names and row.host else ""
    return f"{sign} {title(row, 40 - len(on_host))}{here}{on_host} · {ago(now - row.updated_at)}"


async def _take(context: CommandContext, session_id: str) -> None:
    row = await context.hub.session(session_id).row()
    await context.sessions.take(context.hub, context.place, row.id)
    on_host = machine(row, await projects.host_names(context.hub, [row]))
    where = f"{on_host}:{directory(row.cwd)}" if on_host else directory(row.cwd)
    facts = f"\n{status_words(row.status)} · {where} · {ago(context.now() - row.updated_at)}"
    await context.say(joined(["This chat goes on with ", bold(title(row)), facts]), session_id=row.id)


# ---------------------------------------------------------------- /watch


async def watch(context: CommandContext, rest: str) -> None:
    """See here what happens in other sessions, too."""
    word, others = first_word(rest)
    if not word:
        await _watched(context)
    elif word.lower() == "off":
        await _unwatch(context, others)
    else:
        mode = _mode(others)
        await _watch(context, (await context.named_session(word)).id, mode)


def _mode(word: str) -> Literal["all", "asks"]:
    if word.lower() not in ("", "all", "asks"):
        raise NotSo("write /watch ID to see everything of a session here, or /watch ID asks for what it asks only")
    return "asks" if word.lower() == "asks" else "all"


async def _watch(context: CommandContext, session_id: str, mode: Literal["all", "asks"]) -> None:
    row = await context.hub.session(session_id).row()
    await context.sessions.watch(context.hub, context.place, row.id, mode)
    what = "What it asks is shown here" if mode == "asks" else "What happens there is shown here"
    await context.say(
        joined(["Watching ", bold(title(row)), f". {what}; reply to it to answer there."]), session_id=row.id
    )


async def _unwatch(context: CommandContext, reference: str) -> None:
    watched = await _watched_ids(context)
    wanted = [(await context.named_session(reference)).id] if reference else watched
    for session_id in wanted:
        if session_id in watched:
            await context.sessions.unwatch(context.place, session_id)
    await context.say("It is not watched here any more." if reference else "No other session is watched here any more.")


async def _watched_ids(context: CommandContext) -> list[str]:
    follows = await context.state.read(lambda tables: tables.follows(place=context.place))
    own = (await context.chat()).session_id
    return [follow.session_id for follow in follows if follow.session_id != own]


async def _watched(context: CommandContext) -> None:
    """What is watched here, with buttons to end it and to watch others."""
    watched = await _watched_ids(context)
    known = [row for row in [await _row(context, each) for each in watched] if row is not None]
    others = await _others(context, {*watched, (await context.chat()).session_id})
    buttons = [[Choice(f"✓ {title(row, 40)}", {"off": row.id})] for row in known]
    buttons += [[Choice(f"Watch {title(row, 40)}", {"on": row.id})] for row in others]
    text = (
        "Sessions that are watched here are marked. Press one to change that."
        if known or others
        else ("There is no other session to watch.")
    )
    await context.say(text, buttons)


async def _row(context: CommandContext, session_id: str) -> SessionRow | None:
    try:
        return await context.hub.session(session_id).row()
    except SessionNotFound:
        return None


async def _others(context: CommandContext, known: set[str]) -> Sequence[SessionRow]:
    rows = await context.hub.list(limit=WATCHABLE + len(known))
    return [row for row in rows if row.id not in known][:WATCHABLE]


async def watch_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    if turned_on := data.get("on"):
        await context.sessions.watch(context.hub, context.place, str(turned_on), "all")
    if turned_off := data.get("off"):
        await context.sessions.unwatch(context.place, str(turned_off))
    await _watched(context)
