"""The table of ratios, and the same as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bench.common import Gate, Samples, Verdict

__all__ = ["about", "as_json", "table"]

PACKAGES = (
    "handrail",
    "msgspec",
    "claude-agent-sdk",
    "uvloop",
    "python-telegram-bot",
    "aiogram",
    "telegramify-markdown",
)
PASSED = {True: "pass", False: "MISS", None: ""}


def about() -> dict[str, str]:
    """What was measured, and on what."""
    facts = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return {**facts, "cores": str(os.cpu_count()), "implementation": sys.implementation.name}


def table(results: Mapping[Gate, Samples]) -> str:
    """Markdown, one line for each verdict: the median of the paired ratios and how far they spread."""
    rows = [("gate", "Handrail", "measured", "spread", "bar", "")]
    for gate, samples in results.items():
        for number, verdict in enumerate(gate.verdicts(samples)):
            rows.append((gate.title if number == 0 else "", *_cells(verdict)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _cells(verdict: Verdict) -> tuple[str, str, str, str, str]:
    if verdict.value is None:
        return verdict.what, "not measured", "", _bar(verdict), ""
    spread = f"{_number(min(verdict.values), verdict)} … {_number(max(verdict.values), verdict)}"
    return verdict.what, _number(verdict.value, verdict), spread, _bar(verdict), PASSED[verdict.passed]


def _bar(verdict: Verdict) -> str:
    return f"{verdict.direction} {_number(verdict.bar, verdict)}" if verdict.direction else ""


def _number(value: float, verdict: Verdict) -> str:
    return f"{value:.{verdict.digits}f}{verdict.unit}"


def as_json(results: Mapping[Gate, Samples]) -> str:
    """Everything that was measured, absolute values included: those hold only for this machine and this hour."""
    gates: dict[str, Any] = {
        gate.name: {
            "rounds": samples.rounds,
            "verdicts": [
                {
                    "what": verdict.what,
                    "median": verdict.value,
                    "bar": _bar(verdict) or None,
                    "passed": verdict.passed,
                }
                for verdict in gate.verdicts(samples)
            ],
        }
        for gate, samples in results.items()
    }
    return json.dumps({"about": about(), "gates": gates}, indent=2, ensure_ascii=False)
