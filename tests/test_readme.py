"""The README's programs run as they stand, here against a simulated CLI that is found on PATH."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

pytestmark = pytest.mark.slow

README = Path(__file__).parent.parent / "README.md"
PROGRAMS = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```", README.read_text(), re.S | re.M)

QUESTION = {"questions": [{"question": "Which?", "header": "W", "options": [{"label": "This"}, {"label": "That"}]}]}


@pytest.mark.parametrize(("title", "program"), PROGRAMS, ids=[title for title, _ in PROGRAMS])
def test_a_program_of_the_readme_runs(title: str, program: str, tmp_path: Path) -> None:
    cli = SimulatedCLI(
        [
            sim.turn(
                sim.ask("Bash", {"command": "git log"}),
                sim.ask("Bash", {"command": "rm -rf /"}),
                sim.ask("ExitPlanMode", {"plan": "1. Do it."}),
                sim.ask("AskUserQuestion", QUESTION),
                "Four.",
            ),
            sim.loop_turns("It was you."),
        ],
        directory=tmp_path,
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    environment = {
        **os.environ,
        **{f"HANDRAIL_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "state", "cache", "runtime")},
        "PATH": f"{cli.path.parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "Four." in done.stdout or "the turn failed" in done.stdout or done.stdout.strip(), done
    assert cli.find("user") is not None


def test_the_readme_has_a_program_for_each_part() -> None:
    titles = " ".join(title for title, _ in PROGRAMS).lower()
    for part in ("question", "durable", "asks", "hooks", "tool", "wrong"):
        assert part in titles
