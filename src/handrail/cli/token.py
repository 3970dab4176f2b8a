"""`handrail token`: tokens for programs and browsers, each with a role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.commands.parameters import JSON

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["token"]

token = typer.Typer(
    help="Make, list and revoke tokens of the hub.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is for, such as 'ci'.")]
Role = Annotated[str, typer.Option(metavar="ROLE", help="What it may do: viewer, approver or owner.")]
Days = Annotated[float | None, typer.Option(metavar="N", help="After how many days it expires; by default never.")]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="A token from handrail token ls.")]


@token.command()
def new(ctx: typer.Context, name: Name, role: Role = "viewer", days: Days = None) -> None:
    """Make a token, and print it. It is shown this once: the hub keeps only a hash of it.

    Example: handrail token new ci --role approver --days 30
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected

        async with connected() as hub:
            body = {"name": name, "role": role, "days": days}
            made = await hub.post("/api/tokens", dict[str, Any], body=body)
        place.line(made["token"])
        place.remark("it is shown this once: programs send it as `Authorization: Bearer …`")

    at_work(ctx, work, with_sessions=False)


@token.command("ls")
def list_tokens(ctx: typer.Context, json: JSON = False) -> None:
    """List the tokens, and the browsers that are logged in."""
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected
        from handrail.cli.token_list import token_table

        async with connected() as hub:
            found = await hub.get("/api/tokens", dict[str, Any])
        if json:
            place.json(found["items"])
        elif found["items"]:
            place.print(token_table(found["items"], now=place.now))
        else:
            place.remark("there are no tokens")

    at_work(ctx, work, with_sessions=False)


@token.command()
def revoke(ctx: typer.Context, token_id: TokenId) -> None:
    """Revoke a token: whoever uses it is out at once."""
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected

        async with connected() as hub:
            await hub.act("DELETE", f"/api/tokens/{token_id}")
        place.done(f"token {token_id} is revoked")

    at_work(ctx, work, with_sessions=False)
