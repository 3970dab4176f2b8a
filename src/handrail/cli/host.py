"""`handrail host`: this machine runs sessions for a hub elsewhere. Only the command line is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["host"]

host = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Hub = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The hub, such as wss://hub.example.org; by default the one it was enrolled at."),
]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What the hub calls this machine.")]
Code = Annotated[
    str | None, typer.Option(metavar="CODE", help="The code of handrail host enrol: only needed the first time.")
]
Roots = Annotated[
    list[str] | None,
    typer.Option("--root", metavar="DIR", help="Let sessions be started in DIR and below it. Repeatable; default: ~."),
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="WORD", help="A word by which sessions find it. Repeatable.")
]
Capacity = Annotated[int | None, typer.Option(metavar="N", min=1, help="Run at most N sessions at once.")]
EnrolledName = Annotated[str | None, typer.Option(metavar="NAME", help="What the hub is to call the machine.")]


@host.callback()
def run_host(
    ctx: typer.Context,
    hub: Hub = None,
    name: Name = None,
    code: Code = None,
    root: Roots = None,
    label: Labels = None,
    capacity: Capacity = None,
) -> None:
    """Run sessions here for a hub elsewhere.

    It dials the hub, so it works behind a firewall. Sessions, their journals and policies live here, and go on while
    the hub is away. Ctrl-C lets what runs finish for a while, then ends it; twice ends it at once. The settings
    [host] say the same as the options, and which profiles and modes the hub may choose.

    \b
    Examples:
      handrail host enrol                    (where the hub runs: prints a code)
      handrail host --hub wss://hub.example.org --name build-box --code CODE --root ~/src
      handrail host                          (from then on)
    """
    if ctx.invoked_subcommand is not None:
        return
    from handrail.cli.hosting.running import start
    from handrail.cli.hosting.settings import GivenHost

    given = GivenHost(
        hub=hub,
        name=name,
        code=code,
        roots=tuple(root) if root else None,
        labels=tuple(label) if label else None,
        capacity=capacity,
    )
    raise typer.Exit(start(given))


@host.command()
def enrol(ctx: typer.Context, name: EnrolledName = None) -> None:
    """Print the command that lets another machine in.

    The hub is that of this machine, or the one that HANDRAIL_HUB names. The code works once, within ten minutes.

    Example: handrail host enrol --name build-box
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hosting.enrolling import offered
        from handrail.cli.hosting.settings import check_name

        if name is not None:
            check_name(name)
        await offered(place, name)

    at_work(ctx, work, with_sessions=False)
