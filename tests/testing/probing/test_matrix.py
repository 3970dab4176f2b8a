"""The recorded versions: complete, readable, and shown on their page as they are recorded."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from handrail.testing.cli_cache import MATRIX_VERSIONS, PINNED_VERSION
from handrail.testing.probing.behaviours import Seen
from handrail.testing.probing.matrix import MatrixDamaged, load_matrix, save_matrix
from handrail.testing.probing.scenarios import BEHAVIOURS, SCENARIOS

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_compatibility", DOCS / "generate_compatibility.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_version_is_recorded_whole() -> None:
    matrix = load_matrix()
    assert list(matrix) == [*MATRIX_VERSIONS, PINNED_VERSION]
    for version, seen in matrix.items():
        assert list(seen) == list(BEHAVIOURS), f"record {version} again: python -m handrail.testing.probing {version}"
        assert not [name for name, each in seen.items() if each.works is None]


def test_names_are_unique_and_have_a_topic() -> None:
    names = [behaviour.name for scenario in SCENARIOS for behaviour in scenario.behaviours]
    assert len(names) == len(set(names)) == len(BEHAVIOURS)
    assert all(behaviour.topic and behaviour.what and behaviour.otherwise for behaviour in BEHAVIOURS.values())


def test_what_handrail_cannot_do_without_works_in_every_recorded_version() -> None:
    for seen in load_matrix().values():
        assert not [name for name, each in seen.items() if not each.works and BEHAVIOURS[name].need == "breaks"]


def test_the_page_shows_what_is_recorded(generator: ModuleType) -> None:
    written = generator.PAGE.read_text(encoding="utf-8")
    assert written == generator.page(written), "run: python docs/generate_compatibility.py"


def test_every_topic_has_a_heading(generator: ModuleType) -> None:
    assert set(generator.HEADINGS) == {behaviour.topic for behaviour in BEHAVIOURS.values()}


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    matrix = {"2.1.100": {"b": Seen(True, "ü")}, "2.1.9": {"a": Seen(False, "no")}}
    save_matrix(matrix, file)
    assert list(load_matrix(file).items()) == [("2.1.9", matrix["2.1.9"]), ("2.1.100", matrix["2.1.100"])]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"2.1.9": 3}', b'{"new": {}}', b"\xff", b'{"2.1.9": {"a": {}}}']
)
def test_a_damaged_file_is_said(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "recorded.json"
    file.write_bytes(content)
    with pytest.raises(MatrixDamaged, match="install Handrail again"):
        load_matrix(file)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(MatrixDamaged, match="install Handrail again"):
        load_matrix(tmp_path / "recorded.json")
