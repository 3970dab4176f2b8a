"""A probe, for a person: what was tried, what differs, and a sentence that sums it up."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.checkup.probing.telling import sentence_of
from handrail.cli.checkup.probing.trying import Trial
from handrail.cli.checkup.report import lines, report
from handrail.cli.showing.amounts import count
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET, exact
from handrail.testing.probing.comparing import Comparison, Status
from handrail.wording import listed

__all__ = ["probe_report"]

COLOURS: dict[Status, str] = {"fine": DONE, "changed": NEEDS_YOU, "broken": FAILED}


def probe_report(trial: Trial) -> RenderableType:
    """All of it."""
    if trial.comparison is None:
        return report(trial.findings)
    return Group(
        Hanging(Text(f"Claude Code {trial.comparison.version}  ", style="bold"), exact(trial.path, QUIET)),
        Text(_head(trial.comparison, trial.seconds), style=QUIET),
        Text(),
        *lines(trial.findings),
        Text(),
        Text(sentence_of(trial.comparison), style=COLOURS[trial.comparison.status]),
    )


def _head(comparison: Comparison, seconds: float) -> str:
    against = f"compared with {listed(comparison.against)}" if comparison.against else "compared with nothing"
    return f"{count(len(comparison.items), 'behaviour')} tried in {seconds:.0f} s, {against}"
