"""The `handrail` command: its options and its commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

from handrail.cli.policy import policy
from handrail.cli.run import run

__all__ = ["app"]

app = typer.Typer(
    help="Watch every step of Claude Code, steer it, and answer what it asks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import

        typer.echo(f"handrail {version('handrail')}")
        raise typer.Exit


@app.callback()
def handrail(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Watch every step of Claude Code, steer it, and answer what it asks."""


app.command()(run)
app.add_typer(policy, name="policy")
