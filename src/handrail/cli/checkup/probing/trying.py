"""Finds the installed Claude Code, tries it out, compares, and remembers what came of it."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as installed_version_of
from typing import TYPE_CHECKING

from handrail.cli.checkup.claude import check_cli, installed_claude
from handrail.cli.checkup.finding import Finding, attention, broken
from handrail.cli.checkup.probing.kept import KeptProbe, ProbesUnreadable, keep_probe
from handrail.cli.checkup.probing.telling import findings_of, sentence_of, worth_knowing
from handrail.cli.checkup.surroundings import Surroundings
from handrail.testing.probing.comparing import Comparison, compare
from handrail.testing.probing.matrix import Matrix, MatrixDamaged, load_matrix

if TYPE_CHECKING:
    from handrail.testing.probing.running import OnProgress

__all__ = ["Trial", "try_out"]


@dataclass(frozen=True)
class Trial:
    """What a probe came to. `comparison` is None if there was no Claude Code to try."""

    findings: list[Finding]
    path: str = ""
    seconds: float = 0.0
    comparison: Comparison | None = None

    @property
    def is_broken(self) -> bool:
        """Whether something that Handrail depends on does not work."""
        return any(finding.status == "broken" for finding in self.findings)


def try_out(around: Surroundings, on_progress: OnProgress = lambda progress: None) -> Trial:
    """Try the Claude Code of these surroundings out, in a scratch home, and keep what was found."""
    from handrail.testing.probing.running import probe
    from handrail.testing.probing.scenarios import BEHAVIOURS

    found = installed_claude(around)
    if found is None:
        return Trial([finding for finding in check_cli(around) if finding.status == "broken"] or [_nothing_there()])
    matrix, trouble = _matrix()
    with _quiet(), _tidied_up():
        probed = asyncio.run(probe(found.argv, on_progress=on_progress))
    comparison = compare(found.version, probed.seen, matrix, BEHAVIOURS)
    path = found.argv[-1]
    trouble += _keep(around, comparison, path, probed.seconds)
    return Trial([*findings_of(comparison), *trouble], path, probed.seconds, comparison)


def _nothing_there() -> Finding:
    return broken("claude", "there is no Claude Code that answers", "handrail doctor")


def _matrix() -> tuple[Matrix, list[Finding]]:
    try:
        return load_matrix(), []
    except MatrixDamaged as error:
        return {}, [
            attention("recorded", f"nothing can be compared: {error}", "pip install --force-reinstall handrail")
        ]


def _keep(around: Surroundings, comparison: Comparison, path: str, seconds: float) -> list[Finding]:
    kept = KeptProbe(
        version=comparison.version,
        path=path,
        at=time.time(),
        handrail=installed_version_of("handrail"),
        status=comparison.status,
        text=sentence_of(comparison),
        findings=worth_knowing(comparison),
        seconds=seconds,
    )
    try:
        keep_probe(around.places, kept)
    except ProbesUnreadable as error:
        return [attention("kept", f"what was found is not remembered: {error}", "export HANDRAIL_STATE_DIR=DIRECTORY")]
    return []


@contextmanager
def _tidied_up() -> Iterator[None]:
    """Whoever ends a probe ends it like Ctrl-C: its scratch directory goes, and its CLIs do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """What sessions of the probe log is of no interest: a probe tells what it sees."""
    logger = logging.getLogger("handrail")
    silence, passed_on = logging.NullHandler(), logger.propagate
    logger.addHandler(silence)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = passed_on
        logger.removeHandler(silence)
