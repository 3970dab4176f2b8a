"""`handrail login`: a link that lets a browser into the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["login"]

Role = Annotated[str, typer.Option(metavar="ROLE", help="What the browser may do: owner, approver or viewer.")]
Name = Annotated[str, typer.Option(metavar="TEXT", help="What to call the browser in lists, such as 'my phone'.")]
Qr = Annotated[bool, typer.Option("--qr", help="Also draw a code for a phone to scan.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser of this machine.")]


def login(ctx: typer.Context, role: Role = "owner", name: Name = "", qr: Qr = False, open_: Open = False) -> None:
    """Print a link that lets a browser into the hub.

    It is for the hub that runs here, and works once, within five minutes.

    Example: handrail login --role approver --name "my phone" --qr
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.hub_connection import connected
        from handrail.cli.serving.announcing import open_page, qr_code

        async with connected() as hub:
            made = await hub.post("/api/logins", dict[str, Any], body={"role": role, "name": name})
        place.line(made["link"])
        if qr:
            place.line(qr_code(made["link"]))
        if open_ and not open_page(made["link"]):
            place.remark("there is no browser here that could be opened")

    at_work(ctx, work, with_sessions=False)
