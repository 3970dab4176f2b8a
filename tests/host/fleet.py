"""A real hub with a host, and a line between them that can be cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.events.model import Delta, Text
from handrail.host.enrolling import enrol
from handrail.host.identity import HostIdentity
from handrail.server.hub import HubSettings
from handrail.store.base import Store
from handrail.testing import simulated as sim

from ..server.support import ServedHub, served_hub
from .middle import Middle, middle
from .support import RunningHost, made, running_host


@dataclass
class Fleet:
    """A hub, a host of it, and the line between them."""

    served: ServedHub
    host: RunningHost
    line: Middle

    async def start(self, **wanted: Any) -> str:
        body = {"cwd": str(self.host.projects), "host": "box", **wanted}
        async with self.served.client() as owner:
            answer = await owner.post("/api/sessions", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def post(self, path: str, expect: int | None = None, **body: Any) -> Any:
        async with self.served.client() as owner:
            answer = await owner.post(path, json=body or None)
        assert answer.status_code == expect if expect else answer.status_code < 300, answer.text
        return answer.json() if answer.content else None


async def identity_of(served: ServedHub, line: Middle, name: str = "box") -> HostIdentity:
    """Let a host in."""
    async with served.client() as owner:
        code = (await owner.post("/api/hosts/enrolments", json={"name": name})).json()["code"]
    return await enrol(line.url, code, name)


@asynccontextmanager
async def hub_behind(line: Middle, directory: Path) -> AsyncIterator[ServedHub]:
    """The real hub, which the line leads to."""
    settings = HubSettings(allowed_hosts=(line.url.removeprefix("http://"),))
    async with served_hub(made(directory), settings=settings) as served:
        line.lead_to(served.url)
        try:
            yield served
        finally:
            line.cut()


@asynccontextmanager
async def fleet(tmp_path: Path, *steps: sim.Step, **limits: Any) -> AsyncIterator[Fleet]:
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        identity = await identity_of(served, line)
        async with running_host(made(tmp_path / "host"), line.url, *steps, key=identity.key, **limits) as host:
            await host.told("connected")
            yield Fleet(served, host, line)


async def said(served: ServedHub, session: str) -> list[str]:
    items = served.manager.session(session).subscribe(deltas=False, follow=False)
    return [item.text async for item in items if isinstance(item, Text)]


async def says(served: ServedHub, session: str, words: str) -> bool:
    return words in await said(served, session)


async def heard(served: ServedHub, session: str) -> tuple[list[str], str]:
    """What a reader of the hub gets of the next thing that Claude says: the pieces, and the whole."""
    pieces: list[str] = []
    async with asyncio.timeout(30), aclosing(served.manager.session(session).subscribe()) as items:
        async for item in items:
            if isinstance(item, Delta):
                pieces.append(item.text)
            if isinstance(item, Text):
                return pieces, item.text
    raise AssertionError("nothing was said")


async def says_there(host: RunningHost, session: str, words: str) -> bool:
    items = host.manager.session(session).subscribe(deltas=False, follow=False)
    return words in [item.text async for item in items if isinstance(item, Text)]


async def same_journal(here: Store, there: Store, session: str) -> bool:
    return [row.body for row in await here.read(session)] == [row.body for row in await there.read(session)]


async def is_there(served: ServedHub) -> bool:
    async with served.client() as owner:
        hosts = (await owner.get("/api/hosts")).json()
    return any(host["name"] == "box" and host["state"] == "connected" for host in hosts.get("items", hosts))
