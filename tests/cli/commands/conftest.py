"""A home for each test, and one with a session in it, made once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from handrail.protocol.asks import Deny

from .support import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home; commands run in its project."""
    made = Home(tmp_path).make()
    monkeypatch.chdir(made.project)
    return made


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with a session that ran, and the session's id."""
    made = Home(tmp_path_factory.mktemp("template")).make()
    return made.directory, made.past(answer=Deny("not on a Friday"))


@pytest.fixture
def past(template: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Home, str]:
    """A home of the test's own with that session in it, and the session's id."""
    directory, session_id = template
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))
    made = Home(tmp_path)
    monkeypatch.chdir(made.project)
    return made, session_id
