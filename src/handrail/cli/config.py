"""`handrail config`: read and change Handrail's settings.

Only the command line is read here. What does the work is imported when it is needed, so that `--help` stays quick.
"""

from __future__ import annotations

from typing import Annotated

import typer

from handrail.cli.candidates import config_keys, config_values

__all__ = ["config"]

config = typer.Typer(
    help="Read and change Handrail's settings.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Name = Annotated[
    str, typer.Argument(metavar="KEY", help="Such as claude.model.", autocompletion=config_keys, show_default=False)
]
Values = Annotated[
    list[str],
    typer.Argument(metavar="VALUE...", help="TOML, or plain text. Several make a list.", autocompletion=config_values),
]
JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]


@config.command("list")
def list_(json: JSON = False) -> None:
    """Show every setting: its value, and where it comes from."""
    from handrail.cli.config_commands import Desk

    Desk.here().list(as_json=json)


@config.command()
def get(key: Name, json: JSON = False) -> None:
    """Print one setting.

    \b
    Example:
      handrail config get claude.model

    Exit code: 0, 1 if it is not set and has no default, 2 if there is no such setting.
    """
    from handrail.cli.config_commands import Desk

    raise typer.Exit(Desk.here().get(key, as_json=json))


@config.command(context_settings={"ignore_unknown_options": True})
def set(key: Name, values: Values) -> None:
    """Change one setting in the file. Nothing is written unless it is valid.

    \b
    Examples:
      handrail config set claude.model sonnet
      handrail config set claude.allowed_tools Read 'Bash(git log *)'
      handrail config set limits.daily_budget_usd 20
      handrail config set claude.env.LANG C.UTF-8
    """
    from handrail.cli.config_commands import Desk

    Desk.here().set(key, values)


@config.command()
def unset(key: Name) -> None:
    """Take a setting out of the file, so that its default holds."""
    from handrail.cli.config_commands import Desk

    Desk.here().unset(key)


@config.command()
def edit() -> None:
    """Open the settings in your editor ($VISUAL or $EDITOR).

    You edit a copy, which takes the file's place once it is valid.
    """
    from handrail.cli.config_commands import Desk

    raise typer.Exit(Desk.here().edit())


@config.command()
def path() -> None:
    """Print where the settings are. The file need not exist."""
    from handrail.cli.config_commands import Desk

    Desk.here().path()
