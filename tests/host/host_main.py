"""A host as a process of its own, to be killed: its identity and its directories are in the one that it is given."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from handrail.host.agent import HostAgent
from handrail.host.facts import FactsSource
from handrail.host.identity import load_identity
from handrail.host.limits import HostLimits
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore


async def main(directory: Path, cli: str) -> None:
    places = Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))
    identity = load_identity(places.state)
    assert identity is not None
    limits = HostLimits(
        roots=(str(directory / "projects"),), defaults=Options(cli_path=cli, include_partial_messages=True)
    )
    async with Manager(SqliteStore(store_path(places)), places) as manager:
        facts = FactsSource(places.state, limits)
        async with HostAgent(manager, identity=identity, limits=limits, facts=facts) as agent:
            await agent.run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
