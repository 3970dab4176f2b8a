"""`handrail run`: Claude Code in this terminal, from a prompt to its answer.

Only the command line is read here. What runs it is imported when it is needed, so that `--help` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handrail.cli.candidates import (
    TRANSPORTS,
    host_wishes,
    models,
    permission_modes,
    policy_profiles,
    session_ids,
    transports,
)
from handrail.cli.commands.parameters import check_mode
from handrail.cli.settings import RunSettings

__all__ = ["run"]

Prompt = Annotated[
    str | None,
    typer.Argument(
        metavar="PROMPT",
        help="What Claude should do. What is piped in is added to it; without it, or with -, that is the prompt.",
    ),
]
Images = Annotated[
    list[str] | None,
    typer.Option("--image", "-i", metavar="FILE", help="Show Claude a picture: png, jpeg, gif or webp. Repeatable."),
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", "-r", metavar="ID", help="Go on with this session.", autocompletion=session_ids),
]
Continue = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the directory's latest session.")]
Fork = Annotated[bool, typer.Option("--fork", help="Go on in a copy; the session itself stays as it is.")]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="The model, such as opus or haiku.", autocompletion=models),
]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        "--permission-mode",
        metavar="MODE",
        help="default (ask), acceptEdits, plan, dontAsk, auto, or bypassPermissions.",
        autocompletion=permission_modes,
    ),
]
PolicyProfile = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="PROFILE",
        help="careful, edits, readonly or trusted: see handrail policy show.",
        autocompletion=policy_profiles,
    ),
]
AllowedTools = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Allow this without asking, such as Read or 'Bash(git log *)'. Repeatable."),
]
MaxBudget = Annotated[
    float | None, typer.Option("--max-budget", "--budget", metavar="USD", help="Ask before spending more than this.")
]
MaxTurns = Annotated[int | None, typer.Option(metavar="N", help="Stop after N rounds of the model.")]
Worktree = Annotated[
    str | None, typer.Option(metavar="NAME", help="Work in a new git worktree, on a branch of that name.")
]
InHub = Annotated[
    bool, typer.Option("--in-hub", help="Run it in the hub (handrail serve), where it goes on without this terminal.")
]
Host = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Run it on this host (handrail hosts): a name, label:WORD, or any for the least busy one.",
        autocompletion=host_wishes,
    ),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="What to call the session in lists.")]
Cwd = Annotated[Path | None, typer.Option(metavar="DIR", help="The project's directory; by default this one.")]
CLI = Annotated[str | None, typer.Option(metavar="PATH", help="The claude to run, if the right one is not found.")]
Transport = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="stdio; or, with Claude Code up to 2.1.120, websocket or hybrid: it connects to an address served here.",
        autocompletion=transports,
    ),
]
UseAPIBilling = Annotated[
    bool,
    typer.Option("--use-api-billing", help="Pass ANTHROPIC_API_KEY on: the key is billed, not your subscription."),
]
Record = Annotated[Path | None, typer.Option(metavar="FILE", help="Write both sides of the traffic to a file.")]
JSON = Annotated[bool, typer.Option("--json", help="Write each event as a line of JSON, for programs.")]
Deltas = Annotated[bool, typer.Option("--deltas", help="With --json: also text as it is written, piece by piece.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show tool output whole, and every kind of event.")]
DemoFlag = Annotated[
    bool,
    typer.Option("--demo", help="Play a built-in session instead. It needs no account and touches nothing of yours."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With --demo: let it answer its own questions.")]


def run(
    prompt: Prompt = None,
    image: Images = None,
    resume: Resume = None,
    continue_: Continue = False,
    fork: Fork = False,
    model: Model = None,
    mode: Mode = None,
    policy: PolicyProfile = None,
    allowed_tools: AllowedTools = None,
    max_budget: MaxBudget = None,
    max_turns: MaxTurns = None,
    worktree: Worktree = None,
    in_hub: InHub = False,
    host: Host = None,
    title: Title = None,
    cwd: Cwd = None,
    cli: CLI = None,
    transport: Transport = None,
    use_api_billing: UseAPIBilling = False,
    record: Record = None,
    json: JSON = False,
    deltas: Deltas = False,
    verbose: Verbose = False,
    demo: DemoFlag = False,
    yes: Yes = False,
) -> None:
    """Run Claude Code here: watch what it does, answer what it asks.

    While it runs, type to steer it: Enter sends. Ctrl-C interrupts the turn, and again ends it. Without a terminal
    nobody is asked: the policy decides, and the rest is denied.

    \b
    Examples:
      handrail run "Fix the failing test"
      git diff | handrail run "Review this change" --policy readonly
      handrail run -c "Now write the tests" --image mockup.png
      handrail run --host build-box --cwd /srv/shop "Fix the failing test"
      handrail run --json "What does this do?" | jq -r 'select(.type == "completed").answer'

    \b
    Exit code:
      0        it went well
      1        the turn ended in an error, or Claude Code died
      2        wrong usage, or it could not start
      3        it went well, but something was denied because nobody could be asked
      130      you stopped it with Ctrl-C
      128 + n  signal n ended it
    """
    settings = RunSettings(
        prompt=prompt or "" if demo else _prompt(prompt),
        images=tuple(map(Path, image or ())),
        model=model,
        mode=mode,
        policy=policy,
        allowed_tools=tuple(allowed_tools or ()),
        max_budget=max_budget,
        max_turns=max_turns,
        cwd=cwd,
        worktree=worktree,
        in_hub=in_hub,
        host=host,
        title=title,
        resume=resume,
        continue_latest=continue_,
        fork=fork,
        cli=cli,
        transport=transport,
        use_api_billing=use_api_billing,
        record=record,
        json=json,
        deltas=deltas,
        verbose=verbose,
        demo=demo,
        yes=yes,
    )
    _check(settings)
    from handrail.cli.wiring import start

    raise typer.Exit(start(settings))


def _check(settings: RunSettings) -> None:
    if settings.mode is not None:
        check_mode(settings.mode)
    _check_transport(settings.transport)
    for hint, wrong, why in _contradictions(settings):
        if wrong:
            raise typer.BadParameter(why, param_hint=hint)


def _check_transport(transport: str | None) -> None:
    kinds = [kind for kind, _ in TRANSPORTS]
    if transport is not None and transport not in kinds:
        raise typer.BadParameter(
            f"there is no transport {transport!r}: it is one of {', '.join(kinds)}", param_hint="--transport"
        )


def _contradictions(settings: RunSettings) -> list[tuple[str, bool, str]]:
    of_a_new_one = settings.worktree is not None
    too_little = settings.max_budget is not None and settings.max_budget <= 0
    return [
        (
            "--demo",
            settings.demo and settings.describes_a_session,
            "the demo has a prompt, a project and a model of its own: leave yours out",
        ),
        (
            "--yes",
            settings.yes and not settings.demo,
            "it is for --demo only; to allow things beforehand, use --allowed-tools, --policy or --mode",
        ),
        ("--deltas", settings.deltas and not settings.json, "it is for --json only"),
        (
            "--resume",
            settings.resume is not None and settings.continue_latest,
            "--resume and --continue name two conversations: choose one",
        ),
        ("--max-budget", too_little, "it is an amount of US dollars above 0; leave it out for no limit"),
        ("--fork", settings.fork and not settings.goes_on, "say which session: with --resume ID, or --continue"),
        ("--in-hub", settings.in_hub and settings.goes_on, "a session that goes on does so in the hub, if one runs"),
        (
            "--in-hub",
            settings.in_hub and settings.needs_this_process,
            "the hub has a Claude Code of its own: leave out --cli, --transport, --record, --max-turns, "
            "--allowed-tools and --use-api-billing",
        ),
        *_contradictions_of_host(settings),
        ("--worktree", of_a_new_one and settings.goes_on, "it is for new sessions: one that goes on stays where it is"),
    ]


def _contradictions_of_host(settings: RunSettings) -> list[tuple[str, bool, str]]:
    if settings.host is None:
        return []
    return [
        ("--host", not settings.host, "say which host: a name of handrail hosts, label:WORD, or any"),
        ("--host", settings.in_hub, "--in-hub means the hub's own machine: choose one of the two"),
        ("--host", settings.goes_on, "a session that goes on does so on the machine that it is on"),
        (
            "--host",
            settings.needs_this_machine,
            "a host has a Claude Code of its own: leave out --cli, --transport, --record and --use-api-billing",
        ),
        (
            "--cwd",
            not settings.names_a_whole_path,
            "say the directory on that machine by its whole path, beginning with / or ~",
        ),
    ]


def _prompt(given: str | None) -> str:
    from handrail.cli.piped import prompt_with_piped_text

    prompt = prompt_with_piped_text(given)
    if not prompt.strip():
        raise typer.BadParameter(
            'say what Claude should do: handrail run "…"; or try handrail run --demo', param_hint="PROMPT"
        )
    return prompt
