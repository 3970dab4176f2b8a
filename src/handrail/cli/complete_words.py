"""`handrail complete-words`: what could follow on a command line. Scripts of shells call it; people need not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

__all__ = ["candidates", "complete_words"]


def complete_words(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="The words so far, the last unfinished.")] = None,
) -> None:
    """Print what could stand at the end of a command line."""
    for value, about in candidates(ctx.find_root().command, words or [""]):
        typer.echo(f"{value}\t{about}")


def candidates(root: Any, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the last of `words` could become, each with a few words about it."""
    # Shells disagree about whether --option=value is one word, two or three.
    *before, unfinished = [part for word in words for part in _split(word)]
    if unfinished == "=":
        unfinished = ""
    line = _Line(root, [word for word in before if word != "="])
    if (option := line.option_waiting) is not None:
        yield from line.values_of(option, unfinished)
    elif unfinished.startswith("-") and not line.options_ended:
        yield from line.options(unfinished)
    elif isinstance(line.command, TyperGroup):
        yield from _commands(line.command, unfinished)
    elif (argument := line.next_argument) is not None:
        yield from line.values_of(argument, unfinished)


def _split(word: str) -> list[str]:
    name, equals, value = word.partition("=")
    return [name, value] if equals and name.startswith("--") else [word]


def _commands(group: TyperGroup, unfinished: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if name.startswith(unfinished) and not command.hidden:
            yield name, (command.help or "").strip().partition("\n")[0]


class _Given(NamedTuple):
    """What stands on the line for a command."""

    options: list[Any]
    arguments: list[str]
    waiting: Any
    """The option whose value would come next."""
    ended: bool


class _Line:
    """A command line up to the unfinished word: which command, and what was given to it."""

    def __init__(self, root: Any, words: Sequence[str]) -> None:
        self.command = root
        own: list[str] = []
        for word in words:
            if isinstance(self.command, TyperGroup) and not word.startswith("-"):
                self.command = _inner(self.command, word)
                own = []
            else:
                own.append(word)
        self._given = _given(self.command, own)

    @property
    def option_waiting(self) -> Any:
        return self._given.waiting

    @property
    def options_ended(self) -> bool:
        return self._given.ended

    @property
    def next_argument(self) -> Any:
        arguments = [each for each in self.command.params if isinstance(each, TyperArgument)]
        position = len(self._given.arguments)
        if position < len(arguments):
            return arguments[position]
        return arguments[-1] if arguments and arguments[-1].nargs == -1 else None

    def options(self, unfinished: str) -> Iterator[tuple[str, str]]:
        for option in self.command.params:
            if isinstance(option, TyperOption) and (option.multiple or option not in self._given.options):
                for name in option.opts:
                    if name.startswith(unfinished) and (name.startswith("--") or unfinished == name):
                        yield name, option.help or ""
        if "--help".startswith(unfinished):
            yield "--help", "Show this message and exit."

    def values_of(self, parameter: Any, unfinished: str) -> Iterator[tuple[str, str]]:
        ctx = typer.Context(self.command, resilient_parsing=True)
        arguments = [each for each in self.command.params if isinstance(each, TyperArgument)]
        ctx.params = {each.name: given for each, given in zip(arguments, self._given.arguments, strict=False)}
        for item in parameter.shell_complete(ctx, unfinished):
            yield item.value, item.help or ""


def _inner(group: TyperGroup, name: str) -> Any:
    if name not in group.commands:
        return typer.core.TyperCommand(name)  # nothing is known about it, so nothing follows
    _, command, _ = group.resolve_command(typer.Context(group, resilient_parsing=True), [name])
    return command


def _given(command: Any, words: Sequence[str]) -> _Given:
    by_name = {name: each for each in command.params if isinstance(each, TyperOption) for name in each.opts}
    options: list[Any] = []
    arguments: list[str] = []
    waiting: Any = None
    ended = False
    for word in words:
        if waiting is not None:
            waiting = None
        elif ended or not word.startswith("-") or word == "-":
            arguments.append(word)
        elif word == "--":
            ended = True
        elif option := by_name.get(word):
            options.append(option)
            waiting = None if option.is_flag else option
    return _Given(options, arguments, waiting, ended)
