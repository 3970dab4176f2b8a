"""`handrail hosts`: the machines that run sessions for the hub. Only the command line is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.candidates import host_names
from handrail.cli.commands.parameters import JSON, Yes

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["hosts"]

hosts = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

All = Annotated[bool, typer.Option("--all", "-a", help="Revoked ones, too.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A host from handrail hosts: its name or its id.", autocompletion=host_names),
]


@hosts.callback()
def list_hosts(ctx: typer.Context, all_: All = False, json: JSON = False) -> None:
    """List the hub's hosts; drain or revoke one.

    Hosts are the machines that run sessions for a hub. The hub is that of this machine, or the one that HANDRAIL_HUB
    names.

    \b
    Examples:
      handrail hosts
      handrail hosts drain build-box
      handrail run --host build-box "Fix the failing test"
    """
    if ctx.invoked_subcommand is not None:
        return
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hosting.host_list import host_page
        from handrail.cli.hosting.hub_hosts import all_hosts

        found = await all_hosts(revoked=all_)
        if json:
            place.json(found)
            return
        place.print(host_page(found, now=place.now))
        if all(host.is_hub for host in found):
            place.remark("no other machine runs sessions for this hub yet: handrail host enrol lets one in")

    at_work(ctx, work, with_sessions=False)


@hosts.command()
def drain(ctx: typer.Context, name: Name) -> None:
    """Start no more sessions on a host.

    What runs there goes on to its end, and sessions that do nothing are ended: for maintenance, wait until handrail
    hosts shows that none is live. They can be resumed.

    Example: handrail hosts drain build-box
    """
    _set_draining(ctx, name, on=True)


@hosts.command()
def undrain(ctx: typer.Context, name: Name) -> None:
    """Start sessions on a host again."""
    _set_draining(ctx, name, on=False)


def _set_draining(ctx: typer.Context, name: str, *, on: bool) -> None:
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hosting.host_list import drained_words
        from handrail.cli.hosting.hub_hosts import set_draining

        place.done(drained_words(await set_draining(name, on=on), on=on))

    at_work(ctx, work, with_sessions=False)


@hosts.command()
def revoke(ctx: typer.Context, name: Name, yes: Yes = False) -> None:
    """Cut a host off: take its key away.

    What runs there may finish for a while, and the hub hears no more of it. Its sessions can still be read. To come
    back, it has to be enrolled anew.

    Example: handrail hosts revoke old-laptop --yes
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int | None:
        from handrail.cli.commands.failures import ExitCode
        from handrail.cli.hosting.host_list import revoking_words
        from handrail.cli.hosting.hub_hosts import one_host, revoke_host

        found = await one_host(name)
        if not place.confirmed(f"{revoking_words(found)} Take its key away?", yes=yes):
            place.remark("nothing was changed")
            return ExitCode.FAILED
        await revoke_host(found)
        place.done(f"{found.name} is revoked")
        return None

    at_work(ctx, work, with_sessions=False)
