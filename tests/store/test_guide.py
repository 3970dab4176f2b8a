"""The guide and the code agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from handrail import errors
from handrail.store.artefacts import LARGE
from handrail.store.base import Retention
from handrail.store.journal_writing import SEARCHABLE
from handrail.store.sqlite import BETWEEN_LOOKS, LOCK_TIMEOUT
from handrail.store.upkeep import DEAD_TOKENS_DAYS, REPLIES_DAYS

GUIDE = (Path(__file__).parents[2] / "docs/guides/storage.md").read_text()


def test_every_error_of_a_store_has_its_row() -> None:
    kinds = {name for name in errors.__all__ if issubclass(getattr(errors, name), errors.StoreError)} - {"StoreError"}
    assert set(re.findall(r"^\| `(\w+)` \|", GUIDE, re.M)) == kinds


def test_the_figures_are_those_of_the_code() -> None:
    assert f"more than {LARGE // 1024} KiB" in GUIDE
    assert f"first {SEARCHABLE // 1024} KiB" in GUIDE
    assert f"| {Retention().frames_days} days |" in GUIDE
    assert f"| {DEAD_TOKENS_DAYS} days after they expired or were revoked |" in GUIDE
    assert f"which host a start was given to | {REPLIES_DAYS} day |" in GUIDE
    assert BETWEEN_LOOKS == 0.5
    assert "looks twice a second" in GUIDE
    assert LOCK_TIMEOUT == 10
    assert "locked for ten seconds" in GUIDE


@pytest.mark.slow
def test_the_program_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
