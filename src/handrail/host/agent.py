"""The agent of this machine: dials its hub, and dials again whenever the connection is lost.

    async with HostAgent(manager, identity=identity, limits=limits, facts=facts) as agent:
        await agent.run()

Sessions live in the manager. A hub that restarts or is out of reach for hours does not touch them: their journals are
written here, and copied when it is back.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self
from uuid import uuid4

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from handrail.errors import HandrailError, HostRefused, LocalProtocolError, StoreError
from handrail.host.acts import Acts, Further
from handrail.host.capacity import live_sessions
from handrail.host.commands import Commands
from handrail.host.connection import HubConnection
from handrail.host.dialling import LONGEST_WAIT, Backoff, dial, link_address
from handrail.host.emptying import Emptying
from handrail.host.facts import FactsSource
from handrail.host.identity import HostIdentity
from handrail.host.limits import HostLimits
from handrail.host.partings import Closing, Parting, cut_off, turned_away
from handrail.host.programs import HubPrograms
from handrail.link.reasons import words_of
from handrail.link.wire import VERSION, FromHost, Hello, HostFacts, Welcome
from handrail.sessions.manager import Manager

__all__ = ["HostAgent", "News", "NewsKind"]

logger = logging.getLogger("handrail.host")

NewsKind = Literal["connecting", "connected", "lost", "refused", "draining", "undrained"]

LOOK_AGAIN: Final = 0.02
LASTED: Final = 10.0
"""From how many seconds on a connection counts as one."""


@dataclass(frozen=True, kw_only=True)
class News:
    """What becomes of the connection: `text` says it in words, `retry_in` when the next try is, in seconds."""

    kind: NewsKind
    text: str = ""
    retry_in: float | None = None


class HostAgent:
    """One host. Its manager is opened before it and closed after it, by its owner."""

    def __init__(
        self,
        manager: Manager,
        *,
        identity: HostIdentity,
        limits: HostLimits,
        facts: FactsSource,
        hub_url: str | None = None,
        on_news: Callable[[News], None] = lambda news: None,
        further: Mapping[str, Further] | None = None,
        tls: ssl.SSLContext | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        backoff: Backoff | None = None,
    ) -> None:
        self.manager = manager
        self.identity = identity
        self.hub_url = hub_url or identity.hub
        link_address(self.hub_url)  # raises what is wrong with it
        self.boot = uuid4().hex
        self._tls = tls
        self._facts = facts
        self._on_news = on_news
        self._sleep = sleep
        self._backoff = backoff or Backoff()
        self._name = identity.name
        self._drained_here = False
        self._drained_by_hub = False
        self._trouble = ""
        self._was_connected = False
        self._welcomed_at: float | None = None
        self._connection: HubConnection | None = None
        self._emptying = Emptying(manager, lambda: self.draining)
        self.programs = HubPrograms()
        self._acts = Acts(
            manager, limits, self, programs=self.programs, further={"claude": facts.claude, **(further or {})}
        )
        self.commands = Commands(
            self._acts, manager.store, name=identity.name, send=self._send, trouble=self._set_trouble
        )

    async def __aenter__(self) -> Self:
        try:
            await self.commands.forget_old()
        except StoreError as error:  # a full disk is no reason not to be there: it is said
            self._set_trouble(str(error))
        self.programs.disconnect()  # until the hub is there
        await self._emptying.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._emptying.__aexit__(kind, error, trace)
        self.programs.close()
        await self.commands.close()

    # ------------------------------------------------------------ what it is up to

    @property
    def name(self) -> str:
        """What the hub calls it."""
        return self._name

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def draining(self) -> bool:
        """Whether no session is started here any more."""
        return self._drained_here or self._drained_by_hub

    def drain(self, on: bool = True) -> None:
        """Start no further session here, and say so; or go on. What runs goes on; what does nothing is ended."""
        self._drained_here = on
        self._tell_draining()

    def set_draining(self, on: bool) -> None:
        """The same at the hub's word."""
        if on != self._drained_by_hub:
            self._drained_by_hub = on
            self._tell_draining()

    def _tell_draining(self) -> None:
        self._emptying.changed()
        self._tell_facts()
        self._on_news(News(kind="draining" if self.draining else "undrained"))

    def _set_trouble(self, words: str) -> None:
        if words != self._trouble:
            self._trouble = words
            if words:
                logger.error("%s", words)
            self._tell_facts()

    def _tell_facts(self) -> None:
        if self._connection is not None:
            self._connection.tell_facts()

    async def facts(self) -> HostFacts:
        """What it says of itself now."""
        live = 0
        try:
            live = await live_sessions(self.manager)
            if self._trouble:
                await self.commands.check_store()
        except StoreError as error:
            self._trouble = str(error)
        else:
            self._trouble = ""
        left_out = self._connection.trouble if self._connection is not None else ""
        trouble = "; ".join(filter(None, (self._trouble, left_out)))
        return await self._facts.look(live=live, draining=self.draining, trouble=trouble)

    # ------------------------------------------------------------ the connection

    async def run(self) -> None:
        """Be there for the hub until cancelled. Raises `HostRefused` if it does not want this host any more."""
        while True:
            self._on_news(News(kind="connecting", text=self.hub_url))
            parting = await self._parted()
            if parting.final:
                raise HostRefused(parting.text)
            wait = LONGEST_WAIT if parting.hopeless else self._next_wait()
            self._on_news(News(kind="refused" if parting.hopeless else "lost", text=parting.text, retry_in=wait))
            logger.warning("no connection to the hub, next try in %.0f s: %s", wait, parting.text)
            await self._sleep(wait)

    def _next_wait(self) -> float:
        """A connection that lasted ends a row of tries; one that was lost at once is another of them."""
        welcomed, self._welcomed_at = self._welcomed_at, None
        if welcomed is not None and asyncio.get_running_loop().time() - welcomed >= LASTED:
            self._backoff.reset()
        return self._backoff.next()

    async def flushed(self, timeout: float) -> bool:
        """Wait until the hub has everything that is stored here; returns False if it is away, or takes too long."""
        try:
            async with asyncio.timeout(timeout):
                while self._connection is not None:
                    if await self._connection.is_flushed():
                        return True
                    await asyncio.sleep(LOOK_AGAIN)
        except TimeoutError:
            pass
        return False

    async def _parted(self) -> Parting:
        try:
            return await self._connected()
        except Exception as error:  # a boundary: whatever keeps it from the hub, the sessions go on
            logger.exception("the connection failed")
            return Parting(f"the connection failed: {words_of(error)}")

    async def _connected(self) -> Parting:
        """Connect, and stay connected for as long as that lasts; returns why it did not last longer."""
        facts = await self.facts()  # it may take a while, and the hub does not wait for long
        try:
            socket = await dial(self.hub_url, self.identity.key, tls=self._tls)
        except InvalidStatus as error:
            return turned_away(self.hub_url, error)
        except (OSError, TimeoutError, WebSocketException, ImportError) as error:
            return Parting(f"{self.hub_url} cannot be reached: {words_of(error)}")
        try:
            return await self._serve(socket, facts)
        finally:
            await socket.close()

    async def _serve(self, socket: ClientConnection, facts: HostFacts) -> Parting:
        connection = HubConnection(socket, self)
        try:
            await self._introduced(connection, facts)
            await connection.run()
        except ConnectionClosed as error:
            return cut_off(self.hub_url, self.name, error, is_new=not self._was_connected)
        except LocalProtocolError as error:
            await socket.close(Closing.NOT_UNDERSTOOD, "not understood")
            return Parting(f"the hub said what this Handrail does not understand: {error}", hopeless=True)
        except (HandrailError, OSError, TimeoutError) as error:
            return Parting(words_of(error))
        finally:
            self._connection = None
            self.programs.disconnect()
        return Parting("the hub ended the connection")

    async def _introduced(self, connection: HubConnection, facts: HostFacts) -> None:
        """Say who this is, and be welcomed."""
        hello = Hello(
            version=VERSION,
            name=self.identity.name,
            boot=self.boot,
            facts=facts,
        )
        welcome = await connection.introduce(hello)
        if welcome.version != VERSION:
            raise LocalProtocolError(f"it speaks version {welcome.version} of the protocol, and this one {VERSION}")
        self._welcomed(welcome)
        self._connection = connection
        self.programs.connect(connection.send)

    def _welcomed(self, welcome: Welcome) -> None:
        self._was_connected = True
        self._welcomed_at = asyncio.get_running_loop().time()
        self._name = welcome.name
        self.set_draining(welcome.draining)
        self._on_news(News(kind="connected", text=f"{welcome.hub or self.hub_url} calls this host {welcome.name}"))

    def _send(self, message: FromHost) -> None:
        """Tell the hub, if it is there."""
        if self._connection is not None:
            self._connection.send(message)

    def store_trouble(self, words: str) -> None:
        """The journal cannot be used, or can again."""
        self._set_trouble(words)
