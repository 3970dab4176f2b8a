"""`handrail telegram`: the bridge to Telegram. Only the command line is read here."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

__all__ = ["telegram"]

telegram = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ApiUrl = Annotated[
    str | None, typer.Option("--api-url", metavar="URL", help="A Bot API server of your own, instead of Telegram's.")
]
RoleOption = Annotated[
    Literal["viewer", "approver", "owner"] | None, typer.Option(help="What they may do, without being asked.")
]
UserId = Annotated[
    int | None,
    typer.Option("--user", metavar="NUMBER", min=1, help="Let in whom Telegram knows by this number, without a code."),
]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What they are called in the hub.")]
NewBot = Annotated[bool, typer.Option("--new-bot", help="Ask for the token of another bot.")]
Seconds = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=1, help="How long the code is good.")]
JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Offline = Annotated[bool, typer.Option("--offline", help="Do not ask Telegram.")]


@telegram.callback()
def run_telegram(ctx: typer.Context) -> None:
    """Use the hub from Telegram.

    Without a command, this runs the bridge alone: for the hub of this machine, or for the one that HANDRAIL_HUB and
    HANDRAIL_TOKEN name (the token must be an owner's). It is not needed beside handrail serve, which runs the bridge
    itself once it is set up.

    \b
    Examples:
      handrail telegram setup
      handrail telegram status
      HANDRAIL_HUB=https://hub.example.org HANDRAIL_TOKEN=hr_... handrail telegram
    """
    if ctx.invoked_subcommand is not None:
        return
    from handrail.cli.telegramming.running import start

    raise typer.Exit(start())


@telegram.command()
def setup(
    api_url: ApiUrl = None,
    role: RoleOption = None,
    user: UserId = None,
    name: Name = None,
    new_bot: NewBot = False,
    timeout: Seconds = 600,
) -> None:
    """Connect a bot of yours with the hub, and let somebody use it.

    It asks for the bot's token, shows a code, and waits for somebody to send that to the bot: who does may use it. Run
    it again to let in somebody else. Without a terminal, the token is read from standard input, or from
    HANDRAIL_TELEGRAM_TOKEN.

    \b
    Examples:
      handrail telegram setup
      handrail telegram setup --role approver
      handrail telegram setup --user 123456789 --name Ann
    """
    from handrail.cli.telegramming.setup import GivenSetup, start

    given = GivenSetup(api_url=api_url, role=role, user=user, name=name, new_bot=new_bot, seconds=timeout)
    raise typer.Exit(start(given))


@telegram.command()
def status(offline: Offline = False, json: JSON = False) -> None:
    """Show the bot, who may use it, and whether it runs.

    Exit code: 0 if it is set up and runs, else 1.
    """
    from handrail.cli.telegramming.status import start

    raise typer.Exit(start(offline=offline, as_json=json))
