"""What keeps real CLIs in tests apart: a clean environment for each, and at most two at once on a machine."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from handrail.testing._file_lock import FileLock
from handrail.testing.cli_cache import cache_directory
from handrail.testing.model import ScriptedModel, ThreadedModel

__all__ = ["CLISlot", "cli_slot", "isolated_env"]

_POLL_INTERVAL = 0.05


def isolated_env(
    home: Path, model: ScriptedModel | ThreadedModel | None = None, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole environment for a real CLI in a test: its own home under `home`, the model, nothing inherited.

    Only PATH is taken over, because tools must be found. `extra` is added last.
    """
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": os.environ.get("PATH", os.defpath),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        **(model.env if model is not None else {}),
        **(extra or {}),
    }


def cli_slot(*, limit: int = 2, timeout: float = 600, directory: Path | None = None) -> CLISlot:
    """Room for one real CLI, among `limit` on this machine: `with cli_slot(): ...` or `async with cli_slot(): ...`.

    It waits until there is room, for at most `timeout` seconds (then `TimeoutError`). The kernel frees the slot of a
    process that dies. Use one limit everywhere: whoever passes a larger one gets the larger number of slots.
    """
    return CLISlot(directory or cache_directory() / "slots", limit, timeout)


class CLISlot:
    """A place among those that may run a real CLI at the same time. Made by `cli_slot`."""

    def __init__(self, directory: Path, limit: int, timeout: float) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit}: it must be at least 1")
        self._directory = directory
        self._limit = limit
        self._timeout = timeout
        self._held: FileLock | None = None

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._timeout
        while not self._try():
            self._check(deadline)
            time.sleep(_POLL_INTERVAL)
        return self

    async def __aenter__(self) -> Self:
        deadline = time.monotonic() + self._timeout
        while not self._try():
            self._check(deadline)
            await asyncio.sleep(_POLL_INTERVAL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _try(self) -> bool:
        for number in range(self._limit):
            lock = FileLock(self._directory / f"{number}.lock")
            if lock.try_acquire():
                self._held = lock
                return True
        return False

    def _check(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{self._limit} real CLIs were running on this machine for {self._timeout:g} s; "
                f"if none is, look who holds the locks in {self._directory}"
            )
