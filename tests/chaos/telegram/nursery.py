"""A process that has everything imported, and forks hubs and bridges on request: starting one is quick.

Reads a line of JSON for each from standard input and answers with its pid. Each is to be killed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from handrail.places import Places
from handrail.protocol.options import Options
from handrail.remote.errors import HubUnreachable
from handrail.server.app import make_app
from handrail.server.hub import Hub, HubSettings, SessionDefaults
from handrail.server.running import HubServer, listen
from handrail.sessions.manager import Manager
from tests.server.support import Around
from tests.telegram.bridge.process import Told, serve


class HubOrder(msgspec.Struct, tag="hub"):
    """The hub that is wanted. The first one writes a token of an owner into the file."""

    directory: str
    port: int
    token_file: str
    options: dict[str, Any]
    log: str
    is_first: bool = True


class BridgeOrder(msgspec.Struct, tag="bridge"):
    """The bridge that is wanted."""

    told: Told
    log: str


Order: TypeAlias = HubOrder | BridgeOrder


async def serve_hub(order: HubOrder) -> None:
    places = Places(*(f"{order.directory}/{name}" for name in ("config", "state", "cache", "run")))
    projects = f"{order.directory}/projects"
    defaults = SessionDefaults(options=Options(**order.options))
    settings = replace(HubSettings(), port=order.port, defaults=defaults, roots=(projects,))
    async with Manager.local(places) as manager:
        listener = listen(settings)
        async with Hub(manager, settings, Around()) as hub, HubServer(make_app(hub), [listener]):
            if order.is_first:
                _write(order.token_file, (await hub.tokens.mint("owner of the tests", "owner"))[1])
            await asyncio.Event().wait()


def _write(file: str, token: str) -> None:
    """Whole, or not at all."""
    Path(f"{file}.draft").write_text(token)
    os.rename(f"{file}.draft", file)


async def serve_bridge(order: BridgeOrder) -> None:
    """As the service of `handrail serve` does: started again for as long as there is no hub."""
    while True:
        try:
            await serve(order.told)
        except HubUnreachable as error:
            logging.warning("%s", error)
            await asyncio.sleep(0.2)


def _live(order: Order) -> None:
    logging.basicConfig(filename=order.log, level=logging.INFO, format="%(asctime)s %(name)s %(message)s", force=True)
    asyncio.run(serve_hub(order) if isinstance(order, HubOrder) else serve_bridge(order))


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                _live(order)
            except BaseException:
                logging.exception("it ended by itself")
            finally:
                os._exit(1)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
