"""Disks that fill up, on the host and on the hub: it is said where people look, and afterwards nothing is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.testing import simulated as sim

from ..fault_story import warnings_of
from .disks import small_disk
from .journals import events_in, rows_of, until_equal
from .machines import HostMachine, HubMachine, eventually
from .simulating import CONFIG_OF_HOST, CONFIG_OF_HUB, simulated_cli, working

pytestmark = pytest.mark.slow

PARTS = 8
TALKS = (
    sim.turn("Ready."),
    sim.turn(*(each for number in range(PARTS) for each in (sim.sleep(0.5), f"Part {number}."))),
    sim.loop_turns("You said $text."),
)
"""A session that takes four seconds for its second answer."""
LAST = f"Part {PARTS - 1}."


async def test_the_disk_of_a_host_fills_up(tmp_path: Path) -> None:
    with small_disk(tmp_path / "host" / "state") as disk:
        hub = HubMachine(tmp_path / "hub", config=CONFIG_OF_HUB)
        host = HostMachine(tmp_path / "host", config=CONFIG_OF_HOST)
        simulated_cli(host, *TALKS)
        async with working(hub, host):
            session = await talking(hub, host)
            assert not await trouble(hub)
            disk.fill()
            refused = await hub.request("POST", f"/api/sessions/{session}/messages", json={"content": "in vain"})
            assert not refused.is_success
            assert "free some space" in refused.text
            await eventually(lambda: trouble(hub), "the hub knows of the trouble")
            assert "full" in await hub.handrail("hosts")
            disk.make_room()
            await eventually(lambda: is_well(hub), "the trouble is over")
            await caught_up(hub, host, session)
            warned = warnings_of(events_in(hub.database, session))
            assert any("the journal could not be written for" in text for text in warned)


async def test_the_disk_of_the_hub_fills_up(tmp_path: Path) -> None:
    with small_disk(tmp_path / "hub" / "state") as disk:
        hub = HubMachine(tmp_path / "hub", config=CONFIG_OF_HUB)
        host = HostMachine(tmp_path / "host", config=CONFIG_OF_HOST)
        simulated_cli(host, *TALKS)
        async with working(hub, host):
            session = await talking(hub, host)
            disk.fill()
            await eventually(lambda: LAST in str(rows_of(host.journal, "texts", session)), "the host has all of it")
            assert LAST not in str(rows_of(hub.database, "texts", session))
            assert "is not copied now" in hub.process.said
            disk.make_room()
            await caught_up(hub, host, session)


async def talking(hub: HubMachine, host: HostMachine) -> str:
    """A session in the middle of a long answer."""
    session = await hub.start_session(host.project, "hello")
    await hub.said(session, "Ready.")
    await hub.send(session, "talk")
    await hub.said(session, "Part 0.")
    return session


async def caught_up(hub: HubMachine, host: HostMachine, session: str) -> None:
    """The answer is there to its end, further ones come, and the hub has all that the host has."""
    await hub.said(session, LAST)
    await hub.send(session, "again")
    await hub.said(session, "You said again.")
    await until_equal(hub.database, host.journal, session)


async def trouble(hub: HubMachine) -> bool:
    return bool((await hub.host())["facts"]["trouble"])


async def is_well(hub: HubMachine) -> bool:
    return not await trouble(hub)
