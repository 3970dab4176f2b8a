"""Two machines with one identity, as a copied disk makes them: one of them is the host, and the other is told."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

from handrail.testing import simulated as sim

from .journals import until_equal
from .machines import HostMachine, HubMachine, eventually
from .simulating import CONFIG_OF_HOST, CONFIG_OF_HUB, simulated_cli, working

pytestmark = pytest.mark.slow


async def test_a_clone_is_refused_while_the_host_lives(tmp_path: Path) -> None:
    hub = HubMachine(tmp_path / "hub", config=CONFIG_OF_HUB)
    host = HostMachine(tmp_path / "host", config=CONFIG_OF_HOST)
    clone = HostMachine(tmp_path / "clone", config=CONFIG_OF_HOST)
    for each in (host, clone):
        simulated_cli(each, sim.loop_turns("You said $text."))
    async with working(hub, host):
        session = await hub.start_session(host.project, "one")
        await hub.said(session, "You said one.")
        await until_equal(hub.database, host.journal, session)
        shutil.copytree(host.state, clone.state, dirs_exist_ok=True)
        async with clone.running(sys.executable, "-m", "handrail", "host") as refused:
            await eventually(lambda: not refused.is_running, "the clone has given up")
            assert "another agent is connected with the key of box" in refused.said
        await hub.send(session, "two")
        await hub.said(session, "You said two.")
        await until_equal(hub.database, host.journal, session)
        assert "connected again" not in host.process.said
        await host.process.end(signal.SIGKILL)
        await hub.until_host("away")
        await the_clone_goes_on(hub, clone, session)


async def the_clone_goes_on(hub: HubMachine, clone: HostMachine, session: str) -> None:
    """Its journal ends earlier than the copy: that is kept aside, and what the clone has counts from now on."""
    async with clone.running(sys.executable, "-m", "handrail", "host") as process:
        await process.until("connected")
        await until_equal(hub.database, clone.journal, session)
        archived = (await hub.get("/api/sessions", archived=True))["items"]
        assert [each["title"] for each in archived] == ["one (before box lost its journal)"]
        await hub.post(f"/api/sessions/{session}/resume", {})
        await hub.send(session, "three")
        await hub.said(session, "You said three.")
        await until_equal(hub.database, clone.journal, session)
