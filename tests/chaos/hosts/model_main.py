"""A scripted model as a process of its own, for the network that a test gives it: `model_main.py SCRIPT PORT`."""

from __future__ import annotations

import asyncio
import sys

from handrail.testing import ScriptedModel


async def main(script: str, port: int) -> None:
    async with ScriptedModel.from_file(script, port=port):
        print("the model is there", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
