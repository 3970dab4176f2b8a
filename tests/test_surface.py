"""The public surface is exactly what `__all__` says, importable, and light."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import handrail
import handrail.errors
import handrail.events
import handrail.testing


@pytest.mark.parametrize("package", [handrail, handrail.events, handrail.testing], ids=lambda package: package.__name__)
def test_every_public_name_is_there_and_listed_once(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(package, name) is not None
        assert name in dir(package)


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute"):
        handrail.nonsense  # noqa: B018


def test_every_error_is_public() -> None:
    assert set(handrail.errors.__all__) <= set(handrail.__all__)


def test_names_live_where_the_table_says() -> None:
    for name in handrail.__all__:
        home = importlib.import_module(handrail._HOMES.get(name, "handrail.errors"))
        assert getattr(home, name) is getattr(handrail, name)


def modules_after(program: str) -> list[str]:
    check = f"import sys; {program}; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.split()


def test_importing_handrail_imports_nothing_of_it() -> None:
    loaded = modules_after("import handrail")
    assert [name for name in loaded if name.startswith("handrail.")] == []
    assert "asyncio" not in loaded


def test_importing_the_client_does_not_import_what_is_slow() -> None:
    loaded = modules_after("from handrail import connect, query, Options")
    for slow in ("mcp", "pydantic", "anyio", "rich", "typer", "importlib.metadata", "handrail.testing", "sqlite3"):
        assert slow not in loaded


def test_importing_the_manager_does_not_import_what_only_some_sessions_need() -> None:
    loaded = modules_after("from handrail import Asked, Limits, Manager, Notify, Options")
    for slow in ("mcp", "rich", "typer", "sqlite3", "platformdirs", "handrail.sessions.exporting", "handrail.config"):
        assert slow not in loaded
