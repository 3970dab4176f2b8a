"""A hub and a host as processes on this machine, whose sessions run on a simulated CLI."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .machines import HostMachine, HubMachine

CONFIG_OF_HUB = """
[hub]
port = 0
open_browser = false
probe_hours = 0
drain_seconds = 0
"""
CONFIG_OF_HOST = """
[host]
probe_hours = 0
drain_seconds = 0
"""


def simulated_cli(machine: HostMachine, *steps: sim.Step) -> SimulatedCLI:
    """What the sessions of a host run on."""
    cli = SimulatedCLI(steps, directory=machine.directory)
    machine.env["HANDRAIL_CLAUDE_CLI_PATH"] = str(cli.path)
    return cli


@asynccontextmanager
async def working(hub: HubMachine, *hosts: HostMachine) -> AsyncIterator[None]:
    """The hub serves meanwhile, and the hosts work for it: the first one as the tests call it, others by number."""
    await hub.serve()
    try:
        for number, host in enumerate(hosts):
            await host.join(hub, hub.url, *([f"box-{number}"] if number else []))
        yield
    finally:
        for machine in (*hosts, hub):
            if hasattr(machine, "process"):
                await machine.process.end(signal.SIGKILL)
