"""Imports go downwards only, and the protocol layer does no I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "handrail"
MODULES = sorted(SOURCE.rglob("*.py"))

MAY_IMPORT = {
    "errors": set[str](),
    "error_records": {"errors"},
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
    "rendering": {"errors", "wording", "protocol", "policy"},
    "sessions": {
        "errors",
        "error_records",
        "places",
        "protocol",
        "events",
        "policy",
        "store",
        "transports",
        "rendering",
    },
    "link": {"errors", "error_records", "protocol", "events", "store", "transports"},
    "host": {
        "errors",
        "error_records",
        "places",
        "wording",
        "whole_files",
        "protocol",
        "events",
        "policy",
        "store",
        "transports",
    }
    | {"sessions", "link"},
    "web": set[str](),
    "server": {
        "errors",
        "error_records",
        "places",
        "wording",
        "protocol",
        "events",
        "policy",
        "store",
        "transports",
        "rendering",
    }
    | {"sessions", "web", "link"},
    "remote": {"errors", "error_records", "places", "protocol", "events", "policy", "store", "sessions", "link"},
    "telegram": {"errors", "error_records", "places", "wording", "whole_files", "protocol", "events", "policy", "store"}
    | {"rendering", "sessions", "remote"},
    "testing": {"errors", "places", "protocol", "events", "policy", "store", "transports", "sessions"},
    "cli": {"errors", "places", "toml_text", "whole_files", "wording", "protocol", "events", "policy", "store"}
    | {
        "config",
        "transports",
        "rendering",
        "sessions",
        "server",
        "web",
        "remote",
        "testing",
        "link",
        "host",
        "telegram",
    },
    "__init__": {"errors", "protocol", "events", "policy", "sessions", "remote"},
    "__main__": {"cli"},
}
"""Each part of the package, and the parts below it."""

TOUCHES_THE_WORLD = {"asyncio", "io", "os", "pathlib", "random", "select", "socket", "subprocess", "sys", "tempfile"}
TOUCHES_THE_WORLD |= {"threading", "time", "datetime", "logging"}
PURE_PATHS = {"PurePath", "PurePosixPath"}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> list[tuple[str, set[str]]]:
    """Each imported module, and the names taken from it."""
    found: list[tuple[str, set[str]]] = []
    for node in statements(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            found += [(alias.name, set()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append((node.module, {alias.name for alias in node.names}))
    return found


def statements(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Those of the block and of all blocks in it: an import is a statement, so expressions need no look."""
    for node in block:
        yield node
        for inner in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from statements(getattr(node, inner, ()))


def parts_imported(path: Path) -> set[str]:
    found = set()
    for module, names in imports(path):
        if module == "handrail":
            found |= names & set(MAY_IMPORT)
        elif module.startswith("handrail."):
            found.add(module.split(".")[1])
    return found


def imported_from_above(path: Path) -> set[str]:
    part = part_of(path)
    return parts_imported(path) - {part, *MAY_IMPORT[part]}


def test_imports_go_downwards() -> None:
    upwards = {str(path.relative_to(SOURCE)): imported_from_above(path) for path in MODULES}
    assert {path: parts for path, parts in upwards.items() if parts} == {}


PURE = [*(SOURCE / "protocol").glob("*.py"), *(SOURCE / "events").glob("*.py")]


def test_protocol_and_events_do_no_io() -> None:
    assert [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in PURE
        for module, names in imports(path)
        if module.split(".")[0] in TOUCHES_THE_WORLD and not (module == "pathlib" and names <= PURE_PATHS)
    ] == []


LOOKS_AT_FILES = {SOURCE / "policy" / "files.py", *(SOURCE / "policy" / "storage").glob("*.py")}
TOUCHES_FILES = {"asyncio", "io", "os", "pathlib", "select", "socket", "subprocess", "tempfile", "threading", "time"}


def test_the_policy_looks_at_files_through_one_door() -> None:
    assert [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in sorted({*(SOURCE / "policy").rglob("*.py")} - LOOKS_AT_FILES)
        for module, _ in imports(path)
        if module.split(".")[0] in TOUCHES_FILES
    ] == []


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} == set(MAY_IMPORT)
