"""A Handrail process of its own that owns one session: started by tests that look at it from outside, and kill it.

    python owner_program.py PLACES CLI CWD

It prints the session's id as soon as the session is live, and sends the message "go".
"""

from __future__ import annotations

import asyncio
import sys

from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager


async def own(places: Places, cli: str, cwd: str) -> None:
    async with Manager.local(places) as manager:
        session = await manager.start(Options(cli_path=cli, cwd=cwd))
        await session.send("go")
        print(session.id, flush=True)
        async for _ in session.subscribe(deltas=False):
            if not await session.is_live():
                return


if __name__ == "__main__":
    root, cli_path, directory = sys.argv[1:]
    asyncio.run(own(Places(*(f"{root}/{name}" for name in ("config", "state", "cache", "run"))), cli_path, directory))
