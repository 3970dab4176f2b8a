"""A bell that rings in every process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.sessions.guards.bell import Bell

RINGER = "import sys; from handrail.sessions.guards.bell import Bell; Bell(sys.argv[1], lambda: None).ring()"


@pytest.mark.slow
async def test_it_rings_for_everybody_who_listens(tmp_path: Path) -> None:
    heard = [asyncio.Event(), asyncio.Event()]
    bells = [Bell(tmp_path / "bells", event.set) for event in heard]
    bells[0].ring()  # nobody listens yet
    for bell in bells:
        bell.listen()
    async with asyncio.timeout(30):
        bells[0].ring()
        await asyncio.gather(*(event.wait() for event in heard))
        for event in heard:
            event.clear()
        await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", RINGER, str(tmp_path / "bells")], check=True, timeout=30
        )
        await asyncio.gather(*(event.wait() for event in heard))
    for bell in bells:
        bell.close()
        bell.close()
    assert os.listdir(tmp_path / "bells") == []


async def test_ringing_often_blocks_nobody_and_removes_what_the_dead_left(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "dead.bell")
    rung = 0

    def count() -> None:
        nonlocal rung
        rung += 1

    bell = Bell(tmp_path, count)
    bell.listen()
    for _ in range(200):
        bell.ring()
    assert not (tmp_path / "dead.bell").exists()
    async with asyncio.timeout(30):
        while not rung:
            await asyncio.sleep(0)
    assert rung < 200
    bell.close()
