"""A machine that runs sessions for a hub: a process of its own, as `handrail host` is.

Usage: python -m bench.host DIRECTORY CLI

Its identity is in DIRECTORY. It prints "ready" once it is connected, and for each line that it reads how much CPU it
has used, in seconds. It ends with its input.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from bench.common import cpu_seconds
from bench.contenders.journal import places_in
from handrail import Options
from handrail.host.agent import HostAgent, News
from handrail.host.facts import FactsSource
from handrail.host.identity import load_identity
from handrail.host.limits import HostLimits
from handrail.sessions.manager import Manager
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore


async def main(directory: Path, cli: str) -> None:
    places = places_in(directory)
    identity = load_identity(places.state)
    assert identity is not None
    limits = HostLimits(roots=(str(directory),), defaults=Options(cli_path=cli, include_partial_messages=True))
    async with Manager(SqliteStore(store_path(places), durable=True), places) as manager:
        facts = FactsSource(places.state, limits)
        async with HostAgent(manager, identity=identity, limits=limits, facts=facts, on_news=tell) as agent:
            work = asyncio.ensure_future(agent.run())
            await asyncio.to_thread(answer)
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work


def tell(news: News) -> None:
    if news.kind == "connected":
        print("ready", flush=True)
    elif news.kind != "connecting":
        print(news.kind, news.text, file=sys.stderr, flush=True)


def answer() -> None:
    for _ in sys.stdin:
        print(cpu_seconds(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
