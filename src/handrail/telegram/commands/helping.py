"""Commands that explain: /start and /help, from the table of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from handrail.telegram.commands.command import Command
from handrail.telegram.commands.context import CommandContext, NotSo, may
from handrail.telegram.model import Role, User
from handrail.telegram.text.rich import RichText, bold, code, joined, plain
from handrail.wording import did_you_mean

__all__ = ["greeting", "help_on", "overview"]


GREETINGS: Final[Mapping[Role, str]] = {
    "owner": "Write what Claude is to do: that starts a session in this chat's project, and your next messages go on "
    "with it. What Claude asks comes here with buttons; a reply to any message goes to the session that it speaks of."
    "\n\n/project chooses where to work, /sessions what to go on with, /help lists everything.",
    "approver": "/sessions chooses a session: your messages go to that one, and what Claude asks in it comes here with "
    "buttons. /inbox on brings what any session asks. /help lists everything.",
    "viewer": "/watch shows here what a session does, /sessions lists them, /help lists everything.",
}


def greeting(context: CommandContext) -> RichText:
    """The first words to somebody."""
    return joined([f"Hello {context.user.name}. ", GREETINGS[context.user.role]])


def overview(context: CommandContext, table: Sequence[Command]) -> RichText:
    """All commands that this person may use, a line each."""
    usable = [command for command in table if may(context.user, command.role)]
    lines = [joined([f"/{command.name}  ", command.words]) for command in usable]
    heading = joined([bold("Commands"), " (", code("/help NAME"), " says more of one)"])
    return joined([heading, *lines, "", _of_messages(context.user)], "\n")


def _of_messages(user: User) -> RichText:
    """What becomes of a message that is no command."""
    if not may(user, "owner"):
        return plain("A message goes to the chat's session." if may(user, "approver") else "You see what goes on.")
    others = plain("A message starts a session or goes on with it. ") + code("@branch")
    return others + " at its start works in the git worktree of that name."


def help_on(name: str, table: Sequence[Command]) -> RichText:
    """All that there is to say of one command. Raises `NotSo`."""
    wanted = name.strip().lstrip("/").lower()
    found = next((command for command in table if command.name == wanted), None)
    if found is None:
        raise NotSo(f"there is no command /{wanted}{did_you_mean(wanted, (command.name for command in table))}")
    forms = [joined([code(form), f"  {words}"]) for form, words in found.forms]
    needs = f"Needs the role {found.role}." if found.role != "viewer" else ""
    parts = [joined([bold(f"/{found.name}"), f": {found.words}"]), *forms]
    parts += [joined([text]) for text in (found.more, needs) if text]
    return joined(parts, "\n")
