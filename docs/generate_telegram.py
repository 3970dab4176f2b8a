"""Writes reference/telegram.md from the table of the bot's commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from handrail.telegram.commands.command import Command
from handrail.telegram.commands.table import TABLE
from handrail.telegram.show.mode_words import PLANMODES

PAGE = Path(__file__).parent / "reference" / "telegram.md"

HEAD = """\
# Commands in Telegram

<!-- Written by docs/generate_telegram.py: change the table in handrail/telegram/commands, then run that. -->

What can be written to the bot. A message that is none of these goes to Claude: it starts a session in the chat's
project, or goes on with the chat's session. A reply to a message of the bot goes to the session that it speaks of; so
does a message with a line `claude --resume ID`. `@branch` at the start of a message works in the git worktree of that
branch, which the chat stays with.

What is chosen holds for the chat, or for the topic, in which it was chosen. In groups, `/command@name_of_the_bot` is
always for this bot. `/command` alone is, where the chat or topic has a project of its own or had a session, and nobody
replies to another bot with it; one that is none of these is left to others there.

Each command needs a role, as everywhere at the hub: a **viewer** sees what goes on, an **approver** also answers and
writes to sessions, an **owner** also starts and ends them, and says how they run.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *overview(), *(line for command in TABLE for line in section(command)), *plan_modes(), ""])


def overview() -> Iterator[str]:
    yield "| command | | role |"
    yield "|---|---|---|"
    for command in TABLE:
        yield f"| [`/{command.name}`](#{command.name}) | {command.words} | {command.role} |"


def section(command: Command) -> Iterator[str]:
    yield f"\n## /{command.name}\n"
    yield f"{command.words[0].upper()}{command.words[1:]}. Needs the role {command.role}.\n"
    yield "| written | |"
    yield "|---|---|"
    for form, words in command.forms:
        yield f"| `{form}` | {words} |"
    if command.more:
        yield f"\n{command.more}"


def plan_modes() -> Iterator[str]:
    yield "\n## Plan modes\n"
    for name, words in PLANMODES.items():
        yield f"- `{name}`: {words}"
    yield (
        "\nWith `auto` the bridge approves each plan at once, in the name of whoever chose it; the mode that holds "
        "afterwards is that of `/mode`, else `default`. A plan is never approved by a policy."
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
