"""`handrail completion`: what a shell needs so that the Tab key completes commands, sessions and settings."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

__all__ = ["Shell", "completion"]


class Shell(enum.StrEnum):
    """Shells that can be taught."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
    install: Annotated[bool, typer.Option("--install", help="Write it to where the shell looks for it.")] = False,
) -> None:
    """Let the Tab key complete commands, sessions and settings.

    Prints a script for your shell; with --install, puts it into a file and says what is left to do.

    \b
    Examples:
      handrail completion bash --install
      source <(handrail completion zsh)
    """
    from handrail.cli.completion_scripts import installed, script

    if not install:
        typer.echo(script(shell), nl=False)
        return
    path, remark = installed(shell)
    typer.echo(f"written to {path}. {remark}")
