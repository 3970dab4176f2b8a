"""The documentation and the code agree: names, links, programs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import handrail
from handrail.sessions.client import Client
from handrail.sessions.turn import Turn

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])


def public(cls: type) -> set[str]:
    """What a user of a class sees, without what transports and clients call."""
    callbacks = {"data_received", "connection_lost", "push", "end", "fail", "options", "raise_if_dropped"}
    return {name for name in vars(cls) if not name.startswith("_")} - callbacks


def test_the_api_page_names_everything_public() -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    names = {*handrail.__all__, *public(Client), *public(Turn)}
    assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def programs(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def run(program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    script = cwd / "program.py"
    script.write_text(program)
    return subprocess.run([sys.executable, str(script)], cwd=cwd, capture_output=True, text=True, timeout=280)


@pytest.mark.real_cli
@pytest.mark.timeout(300)
def test_the_testing_guide_runs_the_real_cli(tmp_path: Path) -> None:
    from handrail.testing import cli_slot

    real, _ = programs("docs/guides/testing.md")
    with cli_slot():
        done = run(real, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_testing_guide_runs_the_simulated_cli(tmp_path: Path) -> None:
    _, simulated = programs("docs/guides/testing.md")
    done = run(simulated, tmp_path)
    assert done.returncode == 0, done.stderr
