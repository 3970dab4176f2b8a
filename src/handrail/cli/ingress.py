"""`handrail ingress`: let a Claude Code that somebody starts elsewhere connect to the hub by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.candidates import models, permission_modes, policy_profiles, session_ids
from handrail.cli.commands.parameters import JSON, check_mode, check_profile

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.remote.connection import HubConnection

__all__ = ["ingress"]

ingress = typer.Typer(
    help="Let a Claude Code that you start elsewhere connect to the hub.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Title = Annotated[str | None, typer.Option(metavar="TEXT", help="What to call the session in lists.")]
Hybrid = Annotated[bool, typer.Option("--hybrid", help="It sends by HTTP, and only receives on the socket.")]
Cwd = Annotated[str | None, typer.Option(metavar="DIR", help="The directory it will run in, for lists.")]
Model = Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="The model.", autocompletion=models)]
Mode = Annotated[
    str | None,
    typer.Option("--mode", metavar="MODE", help="The permission mode it starts in.", autocompletion=permission_modes),
]
PolicyProfile = Annotated[
    str | None,
    typer.Option("--policy", metavar="PROFILE", help="As for handrail run.", autocompletion=policy_profiles),
]
MaxBudget = Annotated[
    float | None, typer.Option("--max-budget", "--budget", metavar="USD", help="Ask before spending more than this.")
]
AsVariable = Annotated[
    bool,
    typer.Option(
        "--token-as-variable",
        help="For shells other than bash, zsh and ksh. Everything that Claude runs can read the token then.",
    ),
]
Session = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A session from handrail ingress ls: its id or the start of it.",
        autocompletion=session_ids,
    ),
]


@ingress.command()
def new(
    ctx: typer.Context,
    title: Title = None,
    hybrid: Hybrid = False,
    cwd: Cwd = None,
    model: Model = None,
    mode: Mode = None,
    policy: PolicyProfile = None,
    max_budget: MaxBudget = None,
    token_as_variable: AsVariable = False,
    json: JSON = False,
) -> None:
    """Make an address and a token for one session, and print the line that starts its Claude Code.

    Paste the line where Claude Code is to run: another machine, a container. It works with Claude Code up to 2.1.120;
    newer ones connect to their vendor only: run handrail host there instead.

    The line has the token in it, which is a secret, and is shown this once.

    Example: handrail ingress new --title "nightly build"
    """
    if mode is not None:
        check_mode(mode)
    if policy is not None:
        check_profile(policy)
    wanted = {
        "title": title,
        "transport": "hybrid" if hybrid else "websocket",
        "cwd": cwd,
        "model": model,
        "mode": mode,
        "policy": policy,
        "budget": max_budget,
    }
    body = {name: value for name, value in wanted.items() if value is not None}
    _print_line(ctx, "/api/ingress", body, as_variable=token_as_variable, json=json)


@ingress.command()
def renew(ctx: typer.Context, session: Session, token_as_variable: AsVariable = False, json: JSON = False) -> None:
    """Make another token for a session, and print the line again. The one it had ends at once."""
    _print_line(ctx, "/api/ingress/{}/token", None, session=session, as_variable=token_as_variable, json=json)


@ingress.command("ls")
def list_ingresses(ctx: typer.Context, json: JSON = False) -> None:
    """List the sessions whose Claude Code connects by itself."""
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected
        from handrail.cli.ingress_view import ingress_table

        async with connected() as hub:
            found = await hub.get("/api/ingress", dict[str, Any])
        if json:
            place.json(found["items"])
        elif found["items"]:
            place.print(ingress_table(found["items"], now=place.now))
        else:
            place.remark("there are none: handrail ingress new makes one")

    at_work(ctx, work, with_sessions=False)


@ingress.command()
def revoke(ctx: typer.Context, session: Session) -> None:
    """Revoke the token of a session: its Claude Code is told to end, and cannot connect again."""
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected

        async with connected() as hub:
            found = await _found(hub, session)
            await hub.act("DELETE", f"/api/ingress/{found}")
        place.done(f"the token of session {found[:8]} is revoked")

    at_work(ctx, work, with_sessions=False)


async def _found(hub: HubConnection, reference: str) -> str:
    """The id of the session that is meant. Raises `SessionError`."""
    from handrail.cli.ingress_view import id_meant

    return id_meant(reference, (await hub.get("/api/ingress", dict[str, Any]))["items"])


def _print_line(
    ctx: typer.Context,
    path: str,
    body: dict[str, Any] | None,
    *,
    session: str | None = None,
    as_variable: bool,
    json: bool,
) -> None:
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected
        from handrail.cli.ingress_view import line_of, remarks_on
        from handrail.cli.showing.style import NEEDS_YOU

        async with connected() as hub:
            at = path if session is None else path.format(await _found(hub, session))
            made = await hub.post(at, dict[str, Any], body=body)
        if json:
            place.json(made)
            return
        place.line(line_of(made, as_variable=as_variable))
        for remark in remarks_on(made, as_variable=as_variable):
            place.remark(remark, NEEDS_YOU)

    at_work(ctx, work, with_sessions=False)
