"""The findings, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.checkup.finding import Finding, Status
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET, exact, prose

__all__ = ["lines", "report"]

SIGNS: dict[Status, tuple[str, str]] = {"good": ("✓", DONE), "attention": ("!", NEEDS_YOU), "broken": ("✗", FAILED)}


def report(findings: Sequence[Finding]) -> RenderableType:
    """All findings, and a last line that sums them up."""
    return Group(*lines(findings), Text(), _summary(findings))


def lines(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """The findings, each under the name of its area and before what mends it."""
    width = max((len(finding.area) for finding in findings), default=0)
    for before, finding, after in zip((None, *findings), findings, (*findings[1:], None), strict=False):
        sign, colour = SIGNS[finding.status]
        label = finding.area if before is None or finding.area != before.area else ""
        mark = Text.assemble((f"{sign} ", colour), (label.ljust(width + 2), "bold"))
        yield Hanging(mark, prose(finding.text, "" if finding.status == "good" else colour))
        # What mends several in a row is said once, behind the last of them.
        if finding.fix and (after is None or after.fix != finding.fix):
            yield Hanging(Text(" " * (width + 4) + "→ ", style=QUIET), exact(finding.fix, "bold"))


def _summary(findings: Sequence[Finding]) -> Text:
    count = {status: sum(finding.status == status for finding in findings) for status in SIGNS}
    if count["broken"]:
        mended = "it is" if count["broken"] == 1 else "they are"
        return Text(f"{_things(count['broken'])} broken. Run this again when {mended} mended.", style=FAILED)
    if count["attention"]:
        return Text(f"Everything works. {_things(count['attention'])} worth a look.", style=NEEDS_YOU)
    return Text("Everything is as it should be.", style=DONE)


def _things(number: int) -> str:
    return "One thing is" if number == 1 else f"{number} things are"
