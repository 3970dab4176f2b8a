"""`handrail doctor`: what is wrong, and the command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from handrail.cli.checkup.finding import Finding
    from handrail.cli.checkup.probing.trying import Trial
    from handrail.cli.checkup.surroundings import Surroundings

__all__ = ["doctor"]

JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Probe = Annotated[
    bool,
    typer.Option(
        "--probe", help="Try the installed Claude Code out instead, and say what it does otherwise than others."
    ),
]
Online = Annotated[bool, typer.Option("--online", help="Also ask Telegram whether it knows your bot.")]
Cli = Annotated[str | None, typer.Option("--cli", metavar="PATH", help="The Claude Code to look at.")]


def doctor(probe: Probe = False, cli: Cli = None, online: Online = False, json: JSON = False) -> None:
    """Check what Handrail needs, and say how to mend what is wrong.

    Looks at Claude Code, its login, your settings and policies, the database, the disk, the Telegram bot and the
    terminal. It shows no secrets, and asks nobody elsewhere, unless you say --online.

    With --probe, Claude Code itself is tried out: in a scratch home, with a scripted model on this machine, without
    your account, and within a minute or so. What it does is compared with the versions that Handrail knows.

    \b
    Examples:
      handrail doctor
      handrail doctor --probe
      handrail doctor --probe --cli ~/.local/share/claude/versions/2.1.330

    Exit code: 0, or 1 if something is broken.
    """
    from dataclasses import replace

    from handrail.cli.checkup.surroundings import Surroundings

    around = replace(Surroundings.here(cli), online=online)
    raise typer.Exit(_probe(around, as_json=json) if probe else _check_up(around, as_json=json))


# ---------------------------------------------------------------- the check-up


def _check_up(around: Surroundings, *, as_json: bool) -> int:
    findings = _examine_showing_progress(around)
    if as_json:
        _print_json(findings)
    else:
        _print_report(findings)
    return 1 if any(finding.status == "broken" for finding in findings) else 0


def _examine_showing_progress(around: Surroundings) -> list[Finding]:
    import sys

    from handrail.cli.checkup.checkup import check_up
    from handrail.cli.showing.style import make_console

    console = make_console(sys.stderr)
    if not console.is_terminal:
        return check_up(around)
    with console.status("checking …") as status:
        return check_up(around, on_progress=lambda waiting: status.update(f"checking {', '.join(waiting)} …"))


def _print_report(findings: list[Finding]) -> None:
    import sys

    from handrail.cli.checkup.report import report
    from handrail.cli.showing.style import make_console

    make_console(sys.stdout).print(report(findings))


def _print_json(findings: list[Finding], **more: object) -> None:
    import json

    import msgspec

    ok = all(finding.status != "broken" for finding in findings)
    document = {"ok": ok, "findings": msgspec.to_builtins(findings), **more}
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


# ---------------------------------------------------------------- the probe


def _probe(around: Surroundings, *, as_json: bool) -> int:
    trial = _try_out_showing_progress(around)
    if as_json:
        _print_json(trial.findings, probe=_document(trial))
    else:
        _print_probe(trial)
    return 1 if trial.is_broken else 0


def _try_out_showing_progress(around: Surroundings) -> Trial:
    import sys

    from handrail.cli.checkup.probing.trying import try_out
    from handrail.cli.showing.style import make_console

    console = make_console(sys.stderr)
    if not console.is_terminal:
        return try_out(around)
    with console.status("trying Claude Code out …") as status:
        return try_out(
            around,
            lambda progress: status.update(
                f"{progress.done} of {progress.total}: trying {', '.join(progress.running) or 'Claude Code'} …"
            ),
        )


def _print_probe(trial: Trial) -> None:
    import sys

    from handrail.cli.checkup.probing.report import probe_report
    from handrail.cli.showing.style import make_console

    make_console(sys.stdout).print(probe_report(trial))


def _document(trial: Trial) -> dict[str, object] | None:
    import msgspec

    if trial.comparison is None:
        return None
    return {
        "status": trial.comparison.status,
        "path": trial.path,
        "seconds": round(trial.seconds, 1),
        **msgspec.to_builtins(trial.comparison),
    }
