"""Where commands arrive: lines that were written, buttons that were pressed, and replies to what a command asked."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from handrail.errors import HandrailError, StoreError
from handrail.remote.errors import HubUnreachable
from handrail.telegram.commands.command import Command
from handrail.telegram.commands.context import Choice, CommandContext, NotSo, lacking, may
from handrail.telegram.commands.parsing import CommandLine
from handrail.telegram.commands.table import TABLE
from handrail.telegram.commands.words import shortened
from handrail.telegram.model import Press, SentMessage, User
from handrail.telegram.projects import NoProject
from handrail.telegram.show.notices import explained
from handrail.telegram.text.rich import bold, joined

__all__ = ["Commands"]

PREFIX: Final = "command:"
LONGEST_REFUSAL: Final = 1000
PASSING: Final = (HubUnreachable, StoreError)
WRITTEN_FOR_CHATS: Final = (NotSo, NoProject)
"""Errors that say themselves what to write."""


class Commands:
    """Carries out what the table of commands has. What goes wrong is answered in words.

    Only what passes is raised: the hub cannot be reached, or a store not be used. Done again, a command is done once.
    """

    def __init__(self, table: Sequence[Command] = TABLE) -> None:
        self._table = tuple(table)
        self._by_name = {command.name: command for command in table}

    def menu(self) -> list[tuple[str, str]]:
        """Names and words for the menu that Telegram shows."""
        return [(command.name, command.words) for command in self._table]

    def knows(self, name: str) -> bool:
        """Whether there is such a command."""
        return name in self._by_name

    async def run(self, context: CommandContext, line: CommandLine) -> None:
        """Carry out a command as it was written."""
        command = self._by_name.get(line.name)
        if command is None:
            await self._unknown(context, line)
            return
        context.command = command.name
        try:
            context.check(command.role, f"/{command.name}")
            await command.run(context, line.rest)
        except PASSING:
            raise
        except HandrailError as error:
            await _refuse(context, error)

    def toast(self, press: Press, user: User) -> str:
        """What is said at once when a button is pressed; nothing: the message changes under the finger."""
        command = self._of_press(press)
        if command is None:
            return "This button does nothing any more"
        return "" if may(user, command.role) else lacking(user, command.role, f"/{command.name}")

    async def pressed(self, context: CommandContext, press: Press) -> None:
        """Carry out what a button stands for, unless the toast said already that this person may not."""
        command = self._of_press(press)
        if command is None or command.pressed is None or not may(context.user, command.role):
            return
        context.command, context.press = command.name, press
        try:
            await command.pressed(context, press.data)
        except PASSING:
            raise
        except HandrailError as error:
            # In a group, others may still press what this person may not: the message with the buttons stays.
            context.press = None
            await _refuse(context, error)

    async def replied(self, context: CommandContext, sent: SentMessage, text: str) -> bool:
        """Carry out a reply to what a command asked; False if it was no answer to one."""
        name, _, purpose = sent.purpose.removeprefix(PREFIX).partition(":")
        command = self._by_name.get(name) if sent.purpose.startswith(PREFIX) else None
        if command is None or command.replied is None:
            return False
        context.command = command.name
        try:
            context.check(command.role, f"/{command.name}")
            await command.replied(context, purpose, text)
        except PASSING:
            raise
        except HandrailError as error:
            await _refuse(context, error)
        return True

    def _of_press(self, press: Press) -> Command | None:
        return self._by_name.get(press.action.removeprefix(PREFIX)) if press.action.startswith(PREFIX) else None

    async def _unknown(self, context: CommandContext, line: CommandLine) -> None:
        """Say which command is near. It may also be one of Claude Code's own."""
        context.command = "claude"
        near = get_close_matches(line.name, self._by_name, n=1)
        hint = f": did you mean /{near[0]}?" if near else ": /help lists all of them"
        text = f"/{line.name} {line.rest}".strip()
        await context.say(
            joined(["There is no command ", bold(f"/{line.name}"), f" here{hint}"]),
            [[Choice(f"Send it to Claude Code: /{line.name}", {"text": text})]],
        )


async def _refuse(context: CommandContext, error: HandrailError) -> None:
    if not isinstance(error, WRITTEN_FOR_CHATS):
        await context.say(explained(error))
        return
    words = shortened(str(error), LONGEST_REFUSAL)
    await context.say(f"✗ {words[:1].upper()}{words[1:]}")
