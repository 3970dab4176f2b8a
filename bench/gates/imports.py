"""What it costs to start a process that imports the package: CPU of the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from bench.common import AT_MOST, Contender, Gate, Place, Samples, Verdict, clean_environment

STATEMENTS = {
    "handrail": "import handrail",
    "handrail, names": "from handrail import Options, connect, query",
    "agent-sdk": "import claude_agent_sdk",
    "asyncio": "import asyncio",
}
REPEATS = 3


class Imports(Gate):
    name = "import"
    title = "import, the whole process: CPU"
    contenders = (
        Contender("handrail", "handrail"),
        Contender("handrail, names", "handrail"),
        Contender("agent-sdk", "agent_sdk"),
        Contender("asyncio", "floor"),
    )

    def prepare(self, place: Place, *, quick: bool) -> None:
        """Write the compiled modules, so that nobody pays for that below."""
        for statement in STATEMENTS.values():
            subprocess.run([sys.executable, "-c", statement], capture_output=True, check=False, env=clean_environment())

    def run(self, contender: Contender, place: Place) -> Mapping[str, float]:
        return {"cpu_ms": min(cpu_of(STATEMENTS[contender.name]) for _ in range(REPEATS)) * 1e3}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: str, below: str) -> list[float]:
            return samples.ratios("cpu_ms", above, below)

        return [
            Verdict("`import handrail`, of agent-sdk", ratios("handrail", "agent-sdk"), AT_MOST, 1 / 6),
            Verdict("`import handrail`, of `import asyncio`", ratios("handrail", "asyncio"), AT_MOST, 2.0),
            Verdict("connect, query, Options, of agent-sdk", ratios("handrail, names", "agent-sdk"), AT_MOST, 1 / 6),
            Verdict("connect, query, Options, of asyncio", ratios("handrail, names", "asyncio"), AT_MOST, 2.0),
        ]


def cpu_of(statement: str) -> float:
    """CPU seconds of a process that runs one statement."""
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", statement], clean_environment())
    _, status, usage = os.wait4(process, 0)
    assert status == 0, f"{statement!r} failed"
    return usage.ru_utime + usage.ru_stime
