"""What every store must do, as checks that any store's tests can run.

Give it what makes a handle, not yet open, on the data of a given name: handles of one name share their data, and each
name begins empty. In a test that may be one line::

    async def test_my_store(tmp_path):
        await run_store_conformance(lambda name: SqliteStore(str(tmp_path / name / "handrail.db")))

or one test for each check::

    @pytest.mark.parametrize("check", store_checks())
    async def test_my_store(check, tmp_path):
        await run_store_conformance(lambda name: MyStore(tmp_path / name), only=check)

A store that does not keep a promise raises `AssertionError`, which names the check and says what was wrong. What cannot
be seen from inside one process (several processes, power cuts, full disks) is left to the store's own tests.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from handrail.store.base import Store
from handrail.testing._store_checks import (
    access,
    copies,
    copy_ends,
    hosts,
    journal,
    leases_and_asks,
    sessions,
    watching,
)
from handrail.testing._store_checks.support import Check, Handles

__all__ = ["run_store_conformance", "store_checks"]

_CHECKS: tuple[Check, ...] = (
    *journal.CHECKS,
    *watching.CHECKS,
    *leases_and_asks.CHECKS,
    *sessions.CHECKS,
    *access.CHECKS,
    *copies.CHECKS,
    *copy_ends.CHECKS,
    *hosts.CHECKS,
)


def store_checks() -> list[str]:
    """The names of all checks."""
    return [check.__name__ for check in _CHECKS]


async def run_store_conformance(make_store: Callable[[str], Store], *, only: str | None = None) -> None:
    """Run every check, or only the one of that name, each on data of its own."""
    chosen = [check for check in _CHECKS if only in (None, check.__name__)]
    if not chosen:
        raise ValueError(f"there is no check {only!r}: the names are in store_checks()")
    for check in chosen:
        await _run(check, make_store)


async def _run(check: Check, make_store: Callable[[str], Store]) -> None:
    async with AsyncExitStack() as stack:
        try:
            await check(Handles(check.__name__, make_store, stack))
        except AssertionError as failure:
            raise AssertionError(f"{check.__name__}: {failure}") from failure
