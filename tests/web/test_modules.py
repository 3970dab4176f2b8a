"""Modules of the page that need no browser, tried in node: each `*.test.mjs` here is a set of tests of one of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .node import program

TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_the_module_does_what_it_should(path: Path) -> None:
    done = subprocess.run([program("node"), str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# fail 0\n" in done.stdout or "\nℹ fail 0\n" in done.stdout
