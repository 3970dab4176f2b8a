"""What the gates share: contenders, the place where a run happens, measuring, and verdicts."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bench import traffic
from bench.contenders import Client

__all__ = [
    "AT_LEAST",
    "AT_MOST",
    "Contender",
    "Gate",
    "Measured",
    "Place",
    "Samples",
    "SessionGate",
    "Verdict",
    "clean_environment",
    "cpu_seconds",
]

FAKE_CLI = Path(__file__).with_name("fake_cli.py")
ROOT = Path(__file__).parent.parent
RUN_TIMEOUT = 120.0

AT_LEAST: Literal["≥"] = "≥"
AT_MOST: Literal["≤"] = "≤"

PEERS = {
    "telegram_aiogram": ("aiogram",),
    "telegram_bridge": ("telegram",),
    "telegram_ptb": ("telegram",),
    "telegram_reader": ("telegram",),
    "telegramify": ("telegramify_markdown",),
}
"""Packages that only some of the contenders need."""

Measured = Mapping[str, float]


@dataclass(frozen=True)
class Contender:
    """Who runs: a module of `bench.contenders`, and how it is used."""

    name: str
    module: str
    look: str = "count"
    """What the consumer does with each frame: only count it, take its raw line, or read its typed content."""
    loop: str = "asyncio"

    @property
    def needs(self) -> tuple[str, ...]:
        """The packages without which it cannot run."""
        peer = ("claude_agent_sdk",) if self.module.startswith("agent_sdk") else PEERS.get(self.module, ())
        return (*peer, "uvloop") if self.loop == "uvloop" else peer


class Place:
    """A directory with the fake CLI, what it plays, and what the measuring process has to know."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cli = path / "claude"

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator[Place]:
        directory = Path(tempfile.mkdtemp(prefix="handrail-bench-"))
        try:
            yield cls(directory)
        finally:
            shutil.rmtree(directory)

    def write(self, play: str, played: bytes, **settings: float) -> None:
        """Lay everything out for the runs of a gate."""
        self.cli.write_text(f"#!{sys.executable} -SI\n{FAKE_CLI.read_text()}")
        self.cli.chmod(0o755)
        plan = {"play": play, **settings}
        (self.path / "plan").write_text("".join(f"{name} {value}\n" for name, value in plan.items()))
        (self.path / "settings").write_text(json.dumps(settings))
        (self.path / "traffic").write_bytes(played)
        (self.path / "initialized").write_bytes(traffic.initialized())
        (self.path / "ask").write_bytes(traffic.ask())

    def settings(self) -> dict[str, float]:
        settings: dict[str, float] = json.loads((self.path / "settings").read_text())
        return settings

    def latencies(self) -> list[int]:
        """What the fake CLI noted, in nanoseconds."""
        return [int(line) for line in (self.path / "latencies").read_text().split()]


@dataclass
class Samples:
    """What every contender measured, round by round."""

    rounds: list[dict[str, Measured]] = field(default_factory=list)

    def ratios(self, metric: str, above: str, below: str) -> list[float]:
        """`above` divided by `below`, each pair from the same round."""
        return [
            measured[above][metric] / measured[below][metric]
            for measured in self.rounds
            if above in measured and below in measured
        ]

    def values(self, metric: str, contender: str) -> list[float]:
        return [measured[contender][metric] for measured in self.rounds if contender in measured]


@dataclass(frozen=True)
class Verdict:
    """One line of the table. Without a bar it only informs."""

    what: str
    values: Sequence[float]
    direction: Literal["≥", "≤", ""] = ""
    bar: float = 0.0
    unit: str = "×"
    digits: int = 2

    @property
    def value(self) -> float | None:
        return statistics.median(self.values) if self.values else None

    @property
    def passed(self) -> bool | None:
        if self.value is None or not self.direction:
            return None
        return self.value >= self.bar if self.direction == AT_LEAST else self.value <= self.bar


class Gate(ABC):
    """One workload: laid out, run by each contender in turn, judged."""

    name: str
    title: str
    contenders: tuple[Contender, ...]
    rounds = 7
    quick_rounds = 3

    @abstractmethod
    def prepare(self, place: Place, *, quick: bool) -> None:
        """Write what is played."""

    @abstractmethod
    def run(self, contender: Contender, place: Place) -> Measured:
        """Let one contender run once, in a fresh process."""

    @abstractmethod
    def verdicts(self, samples: Samples) -> list[Verdict]:
        """What the samples say about the bar."""


class SessionGate(Gate):
    """A workload for sessions, which the fresh process measures itself."""

    @abstractmethod
    async def measure(self, client: Client, contender: Contender, place: Place) -> Measured:
        """Inside the fresh process: run the workload and say what it cost."""

    def run(self, contender: Contender, place: Place) -> Measured:
        command = [sys.executable, "-m", "bench.inside", self.name, contender.name, str(place.path)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, timeout=RUN_TIMEOUT, check=False, env=clean_environment()
        )
        if done.returncode != 0:
            raise RuntimeError(f"{contender.name} failed at {self.name}:\n{done.stderr.decode(errors='replace')}")
        measured: Measured = json.loads(done.stdout.splitlines()[-1])
        return measured


def cpu_seconds() -> float:
    """CPU time that this process has used, its children not counted."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def clean_environment() -> dict[str, str]:
    """Nothing in it that would make one contender behave differently from the other, or keep Python from caching."""
    dropped = ("ANTHROPIC_", "CLAUDE", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
