"""The types that the page's modules state in their comments are right."""

from __future__ import annotations

import subprocess

import pytest

from .files import WEB
from .node import type_checker

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("project", ["jsconfig.json", "jsconfig.worker.json"])
def test_the_types_are_right(project: str) -> None:
    done = subprocess.run([*type_checker(), "-p", str(WEB / project)], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
