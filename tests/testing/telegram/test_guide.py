"""The guide's example runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "testing.md"


@pytest.mark.slow
def test_the_example_of_the_guide(tmp_path: Path) -> None:
    [program] = re.findall(r"```py\n(.*?)```", GUIDE.read_text(), re.S)
    script = tmp_path / "program.py"
    script.write_text(program)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
