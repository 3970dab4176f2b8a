"""One connection to the hub, from the welcome to its end: what comes is handed on, what is to go is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

from websockets.asyncio.client import ClientConnection

from handrail.errors import LocalProtocolError
from handrail.host.commands import Commands
from handrail.host.copying import Copier
from handrail.host.facts import differ
from handrail.host.outbox import Outbox
from handrail.host.programs import HubPrograms
from handrail.link import wire
from handrail.link.wire import FromHost, FromHub, Hello, HostFacts, Welcome
from handrail.sessions.manager import Manager

__all__ = ["HubConnection"]

WELCOME_SECONDS: Final = 20.0
LOOK_EVERY: Final = 5.0
"""How often it is looked whether the facts are other ones, in seconds."""


class Host(Protocol):
    """Whose connection it is."""

    manager: Manager
    commands: Commands
    programs: HubPrograms

    async def facts(self) -> HostFacts:
        """What it says of itself now."""

    def store_trouble(self, words: str) -> None:
        """The journal cannot be used, or can again."""


class HubConnection:
    """A socket that is open."""

    def __init__(self, socket: ClientConnection, host: Host, *, look_every: float = LOOK_EVERY) -> None:
        self._socket = socket
        self._host = host
        self._look_every = look_every
        self._outbox = Outbox()
        self._copier: Copier | None = None
        self._told: HostFacts | None = None
        self._look_now = asyncio.Event()
        self._early: Sequence[FromHub] = ()

    async def introduce(self, hello: Hello) -> Welcome:
        """Say hello, and wait to be welcomed."""
        self._told = hello.facts
        await self._socket.send(wire.pack([hello]))
        async with asyncio.timeout(WELCOME_SECONDS):
            received = await self._received()
        first = received[0] if received else None
        if not isinstance(first, Welcome):
            raise LocalProtocolError("it did not begin with a welcome")
        self._early = received[1:]
        self._copier = Copier(self._host.manager, self._outbox, window=first.window, trouble=self._host.store_trouble)
        return first

    def send(self, message: FromHost) -> None:
        """Tell the hub."""
        self._outbox.put(message)

    def tell_facts(self) -> None:
        """What the host says of itself may be other now."""
        self._look_now.set()

    @property
    def trouble(self) -> str:
        """What keeps the hub from having everything, in words."""
        return self._copier.trouble if self._copier is not None else ""

    async def is_flushed(self) -> bool:
        """Whether the hub has everything that is stored here."""
        return self._copier is not None and await self._copier.is_complete()

    async def run(self) -> None:
        """Serve the hub until the connection ends; raises why it did."""
        assert self._copier is not None  # noqa: S101  it was welcomed
        await _until_one_ends(
            self._outbox.run(self._socket.send), self._copier.run(), self._read(self._copier), self._watch_facts()
        )

    async def _read(self, copier: Copier) -> None:
        for message in self._early:
            self._take(message, copier)
        while True:
            for message in await self._received():
                self._take(message, copier)

    async def _received(self) -> list[FromHub]:
        parcel = await self._socket.recv()
        if isinstance(parcel, str):
            raise LocalProtocolError("a parcel is binary, and this was text")
        return wire.decode_from_hub(parcel)

    def _take(self, message: FromHub, copier: Copier) -> None:
        match message:
            case wire.Have():
                copier.have(message.heads)
            case wire.Ack():
                copier.acknowledged(message)
            case wire.CopyRefused():
                copier.refused(message)
            case wire.Watch():
                copier.watch(message.session, message.on)
            case wire.Command():
                self._host.commands.take(message)
            case wire.Cancel():
                self._host.commands.cancel(message.id)
            case wire.CallbackReply():
                self._host.programs.answered(message)

    async def _watch_facts(self) -> None:
        """Tell the hub what the host says of itself whenever that has changed."""
        while True:
            try:
                async with asyncio.timeout(self._look_every):
                    await self._look_now.wait()
            except TimeoutError:
                pass
            self._look_now.clear()
            facts = await self._host.facts()
            if differ(self._told, facts):
                self._told = facts
                self.send(wire.Facts(facts=facts))


async def _until_one_ends(*work: Awaitable[None]) -> None:
    """Do all of it at once until one is over; raises what ended it."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
