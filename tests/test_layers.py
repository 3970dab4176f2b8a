"""Imports go downwards only, and the protocol layer does no I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "handrail"
MODULES = sorted(SOURCE.rglob("*.py"))

MAY_IMPORT = {
    "errors": set[str](),
    "places": {"errors"},
    "toml_text": set[str](),
    "whole_files": set[str](),
    "wording": set[str](),
    "protocol": {"errors"},
    "events": {"errors", "protocol"},
    "policy": {"errors", "places", "toml_text", "whole_files", "wording", "protocol"},
    "store": {"errors", "places", "protocol"},
    "config": {"errors", "places", "toml_text", "whole_files", "wording"},
    "transports": {"errors", "protocol"},
    "sessions": {"errors", "places", "protocol", "events", "policy", "store", "transports"},
    "testing": {"errors", "places", "protocol", "events", "policy", "store", "transports", "sessions"},
    "cli": {"errors", "places", "toml_text", "whole_files", "wording", "protocol", "events", "policy", "store"}
    | {"config", "transports", "sessions", "testing"},
    "__init__": {"errors", "protocol", "events", "policy", "sessions"},
    "__main__": {"cli"},
}
"""Each part of the package, and the parts below it."""

TOUCHES_THE_WORLD = {"asyncio", "io", "os", "pathlib", "random", "select", "socket", "subprocess", "sys", "tempfile"}
TOUCHES_THE_WORLD |= {"threading", "time", "datetime", "logging"}
PURE_PATHS = {"PurePath", "PurePosixPath"}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Each imported module, and the names taken from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, set()
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, {alias.name for alias in node.names}


def parts_imported(path: Path) -> set[str]:
    found = set()
    for module, names in imports(path):
        if module == "handrail":
            found |= names & set(MAY_IMPORT)
        elif module.startswith("handrail."):
            found.add(module.split(".")[1])
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downwards(path: Path) -> None:
    part = part_of(path)
    assert parts_imported(path) <= {part, *MAY_IMPORT[part]}


PURE = [*(SOURCE / "protocol").glob("*.py"), *(SOURCE / "events").glob("*.py")]


@pytest.mark.parametrize("path", sorted(PURE), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_protocol_and_events_do_no_io(path: Path) -> None:
    for module, names in imports(path):
        if module == "pathlib" and names <= PURE_PATHS:
            continue
        assert module.split(".")[0] not in TOUCHES_THE_WORLD, f"{path.name} imports {module}"


LOOKS_AT_FILES = {SOURCE / "policy" / "files.py", *(SOURCE / "policy" / "storage").glob("*.py")}
TOUCHES_FILES = {"asyncio", "io", "os", "pathlib", "select", "socket", "subprocess", "tempfile", "threading", "time"}


@pytest.mark.parametrize(
    "path", sorted({*(SOURCE / "policy").rglob("*.py")} - LOOKS_AT_FILES), ids=lambda path: path.stem
)
def test_the_policy_looks_at_files_through_one_door(path: Path) -> None:
    for module, _ in imports(path):
        assert module.split(".")[0] not in TOUCHES_FILES, f"{path.name} imports {module}"


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} == set(MAY_IMPORT)
