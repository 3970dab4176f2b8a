"""Where commands arrive: lines that were written, buttons that were pressed, and replies to what a command asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.errors import HandrailError
from handrail.telegram.commands.command import Command
from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.parsing import CommandLine
from handrail.telegram.commands.table import TABLE
from handrail.telegram.commands.words import shortened
from handrail.telegram.model import Press, SentMessage
from handrail.telegram.text.rich import bold, joined
from handrail.wording import did_you_mean

__all__ = ["Commands"]

PREFIX: Final = "command:"
LONGEST_REFUSAL: Final = 1000


class Commands:
    """Carries out what the table of commands has. Whatever goes wrong is answered in words."""

    def __init__(self, table: Sequence[Command] = TABLE) -> None:
        self._table = tuple(table)
        self._by_name = {command.name: command for command in table}

    def menu(self) -> list[tuple[str, str]]:
        """Names and words for the menu that Telegram shows."""
        return [(command.name, command.words) for command in self._table]

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
        except HandrailError as error:
            await _refuse(context, error)

    def toast(self, press: Press) -> str:
        """What is said at once when a button is pressed; nothing: the message changes under the finger."""
        return "" if self._of_press(press) is not None else "This button does nothing any more"

    async def pressed(self, context: CommandContext, press: Press) -> None:
        """Carry out what a button stands for."""
        command = self._of_press(press)
        if command is None or command.pressed is None:
            return
        context.command, context.press = command.name, press
        try:
            context.check(command.role, f"/{command.name}")
            await command.pressed(context, press.data)
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
        except HandrailError as error:
            await _refuse(context, error)
        return True

    def _of_press(self, press: Press) -> Command | None:
        return self._by_name.get(press.action.removeprefix(PREFIX)) if press.action.startswith(PREFIX) else None

    async def _unknown(self, context: CommandContext, line: CommandLine) -> None:
        """Say which command is near. It may also be one of Claude Code's own."""
        context.command = "claude"
        near = did_you_mean(line.name, self._by_name)
        near = near if near.startswith(": did") else ": /help lists all of them"
        text = f"/{line.name} {line.rest}".strip()
        await context.say(
            joined(["There is no command ", bold(f"/{line.name}"), f" here{near}"]),
            [[Choice(f"Send it to Claude Code: /{line.name}", {"text": text})]],
        )


async def _refuse(context: CommandContext, error: HandrailError) -> None:
    words = shortened(str(error), LONGEST_REFUSAL)
    said = words[:1].upper() + words[1:] if isinstance(error, NotSo) else words
    await context.say(f"✗ {said}")
