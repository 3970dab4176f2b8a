"""`handrail policy`: see what is allowed and why, try rules on recorded sessions, trust a project's policy.

Only the command line is read here. What does the work is imported when it is needed, so that `--help` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["policy"]

policy = typer.Typer(
    help="See what Claude may do without asking, and why.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Cwd = Annotated[
    Path, typer.Option(metavar="DIR", show_default=False, help="The project's directory; by default this one.")
]
Profile = Annotated[
    str | None, typer.Option("--profile", "-p", metavar="NAME", help="careful, edits, readonly or trusted.")
]
Mode = Annotated[str, typer.Option("--mode", metavar="MODE", help="The session's permission mode.")]
JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Recordings = Annotated[list[Path], typer.Argument(metavar="RECORDING", help="Files written by handrail run --record.")]
Directory = Annotated[
    Path, typer.Argument(metavar="DIR", show_default=False, help="The project's directory; by default this one.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
HERE = Path()


@policy.command()
def show(profile: Profile = None, cwd: Cwd = HERE, json: JSON = False) -> None:
    """Show a project's policy: each rule, and where it comes from."""
    from handrail.cli.policy_commands import in_words

    raise typer.Exit(in_words(lambda desk: desk.show(cwd, profile, as_json=json)))


@policy.command()
def explain(
    call: Annotated[str, typer.Argument(metavar="CALL", help="A call, such as 'Bash(git push)', or a tool's name.")],
    argument: Annotated[
        str | None, typer.Argument(metavar="ARGUMENT", help="What the tool is given: a command, a path, a URL.")
    ] = None,
    given: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="The tool's whole input, as JSON.")
    ] = None,
    mode: Mode = "default",
    profile: Profile = None,
    cwd: Cwd = HERE,
    json: JSON = False,
) -> None:
    """Say what becomes of a call, which rule decides, and why."""
    from handrail.cli.policy_commands import in_words

    raise typer.Exit(in_words(lambda desk: desk.explain(call, argument, given, mode, cwd, profile, as_json=json)))


@policy.command()
def check(recordings: Recordings, profile: Profile = None, cwd: Cwd = HERE, json: JSON = False) -> None:
    """Replay recorded sessions: what would be allowed, asked, denied.

    Says for each call what differs from what was answered then.
    """
    from handrail.cli.policy_commands import in_words

    raise typer.Exit(in_words(lambda desk: desk.check(recordings, cwd, profile, as_json=json)))


@policy.command()
def suggest(
    recordings: Recordings,
    profile: Profile = None,
    cwd: Cwd = HERE,
    write: Annotated[bool, typer.Option("--write", help="Add the rules to the policy for all your projects.")] = False,
    project: Annotated[bool, typer.Option("--project", help="With --write: to this project's policy instead.")] = False,
    yes: Yes = False,
    json: JSON = False,
) -> None:
    """Propose rules that would have saved asks.

    None is wider than what was approved.
    """
    if project and not write:
        raise typer.BadParameter("it says where --write writes: add --write", param_hint="--project")
    from handrail.cli.policy_commands import in_words

    target = ("project" if project else "global") if write else None
    raise typer.Exit(in_words(lambda desk: desk.suggest(recordings, cwd, profile, target, yes=yes, as_json=json)))


@policy.command()
def trust(directory: Directory = HERE, yes: Yes = False) -> None:
    """Let a project's policy file allow things, as it is now.

    Until then, and again as soon as it changes, it can only tighten.
    """
    from handrail.cli.policy_commands import in_words

    raise typer.Exit(in_words(lambda desk: desk.trust(directory, yes=yes)))


@policy.command()
def untrust(directory: Directory = HERE) -> None:
    """Let a project's policy file only tighten again."""
    from handrail.cli.policy_commands import in_words

    raise typer.Exit(in_words(lambda desk: desk.untrust(directory)))


@policy.command()
def revoke(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule, as `handrail policy show` prints it.")],
    cwd: Cwd = HERE,
) -> None:
    """Take back what was allowed for good when answering an ask."""
    from handrail.cli.policy_commands import in_words

    raise typer.Exit(in_words(lambda desk: desk.revoke(rule, cwd)))
