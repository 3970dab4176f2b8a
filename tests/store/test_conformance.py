"""The SQLite store does what every store must do, with a full-text index and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.store import SqliteStore
from handrail.testing.store_conformance import run_store_conformance, store_checks


@pytest.mark.parametrize("check", store_checks())
async def test_sqlite(check: str, tmp_path: Path) -> None:
    def make(name: str) -> SqliteStore:
        return SqliteStore(str(tmp_path / name / "handrail.db"), between_looks=0.01)

    await run_store_conformance(make, only=check)


@pytest.mark.parametrize("check", [check for check in store_checks() if "search" in check or "deleted" in check])
async def test_sqlite_without_an_index(check: str, tmp_path: Path) -> None:
    await run_store_conformance(lambda name: SqliteStore(str(tmp_path / name), full_text=False), only=check)
