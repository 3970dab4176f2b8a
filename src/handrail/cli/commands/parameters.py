"""Arguments and options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from handrail.cli.candidates import session_ids

__all__ = ["JSON", "JSONLines", "Limit", "Prompt", "Session", "Sessions", "Yes", "check_mode", "check_profile"]

Session = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A session: its id or the start of it, Claude Code's id, a pasted claude --resume line, "
        "or @ for the latest one of this directory.",
        autocompletion=session_ids,
    ),
]
Sessions = Annotated[
    list[str], typer.Argument(metavar="ID", help="Sessions, as for handrail show.", autocompletion=session_ids)
]
Prompt = Annotated[
    str | None, typer.Argument(metavar="PROMPT", help="What Claude should do next; with -, standard input is read.")
]
JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
JSONLines = Annotated[bool, typer.Option("--json", help="Write each event as a line of JSON, for programs.")]
Limit = Annotated[
    int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="At most so many; by default 100.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def check_mode(mode: str) -> None:
    """Raise `typer.BadParameter` unless there is this permission mode."""
    from handrail.config.keys import KEYS
    from handrail.wording import did_you_mean

    modes = KEYS["claude.permission_mode"].choices
    if mode not in modes:
        raise typer.BadParameter(f"there is no mode {mode!r}{did_you_mean(mode, modes)}", param_hint="--mode")


def check_profile(profile: str) -> None:
    """Raise `typer.BadParameter` unless there is this policy profile."""
    from handrail.config.keys import KEYS
    from handrail.wording import did_you_mean

    profiles = KEYS["policy.profile"].choices
    if profile not in profiles:
        raise typer.BadParameter(
            f"there is no profile {profile!r}{did_you_mean(profile, profiles)}", param_hint="--policy"
        )
