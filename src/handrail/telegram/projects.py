"""Projects of chats: which directory of which machine a chat works in, and which git worktree of it.

A chat is bound to a project with `/project`; a topic that is bound to none has that of its group. `@branch` at the
start of a message is a worktree of the project: a branch of its own, which the chat stays with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.errors import HandrailError
from handrail.remote.hub import Hub
from handrail.store.base import SessionFilter, SessionRow
from handrail.telegram.model import Place
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state.chats import Chat

if TYPE_CHECKING:
    from handrail.telegram.state import BridgeState, Tables

__all__ = [
    "NoProject",
    "Project",
    "bind_branch",
    "branch_at_start",
    "host_alone",
    "host_id",
    "host_names",
    "named_projects",
    "project_at",
    "project_of",
    "session_of_branch",
    "worktree_name",
    "worktree_of",
]

_BRANCH: Final = re.compile(r"@(?P<branch>[A-Za-z0-9][A-Za-z0-9._/-]{0,79})(?=\s|\Z)")
_LOOKED_THROUGH: Final = 500
"""How many sessions are looked at for the one of a worktree."""


class NoProject(HandrailError):
    """The chat has no directory to work in; the message says how it gets one."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A directory to work in; `host` is empty for the hub's own machine."""

    cwd: str
    host: str = ""
    name: str = ""

    @property
    def place(self) -> str:
        """As people write it."""
        return f"{self.host}:{self.cwd}" if self.host else self.cwd


# ---------------------------------------------------------------- branches


def branch_at_start(text: str, bot_username: str = "") -> tuple[str, str]:
    """The branch that a message begins with (`@fix-login do it`), and the rest; an empty branch if there is none."""
    found = _BRANCH.match(text.lstrip())
    if found is None or found["branch"].lower() == bot_username.lower():
        return "", text
    return found["branch"], text.lstrip()[found.end() :].lstrip()


def worktree_name(branch: str) -> str:
    """What the worktree of a branch is called: a name without slashes."""
    return branch.strip("/").replace("/", "-")


def worktree_of(row: SessionRow) -> Mapping[str, Any]:
    """The worktree that a session was given; empty if it has none."""
    found = msgspec.json.decode(row.settings or b"{}")
    return (found.get("worktree") or {}) if isinstance(found, dict) else {}


async def session_of_branch(hub: Hub, project: Project, branch: str) -> SessionRow | None:
    """The session that was last used in the worktree of this branch of the project."""
    name = worktree_name(branch)
    which = SessionFilter(archived=None, host=await host_id(hub, project.host))
    for row in await hub.list(which, limit=_LOOKED_THROUGH):
        if _is_of(worktree_of(row), project, name):
            return row
    return None


async def host_names(hub: Hub, rows: Iterable[SessionRow]) -> dict[str, str]:
    """How the hosts are called, by their ids, as far as these sessions need them."""
    return {host.id: host.name for host in await hub.hosts()} if any(row.host for row in rows) else {}


async def host_id(hub: Hub, name: str) -> str:
    """The id of a host, by which its sessions are kept; empty for the hub's own machine."""
    known = {host.name: host.id for host in await hub.hosts()} if name else {}
    return known.get(name, name)


def _is_of(worktree: Mapping[str, Any], project: Project, name: str) -> bool:
    repository = str(worktree.get("repository", ""))
    inside = bool(repository) and f"{project.cwd}/".startswith(f"{repository.rstrip('/')}/")
    return inside and str(worktree.get("branch", "")).rpartition("/")[2] == name


async def bind_branch(hub: Hub, state: BridgeState, settings: TelegramSettings, place: Place, branch: str) -> Chat:
    """Have a chat work in the worktree of a branch from now on, with the session that was last used there.

    Without such a session, the next message starts one, and makes the worktree.
    """
    project = await project_of(state, place, settings)
    found = await session_of_branch(hub, project, branch)

    def bind(tables: Tables) -> Chat:
        before = tables.chat(place)
        chat = msgspec.structs.replace(
            before,
            cwd=project.cwd,
            host=project.host,
            worktree=worktree_name(branch),
            session_id=found.id if found is not None else "",
        )
        tables.set_chat(chat)
        return chat

    return await state.write(bind)


# ---------------------------------------------------------------- projects


def named_projects(settings: TelegramSettings) -> dict[str, Project]:
    """The projects that the settings name."""
    return {name: _located(where, name) for name, where in settings.projects.items()}


def project_at(written: str, settings: TelegramSettings) -> Project:
    """The project that somebody means by its name, its directory, or `host:/directory`. Raises `NoProject`."""
    known = named_projects(settings)
    by_name = {name.lower(): project for name, project in known.items()}
    if written.lower() in by_name:
        return by_name[written.lower()]
    project = _located(written)
    if project.cwd.startswith(("/", "~")):
        return project
    names = ", ".join(sorted(known))
    raise NoProject(
        f"there is no project {written!r}: write /project and choose one, or give a whole path such as /srv/shop, "
        "or build-box:/srv/shop on a host" + (f"; these have names: {names}" if names else "")
    )


def host_alone(written: str) -> str:
    """The host that somebody names without a directory (`build-box:`); empty if it is something else."""
    host, colon, rest = written.partition(":")
    return host if colon and not rest and "/" not in host else ""


async def project_of(state: BridgeState, place: Place, settings: TelegramSettings) -> Project:
    """The project of a chat: its own, else that of the group, else the one of the settings. Raises `NoProject`."""
    known = {project.place: project for project in named_projects(settings).values()}
    both = await state.read(lambda tables: (tables.chat(place), tables.chat(Place(place.chat))))
    for chat in both:
        if chat.cwd:
            project = Project(cwd=chat.cwd, host=chat.host)
            return known.get(project.place, project)
    if settings.cwd:
        return project_at(settings.cwd, settings)
    if len(known) == 1:
        return next(iter(known.values()))
    raise NoProject("this chat has no project yet: choose one with /project")


def _located(where: str, name: str = "") -> Project:
    host, colon, cwd = where.partition(":")
    if colon and "/" not in host and cwd.startswith(("/", "~")):
        return Project(cwd=cwd, host=host, name=name)
    return Project(cwd=where, name=name)
