"""Does all checks at the same time, and waits for none of them for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from queue import Empty, SimpleQueue
from typing import TypeAlias

from handrail.cli.checkup.claude import check_cli, check_login
from handrail.cli.checkup.database import check_database, check_disk
from handrail.cli.checkup.finding import Finding, broken
from handrail.cli.checkup.own import check_config, check_policy, check_runtime, check_versions
from handrail.cli.checkup.probing.check import check_probe
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.checkup.telegram import check_telegram
from handrail.cli.checkup.tools import check_git, check_terminal

__all__ = ["CHECKS", "Check", "check_up"]

Check: TypeAlias = Callable[[Surroundings], Iterable[Finding]]
OnProgress: TypeAlias = Callable[[list[str]], None]
"""Hears which checks are still under way."""

SECONDS = 40.0
CHECKS: Mapping[str, Check] = {
    "handrail": check_versions,
    "claude": check_cli,
    "probe": check_probe,
    "login": check_login,
    "config": check_config,
    "policy": check_policy,
    "database": check_database,
    "disk": check_disk,
    "runtime": check_runtime,
    "telegram": check_telegram,
    "git": check_git,
    "terminal": check_terminal,
}
"""By area, in the order in which findings are told."""


def check_up(
    around: Surroundings,
    *,
    checks: Mapping[str, Check] = CHECKS,
    seconds: float = SECONDS,
    on_progress: OnProgress = lambda waiting: None,
) -> list[Finding]:
    """Everything that was found, in the order of the checks. One that takes longer than `seconds` is given up."""
    found = _collect(around, checks, seconds, on_progress)
    late = "this takes longer than it may: a disk or a program does not answer"
    return [finding for area in checks for finding in found.get(area, [broken(area, late)])]


def _collect(
    around: Surroundings, checks: Mapping[str, Check], seconds: float, on_progress: OnProgress
) -> dict[str, list[Finding]]:
    done: SimpleQueue[tuple[str, list[Finding]]] = SimpleQueue()
    for area, check in checks.items():
        # A daemon: one that hangs on a dead disk must not keep the process from ending.
        threading.Thread(target=lambda a=area, c=check: done.put((a, _findings(a, c, around))), daemon=True).start()
    found: dict[str, list[Finding]] = {}
    deadline = time.monotonic() + seconds
    while len(found) < len(checks):
        on_progress([area for area in checks if area not in found])
        try:
            area, findings = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        found[area] = findings
    return found


def _findings(area: str, check: Check, around: Surroundings) -> list[Finding]:
    try:
        return list(check(around))
    except Exception as error:  # noqa: BLE001  # a check that fails is a finding, and must not hide the others
        return [broken(area, f"this could not be checked: {type(error).__name__}: {error}")]
