"""What `handrail doctor` says of the last probe, without making one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.metadata import version as installed_version_of

from handrail.cli.checkup.claude import installed_claude
from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.checkup.probing.kept import KeptProbe, ProbesUnreadable, kept_probe
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.commands.wording import age
from handrail.cli.showing.amounts import count

__all__ = ["PROBE", "check_probe"]

PROBE = "handrail doctor --probe"
TOLD = 3


def check_probe(around: Surroundings) -> Iterator[Finding]:
    """What the last probe of the installed Claude Code found; or that there was none."""
    found = installed_claude(around)
    if found is None:
        yield good("probe", "there is no Claude Code to try out")
        return
    try:
        kept = kept_probe(around.places, found.number)
    except ProbesUnreadable as error:
        yield attention("probe", f"what the last probe found is lost: {error}", PROBE)
        return
    yield from _told(kept) if kept is not None else [_never(found.number)]


def _never(number: str) -> Finding:
    from handrail.testing.probing.matrix import MatrixDamaged, load_matrix

    try:
        recorded = number in load_matrix()
    except MatrixDamaged as error:
        return attention("probe", str(error), "pip install --force-reinstall handrail")
    if recorded:
        return good("probe", f"Claude Code {number} is one of the versions that Handrail was probed with")
    return attention("probe", f"Claude Code {number} was never probed: it may behave otherwise than expected", PROBE)


def _told(kept: KeptProbe) -> Iterator[Finding]:
    ago = age(max(0.0, time.time() - kept.at))
    when = "just now" if ago == "now" else f"{ago} ago"
    by_another = "" if kept.handrail == installed_version_of("handrail") else f" (by Handrail {kept.handrail})"
    head = f"the last probe of {kept.version}, {when}{by_another}"
    if kept.status == "fine":
        yield good("probe", f"{head}: fine")
        return
    state = broken if kept.status == "broken" else attention
    yield state("probe", f"{head}: {kept.text}", PROBE)
    for words in kept.findings[:TOLD]:
        yield attention("probe", words, PROBE)
    if len(kept.findings) > TOLD:
        yield attention("probe", f"and {count(len(kept.findings) - TOLD, 'more thing')}", PROBE)
