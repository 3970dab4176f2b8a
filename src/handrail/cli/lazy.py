"""Commands that are imported when they are called: `handrail --help` needs only their names and help lines.

The table of commands says where each one lives. A command is a function, as `app.command()` takes it, or a `Typer`
with commands of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

__all__ = ["HELP_NAMES", "Entry", "LazyGroup", "lazy_group"]

HELP_NAMES = ("-h", "--help")
"""For the `help_option_names` of the app."""

_TYPE = re.compile(r" <[\w\[\]|]+>$")


class Entry(NamedTuple):
    """A command's line in `handrail --help`, and where the command is."""

    name: str
    where: str
    """Its module and its name there: `handrail.cli.run:run`."""
    help: str
    """The first line of its docstring, or of its `Typer`'s help."""
    section: str = "Commands"
    """The heading under which it is listed."""
    hidden: bool = False

    def load(self) -> TyperCommand | TyperGroup:
        """Import it, and make the command of it."""
        module, _, attribute = self.where.partition(":")
        found = getattr(import_module(module), attribute)
        command: Any = get_command(found if isinstance(found, typer.Typer) else _app_of(found, self.name))
        command.name = self.name
        command.hidden = self.hidden
        _spare_checks(command)
        _leave_types_out(command)
        return command  # type: ignore[no-any-return]  # a group or a command, as the annotation of Typer does not say


def _app_of(function: Any, name: str) -> typer.Typer:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(name)(function)
    return app


class LazyGroup(TyperGroup):
    """A group whose commands are in a table: make one with `lazy_group`."""

    entries: ClassVar[Mapping[str, Entry]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _spare_checks(self)
        for entry in self.entries.values():
            # Stands in for the command where only its name and its help line are wanted.
            self.commands[entry.name] = TyperCommand(
                entry.name, help=entry.help, hidden=entry.hidden, rich_markup_mode=None
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.entries[name].load() if name and name in self.entries else command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections = self._sections(ctx)
        # Every line starts its text in one column, whatever its section.
        width = max((len(name) for names in sections.values() for name in names), default=0)
        for section, names in sections.items():
            rows = [(name.ljust(width), self.commands[name].help or "") for name in names]
            with formatter.section(section):
                formatter.write_dl(rows)

    def _sections(self, ctx: Any) -> dict[str, list[str]]:
        sections: dict[str, list[str]] = {}
        for name in self.list_commands(ctx):
            if not self.commands[name].hidden:
                section = self.entries[name].section if name in self.entries else "Commands"
                sections.setdefault(section, []).append(name)
        return sections


def lazy_group(entries: Iterable[Entry]) -> type[LazyGroup]:
    """The class for `typer.Typer(cls=...)` whose commands are these."""
    table = {entry.name: entry for entry in entries}
    return type("Commands", (LazyGroup,), {"entries": table})


# ---------------------------------------------------------------- help that needs no types


def _leave_types_out(command: Any) -> None:
    """Let the help of an argument do without its type in Python, which tells a person nothing."""
    for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
        _leave_types_out(inner)
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            _leave_type_out(parameter)


def _leave_type_out(parameter: Any) -> None:
    made = parameter.get_help_record

    def get_help_record(ctx: Any) -> tuple[str, str] | None:
        record = made(ctx)
        return None if record is None else (_TYPE.sub("", record[0]), record[1])

    parameter.get_help_record = get_help_record


# ---------------------------------------------------------------- values that need no check


def _spare_checks(command: Any) -> None:
    """Let values that are right as they are pass unchecked.

    Typer checks every value with pydantic, also one that is missing and plain text. To import pydantic takes longer
    than everything else that a short command does.
    """
    for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
        _spare_checks(inner)
    help_option = command.get_help_option(typer.Context(command, help_option_names=list(HELP_NAMES)))
    for parameter in (*command.params, help_option):
        if isinstance(parameter, TyperArgument | TyperOption):
            _spare_check(parameter)


def _spare_check(parameter: Any) -> None:
    checked = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        if not _right_as_it_is(parameter, value):
            return checked(ctx, value)
        if value is None and (parameter.multiple or parameter.nargs == -1):
            value = ()
        return parameter.callback(ctx, parameter, value) if parameter.callback else value

    parameter.process_value = process_value


def _right_as_it_is(parameter: Any, value: Any) -> bool:
    if value is None:
        return not parameter.required
    wanted = getattr(parameter, "type_descriptor", None)
    if wanted is None or wanted.parameter_info.parser is not None:
        return False
    if wanted.annotation == list[str]:
        return isinstance(value, list | tuple) and len(value) > 0
    # A Path that needs no conversion is a default of ours, not something that was typed.
    return wanted.annotation in (bool, str, Path) and isinstance(value, wanted.annotation)
