"""`handrail run`: one turn in the terminal.

Only the command line is read here. What runs it is imported when it is needed, so that `--help` stays quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from handrail.cli.settings import RunSettings

__all__ = ["run"]

Prompt = Annotated[
    str | None,
    typer.Argument(metavar="PROMPT", help="What Claude should do. Without it, or with -, standard input is read."),
]
Model = Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="The model, such as opus or haiku.")]
PermissionMode = Annotated[
    str,
    typer.Option(
        metavar="MODE",
        help="default (ask), acceptEdits, plan, dontAsk, auto, or bypassPermissions.",
    ),
]
AllowedTools = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Allow this without asking, such as Read or 'Bash(git log *)'. Repeatable."),
]
PolicyProfile = Annotated[
    str | None,
    typer.Option("--policy", metavar="PROFILE", help="careful, edits, readonly or trusted: see handrail policy show."),
]
Budget = Annotated[float | None, typer.Option(metavar="USD", help="Ask before spending more than this.")]
Cwd = Annotated[Path | None, typer.Option(metavar="DIR", help="The project's directory; by default this one.")]
Resume = Annotated[str | None, typer.Option("--resume", "-r", metavar="ID", help="Go on with this session.")]
Continue = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the directory's latest session.")]
MaxTurns = Annotated[int | None, typer.Option(metavar="N", help="Stop after N rounds of the model.")]
CLI = Annotated[str | None, typer.Option(metavar="PATH", help="The claude to run, if the right one is not found.")]
UseAPIBilling = Annotated[
    bool,
    typer.Option("--use-api-billing", help="Pass ANTHROPIC_API_KEY on: the key is billed, not your subscription."),
]
Record = Annotated[Path | None, typer.Option(metavar="FILE", help="Write both sides of the traffic to a file.")]
JSON = Annotated[bool, typer.Option("--json", help="Write each frame as a line of JSON, for programs.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show tool output whole, and every kind of frame.")]
DemoFlag = Annotated[
    bool,
    typer.Option("--demo", help="Play a built-in session instead. It needs no account and touches nothing of yours."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With --demo: let it answer its own questions.")]


def run(
    prompt: Prompt = None,
    model: Model = None,
    permission_mode: PermissionMode = "default",
    policy: PolicyProfile = None,
    allowed_tools: AllowedTools = None,
    budget: Budget = None,
    cwd: Cwd = None,
    resume: Resume = None,
    continue_: Continue = False,
    max_turns: MaxTurns = None,
    cli: CLI = None,
    use_api_billing: UseAPIBilling = False,
    record: Record = None,
    json: JSON = False,
    verbose: Verbose = False,
    demo: DemoFlag = False,
    yes: Yes = False,
) -> None:
    """Run one turn of Claude Code here: watch what it does, and answer what it asks.

    Exit code: 0 if it went well, 1 if the turn ended in an error, 2 if it could not start, 130 after Ctrl-C.
    """
    settings = RunSettings(
        prompt=prompt or "" if demo else _read_prompt(prompt),
        model=model,
        permission_mode=permission_mode,
        policy=policy,
        allowed_tools=tuple(allowed_tools or ()),
        budget=budget,
        cwd=cwd,
        resume=resume,
        continue_conversation=continue_,
        max_turns=max_turns,
        cli=cli,
        use_api_billing=use_api_billing,
        record=record,
        json=json,
        verbose=verbose,
        demo=demo,
        yes=yes,
    )
    _check(settings)
    from handrail.cli.wiring import start

    raise typer.Exit(start(settings))


def _check(settings: RunSettings) -> None:
    if settings.demo and settings.describes_a_session:
        raise typer.BadParameter(
            "the demo has a prompt, a project and a model of its own: leave yours out", param_hint="--demo"
        )
    if settings.yes and not settings.demo:
        raise typer.BadParameter(
            "it is for --demo only; to allow things beforehand, use --allowed-tools or --permission-mode",
            param_hint="--yes",
        )


def _read_prompt(prompt: str | None) -> str:
    if prompt == "-" or (prompt is None and sys.stdin is not None and not sys.stdin.isatty()):
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""
    if prompt is None or not prompt.strip():
        raise typer.BadParameter(
            'say what Claude should do: handrail run "…"; or try handrail run --demo', param_hint="PROMPT"
        )
    return prompt
