"""What the tests of transports share: a receiver that remembers, and a look at processes from outside."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

DEADLINE = 30.0
ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath)}


class Recorder:
    """A receiver that keeps what it got, and lets tests wait for more."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.exit_codes: list[int | None] = []
        self.data_after_end = False
        self._changed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        assert isinstance(data, bytes)
        assert data
        self.chunks.append(data)
        self.data_after_end |= bool(self.exit_codes)
        self._changed.set()

    def connection_lost(self, exit_code: int | None) -> None:
        self.exit_codes.append(exit_code)
        self._changed.set()

    @property
    def data(self) -> bytes:
        return b"".join(self.chunks)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def until_data(self, expected: bytes) -> None:
        await self.until(lambda: expected in self.data)

    async def until_size(self, size: int) -> None:
        await self.until(lambda: sum(map(len, self.chunks)) >= size)

    async def until_lost(self) -> int | None:
        await self.until(lambda: bool(self.exit_codes))
        return self.exit_codes[0]


def python(program: str, *arguments: str) -> list[str]:
    """The command line of a small Python program, without what makes the interpreter start slowly."""
    return [sys.executable, "-I", "-S", "-c", program, *arguments]


def process_state(pid: int) -> str:
    """As `ps` shows it: starts with Z for a zombie, empty for none."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()


def is_alive(pid: int) -> bool:
    return process_state(pid)[:1] not in ("", "Z")


def children_of(pid: int) -> set[int]:
    """Its children, zombies included, without the `ps` that this function runs."""
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True) as listing:
        rows = [tuple(map(int, row.split())) for row in listing.communicate()[0].splitlines()]
    return {child for child, parent in rows if parent == pid and child != listing.pid}


def open_descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.01)


async def eventually(condition: Callable[[], object], what: str) -> None:
    """Like `wait_until`, while the event loop goes on."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(0.01)


def pids_in(text: bytes | str) -> list[int]:
    return [int(word) for word in text.split()]


def end(pids: Sequence[int]) -> None:
    """Clean up after a failed test: end these processes if they still run."""
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue
