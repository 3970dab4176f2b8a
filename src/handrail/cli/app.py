"""The `handrail` command: its options, and the table of its commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from handrail.cli.commands.failures import told_in_words
from handrail.cli.lazy import Entry, LazyGroup

__all__ = ["COMMANDS", "app"]

HERE = "handrail.cli.commands"

RUN = "Run"
SESSIONS = "Sessions"
ASKS = "Asks"
UPKEEP = "Upkeep"
SETTINGS = "Policy & config"
HUB = "Hub"

COMMANDS = (
    Entry("run", "handrail.cli.run:run", "Run Claude Code here: watch what it does, answer what it asks.", RUN),
    Entry("attach", f"{HERE}.attach:attach", "Watch a session live, and answer what it asks.", RUN),
    Entry("send", f"{HERE}.send:send", "Send a message to a session.", RUN),
    Entry("resume", f"{HERE}.resume:resume", "Go on with a session here.", RUN),
    Entry("fork", f"{HERE}.fork:fork", "Go on from a session in a new one; the old one stays as it is.", RUN),
    Entry("interrupt", f"{HERE}.interrupt:interrupt", "Interrupt what a session does now.", RUN),
    Entry("stop", f"{HERE}.stop:stop", "End the Claude Code of a session; it can be resumed.", RUN),
    Entry("ls", f"{HERE}.ls:ls", "List sessions: those that need you first.", SESSIONS),
    Entry("show", f"{HERE}.show:show", "Show what happened in a session.", SESSIONS),
    Entry("search", f"{HERE}.search:search", "Find sessions by their titles and by what was said.", SESSIONS),
    Entry("export", f"{HERE}.export:export", "Write a session as Markdown, HTML or JSON Lines.", SESSIONS),
    Entry("adopt", f"{HERE}.adopt:adopt", "Take over a session of Claude Code's own.", SESSIONS),
    Entry("rename", f"{HERE}.rename:rename", "Give a session another title.", SESSIONS),
    Entry("archive", f"{HERE}.archive:archive", "Take a session off the list, and keep it.", SESSIONS),
    Entry("rm", f"{HERE}.rm:rm", "Delete sessions and everything that was kept of them.", SESSIONS),
    Entry("asks", f"{HERE}.asks:asks", "List what waits for an answer, oldest first.", ASKS),
    Entry("answer", f"{HERE}.answer:answer", "Answer what a session asks.", ASKS),
    Entry("serve", "handrail.cli.serve:serve", "Serve the hub: a page and an API for every session.", HUB),
    Entry("host", "handrail.cli.host:host", "Run sessions here for a hub elsewhere.", HUB),
    Entry("hosts", "handrail.cli.hosts:hosts", "List the hub's hosts; drain or revoke one.", HUB),
    Entry(
        "ingress",
        "handrail.cli.ingress:ingress",
        "Let a Claude Code that you start elsewhere connect to the hub.",
        HUB,
    ),
    Entry("telegram", "handrail.cli.telegram:telegram", "Use the hub from Telegram.", HUB),
    Entry("login", "handrail.cli.login:login", "Print a link that lets a browser into the hub.", HUB),
    Entry("token", "handrail.cli.token:token", "Make, list and revoke tokens of the hub.", HUB),
    Entry("replay", f"{HERE}.replay:replay", "Play a recording.", UPKEEP),
    Entry("backup", f"{HERE}.backup:backup", "Copy all sessions to a file, or bring them back.", UPKEEP),
    Entry("prune", f"{HERE}.prune:prune", "Remove what is kept for longer than it should be.", UPKEEP),
    Entry(
        "doctor",
        "handrail.cli.doctor:doctor",
        "Check what Handrail needs, and say how to mend what is wrong.",
        UPKEEP,
    ),
    Entry("policy", "handrail.cli.policy:policy", "See what Claude may do without asking, and why.", SETTINGS),
    Entry("config", "handrail.cli.config:config", "Read and change Handrail's settings.", SETTINGS),
    Entry(
        "completion",
        "handrail.cli.completion:completion",
        "Let the Tab key complete commands, sessions and settings.",
        SETTINGS,
    ),
    Entry(
        "complete-words",
        "handrail.cli.complete_words:complete_words",
        "Print what could stand at the end of a command line.",
        SETTINGS,
        hidden=True,
    ),
)
"""Every command, in the order and under the headings of `handrail --help`."""


class Commands(LazyGroup):
    """The commands of the table. What goes wrong in any of them is told in words."""

    entries = {entry.name: entry for entry in COMMANDS}  # noqa: RUF012  # declared where it is inherited from

    def invoke(self, ctx: Any) -> Any:
        with told_in_words():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
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
    """Watch every step of Claude Code, steer it, and answer what it asks.

    Example: handrail run "Fix the failing test"
    """
