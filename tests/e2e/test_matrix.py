"""The table of behaviours by version: complete, up to date, and shown on the protocol's page as it is recorded."""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from handrail.testing.cli_cache import MATRIX_VERSIONS, PINNED_VERSION

from . import behaviour

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_protocol", DOCS / "generate_protocol.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def observed_names() -> list[str]:
    """What the tests call `observe` with, each as a regular expression."""
    trees = [ast.parse(path.read_text()) for path in HERE.glob("test_*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [_pattern(call.args[0]) for call in calls if isinstance(call.func, ast.Name) and call.func.id == "observe"]


def _pattern(name: ast.expr) -> str:
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in parts)


def test_every_version_is_recorded() -> None:
    assert list(behaviour.load()) == [*MATRIX_VERSIONS, PINNED_VERSION]


@pytest.mark.slow
@pytest.mark.parametrize("version", [*MATRIX_VERSIONS, PINNED_VERSION])
def test_every_behaviour_that_is_observed_is_recorded_and_no_other(version: str) -> None:
    recorded = behaviour.load()[version]
    names = observed_names()
    assert [name for name in names if not any(re.fullmatch(name, known) for known in recorded)] == []
    assert [known for known in recorded if not any(re.fullmatch(name, known) for name in names)] == []


def test_the_page_shows_what_is_recorded(generator: ModuleType) -> None:
    written = generator.PAGE.read_text(encoding="utf-8")
    assert written == generator.page(written), "run: python docs/generate_protocol.py"


def test_recording_keeps_what_others_recorded(tmp_path: Path) -> None:
    file, lock = tmp_path / "behaviour.json", tmp_path / "lock"
    behaviour.record("2.1.325", "b", "two", lock=lock, path=file)
    behaviour.record("2.1.37", "a", "old", lock=lock, path=file)
    behaviour.record("2.1.325", "a", "one", lock=lock, path=file)
    outcomes = behaviour.load(file)
    assert list(outcomes.items()) == [("2.1.37", {"a": "old"}), ("2.1.325", {"a": "one", "b": "two"})]
