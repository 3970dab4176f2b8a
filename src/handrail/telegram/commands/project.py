"""The command /project: bind a chat or a topic to a directory of the hub's machines, and to a git worktree of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.remote.facts import Directories
from handrail.telegram import projects
from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.pages import page_of
from handrail.telegram.commands.parsing import first_word
from handrail.telegram.commands.words import directory, shortened
from handrail.telegram.projects import NoProject, Project
from handrail.telegram.text.rich import RichText, bold, code, joined

__all__ = ["project", "project_pressed"]

MOST_RECENT: Final = 6
NO_BRANCH: Final = frozenset({"@-", "@off", "@none"})


async def project(context: CommandContext, rest: str) -> None:
    """Show the project with others to choose from, or bind the chat to the one that was named."""
    if not rest:
        await _choose(context)
        return
    word, others = first_word(rest)
    if word.lower() == "off":
        await _unbind(context)
        return
    if host := projects.host_alone(word):
        await _browse(context, "", host, 0)
        return
    if not word.startswith("@"):
        await _bind(context, projects.project_at(word, context.settings), others)
        return
    await _branch(context, rest)


async def project_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    match data:
        case {"cwd": str(cwd), "host": str(host)}:
            await _bind(context, Project(cwd=cwd, host=host))
        case {"look": str(path), "host": str(host)}:
            await _browse(context, path, host, data.get("page", 0))
        case {"branch": ""}:
            await _branch(context, "@-")
        case _:
            await _choose(context)


# ---------------------------------------------------------------- binding


async def _bind(context: CommandContext, wanted: Project, branch: str = "") -> None:
    """Bind the chat, once the hub has said that there is such a directory."""
    found = await context.hub.facts.directories(wanted.cwd, host=wanted.host)
    if branch and not branch.startswith("@"):
        raise NotSo(f"a branch is written as @name, such as /project {wanted.place} @fix-login: not {branch!r}")
    await context.sessions.leave(context.place)
    await context.change_chat(cwd=found.path, host=wanted.host, worktree="", session_id="")
    if branch:
        await _branch(context, branch)
        return
    await context.say(await _bound(context))


async def _branch(context: CommandContext, written: str) -> None:
    if written.strip().lower() in NO_BRANCH:
        await context.sessions.leave(context.place)
        await context.change_chat(worktree="", session_id="")
        await context.say(await _bound(context))
        return
    branch, rest = projects.branch_at_start(written, context.bot_username)
    if not branch or rest:
        raise NotSo("a branch is one word of letters, digits, - _ . and /: /project @fix-login")
    chat = await projects.bind_branch(context.hub, context.state, context.settings, context.place, branch)
    if chat.session_id:
        await context.sessions.take(context.hub, context.place, chat.session_id)
    said = await _bound(context)
    said += (
        " It goes on with the session that was last used there."
        if chat.session_id
        else " The next message makes the worktree."
    )
    await context.say(said, session_id=chat.session_id)


async def _unbind(context: CommandContext) -> None:
    await context.sessions.leave(context.place)
    await context.change_chat(cwd="", host="", worktree="", session_id="")
    await context.say("This chat has no project of its own any more.")


async def _bound(context: CommandContext) -> RichText:
    bound = await projects.project_of(context.state, context.place, context.settings)
    branch = (await context.chat()).worktree
    here = "topic" if context.place.thread else "chat"
    said = joined([f"This {here} works in ", code(bound.place), f" ({bound.name})" if bound.name else ""])
    return said + (joined([", on the branch ", code(f"@{branch}"), "."]) if branch else ".")


# ---------------------------------------------------------------- choosing


async def _choose(context: CommandContext) -> None:
    """The project of the chat, those with names, those that were used lately, and the way to all others."""
    try:
        said = await _bound(context) + "\n"
    except NoProject:
        said = joined(["This chat has no project yet: choose one, then write what Claude is to do.\n"])
    looked = await context.hub.facts.directories()
    named = projects.named_projects(context.settings)
    known = {each.place for each in named.values()}
    recent = [each.path for each in looked.recent if each.path not in known][:MOST_RECENT]
    buttons = [[_choice(f"{name} · {directory(each.cwd)}", each)] for name, each in named.items()]
    buttons += [[_choice(directory(path), Project(cwd=path))] for path in recent]
    buttons.append([Choice("Other directories…", {"look": "", "host": ""})])
    buttons += await _other_machines(context)
    if (await context.chat()).worktree:
        buttons.append([Choice("Leave the branch", {"branch": ""})])
    await context.say(said + "Which project does it work in?", buttons)


def _choice(text: str, wanted: Project) -> Choice:
    return Choice(text, {"cwd": wanted.cwd, "host": wanted.host})


async def _other_machines(context: CommandContext) -> list[list[Choice]]:
    hosts = [host for host in await context.hub.hosts() if not host.is_hub and host.state == "connected"]
    return [[Choice(f"On {shortened(host.name, 30)}…", {"look": "", "host": host.name})] for host in hosts]


async def _browse(context: CommandContext, path: str, host: str, page_number: Any) -> None:
    """The directories in a directory: each can be looked into, and this one chosen."""
    looked = await context.hub.facts.directories(path, host=host)
    page = page_of(looked.items, page_number)
    buttons = [
        [Choice(f"{'◆ ' if each.git else ''}{shortened(each.name, 40)}", {"look": each.path, "host": host})]
        for each in page.items
    ]
    here = {"look": looked.path, "host": host}
    buttons.append(page.turning(here, before="‹ Before", behind="More ›"))
    buttons.append([_choice(f"✓ Work in {directory(looked.path)}", Project(cwd=looked.path, host=host))])
    buttons.append(_upwards(looked, host))
    await context.say(
        joined(
            [
                bold(Project(cwd=looked.path, host=host).place),
                "\nLook into a directory, or work in this one. ◆ has a repository.",
            ]
        ),
        buttons,
    )


def _upwards(looked: Directories, host: str) -> list[Choice]:
    if looked.parent is not None:
        return [Choice("↑ Up", {"look": looked.parent, "host": host})]
    others = [root for root in looked.roots if root != looked.path]
    roots = [Choice(f"↑ {directory(root)}", {"look": root, "host": host}) for root in others[:3]]
    return [*roots, Choice("‹ Back", {})]
