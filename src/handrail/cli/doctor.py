"""`handrail doctor`: what is wrong, and the command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from handrail.cli.checkup.finding import Finding

__all__ = ["doctor"]

JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]


def doctor(json: JSON = False) -> None:
    """Check what Handrail needs, and say how to mend what is wrong.

    Looks at Claude Code, its login, your settings and policies, the database, the disk and the terminal. It reads no
    secrets.

    Exit code: 0, or 1 if something is broken.
    """
    findings = _examine_showing_progress()
    if json:
        _print_json(findings)
    else:
        _print_report(findings)
    raise typer.Exit(1 if any(finding.status == "broken" for finding in findings) else 0)


def _examine_showing_progress() -> list[Finding]:
    import sys

    from handrail.cli.checkup.checkup import check_up
    from handrail.cli.checkup.surroundings import Surroundings
    from handrail.cli.showing.style import make_console

    console = make_console(sys.stderr)
    if not console.is_terminal:
        return check_up(Surroundings.here())
    with console.status("checking …") as status:
        return check_up(
            Surroundings.here(), on_progress=lambda waiting: status.update(f"checking {', '.join(waiting)} …")
        )


def _print_json(findings: list[Finding]) -> None:
    import json

    import msgspec

    ok = all(finding.status != "broken" for finding in findings)
    document = {"ok": ok, "findings": msgspec.to_builtins(findings)}
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


def _print_report(findings: list[Finding]) -> None:
    import sys

    from handrail.cli.checkup.report import report
    from handrail.cli.showing.style import make_console

    make_console(sys.stdout).print(report(findings))
