"""A Handrail process that allows an ask of a session, and prints what became of that: `allowed`, or the error's name.

python answer_program.py PLACES SESSION ASK DIGEST
"""

from __future__ import annotations

import asyncio
import sys

from handrail.errors import HandrailError
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager


async def answer(places: Places, session_id: str, ask_id: str, digest: str) -> str:
    async with Manager.local(places) as manager:
        session = await manager.get(session_id)
        try:
            await session.decide(ask_id, Allow(), actor=Actor("somebody", "attach"), digest=digest)
        except HandrailError as error:
            return type(error).__name__
    return "allowed"


if __name__ == "__main__":
    root, *words = sys.argv[1:]
    where = Places(*(f"{root}/{name}" for name in ("config", "state", "cache", "run")))
    print(asyncio.run(answer(where, *words)))
