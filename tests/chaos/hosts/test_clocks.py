"""A host whose clock is hours off: everything works, and it is said, because the times of its sessions are its own."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from handrail.testing import simulated as sim

from .journals import until_equal
from .machines import HostMachine, HubMachine
from .simulating import CONFIG_OF_HOST, CONFIG_OF_HUB, simulated_cli, working

pytestmark = pytest.mark.slow

ASKS = (sim.loop_turns(sim.tool("Bash", {"command": "make"}), "You said $text."),)


def clock_that_is_off(by: str) -> dict[str, str]:
    """The variables that set the clock of a process and of those that it starts. The steady clock is never set."""
    if shutil.which("faketime") is None:
        pytest.skip("clocks that are off need 'faketime': install faketime")
    # Not around the process itself: it would be left alone when that is killed.
    told = subprocess.run(["faketime", "-f", by, "env"], capture_output=True, text=True, check=True).stdout
    found = dict(line.split("=", 1) for line in told.splitlines() if line.startswith(("LD_PRELOAD=", "FAKETIME=")))
    return {**found, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.mark.parametrize(("off", "way"), [("+5h", "5 hours ahead"), ("-5h", "5 hours behind")])
async def test_a_clock_that_is_off_is_said_and_changes_nothing(off: str, way: str, tmp_path: Path) -> None:
    hub = HubMachine(tmp_path / "hub", config=CONFIG_OF_HUB)
    host = HostMachine(tmp_path / "host", config=CONFIG_OF_HOST, env=clock_that_is_off(off))
    simulated_cli(host, *ASKS)
    async with working(hub, host):
        session = await hub.start_session(host.project, "hello")
        ask = await hub.asked(session)
        told = (await hub.host())["facts"]["trouble"]
        assert f"its clock is {way}" in told
        assert f"its clock is {way}" in " ".join((await hub.handrail("hosts")).split())
        for words in (["ls"], ["asks"], ["show", session]):
            assert "hello" in await hub.handrail(*words)
        await hub.answer(ask)
        await hub.said(session, "You said hello.")
        await until_equal(hub.database, host.journal, session)
        seen = (await hub.host())["last_seen_at"]
        assert abs(seen - time.time()) < 60, "when it was seen is told by the hub's own clock"
