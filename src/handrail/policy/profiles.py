"""The built-in profiles: what a policy allows before anybody wrote a rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from handrail.errors import InvalidPolicy
from handrail.wording import did_you_mean

__all__ = [
    "ACTORS",
    "DEFAULT_PROFILE",
    "EDITORS",
    "HARMLESS",
    "PROFILES",
    "READERS",
    "Otherwise",
    "Profile",
    "profile_named",
    "stricter",
]

Otherwise: TypeAlias = Literal["ask", "deny"]

DEFAULT_PROFILE = "careful"

EDITORS = ("Edit", "MultiEdit", "NotebookEdit", "Write")
"""The tools that change files."""

READERS = frozenset(
    {
        "Agent",
        "BashOutput",
        "CronList",
        "Glob",
        "Grep",
        "KillShell",
        "LS",
        "LSP",
        "ListAgents",
        "ListMcpResourcesTool",
        "NotebookRead",
        "Read",
        "ReadMcpResourceTool",
        "ReportFindings",
        "SendMessage",
        "StructuredOutput",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TodoRead",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
    }
)
"""The tools that change nothing: they read, keep Claude's own to-do list, or start, address and end what runs beside
it, whose calls are judged one by one."""

HARMLESS = frozenset(
    {
        "BashOutput",
        "CronList",
        "KillShell",
        "ListAgents",
        "ListMcpResourcesTool",
        "ReportFindings",
        "SendMessage",
        "StructuredOutput",
        "TaskOutput",
        "TaskStop",
        "TodoRead",
        "ToolSearch",
    }
)
"""Those of them that touch nothing but the session itself: every profile allows them."""

ACTORS = frozenset({"CronCreate", "CronDelete", "EnterWorktree", "ExitWorktree", "ScheduleWakeup"})
"""Tools that Claude Code runs without asking though they do something: no profile allows them by itself."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is allowed without a rule of one's own, and what becomes of the rest."""

    name: str
    summary: str
    allow: tuple[str, ...] = ()
    deny_by_settings: tuple[str, ...] = ()
    """What of the profile Claude Code's own settings can say as well."""
    otherwise: Otherwise = "ask"
    reads_only: bool = False
    """Whether what is not a read is denied, whatever a rule, a grant or the mode allows."""
    explained: tuple[str, ...]
    """The profile in full, in words."""


_BASELINE = (
    "Allowed without a rule: reading and searching files inside the project, shell commands that only read "
    "(ls, git status, …), subagents (each of their calls is judged), Claude's own to-do list, and in plan mode the "
    "plan's own file."
)
_MODES = (
    "The session's mode counts: after a plan was approved with “accept edits” (acceptEdits), edits inside the project "
    "are allowed too; bypassPermissions allows what no deny or ask rule names."
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="careful",
            summary="reads inside the project are allowed, everything else asks",
            explained=(_BASELINE, "Everything else asks.", _MODES),
        ),
        Profile(
            name="edits",
            summary="file edits inside the project are allowed too",
            allow=("Edit(**)",),
            explained=(
                _BASELINE,
                "Edit(**) allows Edit, Write and NotebookEdit inside the project. What Claude Code protects, such as "
                ".git, .claude and shell start-up files, still asks.",
                "Everything else asks.",
                _MODES,
            ),
        ),
        Profile(
            name="readonly",
            summary="what is not a read is denied",
            deny_by_settings=EDITORS,
            otherwise="deny",
            reads_only=True,
            explained=(
                _BASELINE,
                "Other reads, such as files outside the project or web pages, ask unless a rule allows them.",
                "Everything else is denied in every mode, bypassPermissions included. Allow rules and grants do not "
                "widen this profile beyond reads.",
            ),
        ),
        Profile(
            name="trusted",
            summary="ten tools run without asking, Bash among them",
            allow=(
                "Bash",
                "BashOutput",
                "Glob",
                "Grep",
                "LS",
                "Read",
                "TodoRead",
                "TodoWrite",
                "WebFetch",
                "WebSearch",
            ),
            explained=(
                "Allowed: exactly these ten tools, with whatever input; Read also outside the project. Bash can do "
                "anything your account can: use this profile where losing the machine's files would not matter.",
                "Claude Code still asks before critical removals and writes to .git and .claude.",
                "Everything else asks: edits, notebooks, MCP tools.",
                _MODES,
            ),
        ),
    )
}

_STRICTER_THAN: Mapping[str, frozenset[str]] = {
    "readonly": frozenset({"careful", "edits", "trusted"}),
    "careful": frozenset({"edits", "trusted"}),
}


def profile_named(name: str) -> Profile:
    """The built-in profile of that name."""
    try:
        return PROFILES[name]
    except KeyError:
        raise InvalidPolicy(f"there is no profile {name!r}{did_you_mean(name, PROFILES)}") from None


def stricter(one: str, other: str) -> bool:
    """Whether the profile `one` allows less than `other`, and nothing more."""
    return other in _STRICTER_THAN.get(one, frozenset())
