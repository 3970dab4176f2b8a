"""Lets hosts in: looks at the key, hears who it is, sees that no other process uses it too, and serves the link."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from handrail.errors import LocalProtocolError
from handrail.link import wire
from handrail.server.auth.refusing import refuse
from handrail.server.auth.requests import Headers
from handrail.server.hosts import link as links
from handrail.server.hosts.arrivals import Arrivals
from handrail.server.hosts.checking import check_facts
from handrail.server.hosts.copies import WINDOW, Copies, CopyMeter
from handrail.server.hosts.known import KnownHost
from handrail.server.hosts.link import HostLink, first_message
from handrail.server.hosts.offers import Offers
from handrail.server.hosts.registry import Registry
from handrail.server.problems import Problem
from handrail.sessions.manager import Manager

__all__ = ["Door", "Note"]

logger = logging.getLogger("handrail.hosts")

PATIENCE_WITH_THE_OTHER: Final = 5.0
"""How long the link that a host has already may take to show that somebody is there."""

Note = Callable[[KnownHost, str, str, str], Awaitable[None]]
"""Writes to the audit log: of which host, what, about which session, in which words."""


class Door:
    """Where hosts connect."""

    def __init__(
        self,
        registry: Registry,
        manager: Manager,
        *,
        url: Callable[[], str],
        arrivals: Arrivals,
        meter: CopyMeter,
        note: Note,
        on_change: Callable[[str], None],
    ) -> None:
        self._registry = registry
        self._manager = manager
        self._url = url
        self._arrivals = arrivals
        self._meter = meter
        self._note = note
        self._on_change = on_change
        self.closed = False

    async def serve(self, socket: WebSocket) -> None:
        """Serve a socket that wants to be a host's, to its end."""
        try:
            host = self._host_of(socket)
        except Problem as problem:
            # Before it is accepted, and with nothing looked up: thousands of these cost next to nothing.
            await refuse(socket.scope, socket.send, problem)
            return
        _take_large_parcels(socket)
        await socket.accept()
        try:
            hello = await first_message(socket)
            check_facts(hello.facts)
        except LocalProtocolError as error:
            logger.warning("the link of %s is closed: %s", host.name, error)
            await _close(socket, links.PROTOCOL, str(error))
            return
        if hello.version != wire.VERSION:
            logger.warning(
                "%s speaks version %d of the hosts' protocol, this hub %d", host.name, hello.version, wire.VERSION
            )
            await _close(socket, links.VERSION, f"this hub speaks version {wire.VERSION}, the host {hello.version}")
            return
        link = HostLink(socket, host.name, hello)
        refusal = await self._take_over(host, link)
        if refusal is None:
            await self._serve(host, link)
        else:
            await _close(socket, refusal)

    def _host_of(self, socket: WebSocket) -> KnownHost:
        """The host whose key is shown. Raises `Problem`."""
        if self.closed:
            raise Problem("stopping", "the hub is stopping: connect again when it is back")
        scheme, _, key = (Headers(socket.scope).one("authorization") or "").partition(" ")
        host = self._registry.by_key(key.strip()) if scheme.lower() == "bearer" else None
        if host is None:
            raise Problem(
                "not_authenticated",
                "this is no key of one of this hub's hosts, or it was revoked: enrol this machine again "
                "(`handrail host enrol` on the hub prints a code)",
            )
        return host

    async def _take_over(self, host: KnownHost, link: HostLink) -> int | None:
        """Make this the host's link, or give the code with which it is refused.

        Two processes with one key would each undo what the other says.
        """
        async with host.taking_over:
            other = host.link
            if (
                other is not None
                and other.hello.boot != link.hello.boot
                and await other.is_alive(PATIENCE_WITH_THE_OTHER)
            ):
                logger.warning("a second process connects with the key of %s: it is refused", host.name)
                await self._note_once(host, "hosts.conflict", "a second process with the same key was refused")
                return links.CONFLICT
            if other is not None:
                other.close(links.REPLACED)
                await other.over.wait()
            if host.state == "revoked":
                return links.REVOKED
            if self.closed:
                return links.STOPPING
            host.link = link
            return None

    async def _serve(self, host: KnownHost, link: HostLink) -> None:
        serving = _Serving(host, self._registry, self._on_change)
        copies = Copies(
            host,
            self._manager,
            send=link.send,
            on_readers=serving.readers_changed,
            on_loss=lambda *words: self._lost(host, *words),
            arrivals=self._arrivals,
            meter=self._meter,
        )
        serving.copies = copies
        serving.offers = Offers(copies, is_removed=self._is_removed)
        try:
            await self._greet(host, link)
            await link.run(serving)
        finally:
            host.commands.disconnect()
            host.callbacks.disconnect()
            try:
                await copies.close()  # before the next link begins: it would bring again what is being stored
            finally:
                host.link = None
                link.over.set()
            await self._registry.heard(host, at_once=True)
            host.since = host.row.last_seen_at or 0.0
            logger.info("%s is away", host.name)
            self._on_change(host.id)

    async def _greet(self, host: KnownHost, link: HostLink) -> None:
        hello = link.hello
        await self._registry.heard(host, hello.facts, at_once=True)
        host.since = host.row.last_seen_at or 0.0
        if hello.name != host.name:
            logger.warning("the host %s calls itself %r: here it is %s", host.name, hello.name[:100], host.name)
            await self._note_once(host, "hosts.renamed", f"it calls itself {hello.name[:100]!r}")
        link.send(
            wire.Welcome(
                version=wire.VERSION,
                hub=self._url(),
                host_id=host.id,
                name=host.name,
                window=WINDOW,
                draining=host.row.draining,
            )
        )
        for session_id in host.watched:
            link.send(wire.Watch(session=session_id, on=True))
        host.commands.connect(link.send)
        host.callbacks.connect(link.send)
        logger.info("%s is connected", host.name)
        self._on_change(host.id)

    async def _note_once(self, host: KnownHost, action: str, words: str) -> None:
        """Write down what goes wrong on each attempt to connect, the first time."""
        if words not in host.noted:
            host.noted.add(words)
            await self._note(host, action, "", words)

    async def _lost(self, host: KnownHost, session_id: str, words: str) -> None:
        await self._note(host, "hosts.lost", session_id, words)

    def _is_removed(self, host_id: str) -> bool:
        host = self._registry.get(host_id)
        return host is None or host.state == "revoked"


class _Serving:
    """What is done with what one host says."""

    copies: Copies
    offers: Offers

    def __init__(self, host: KnownHost, registry: Registry, on_change: Callable[[str], None]) -> None:
        self._host = host
        self._registry = registry
        self._on_change = on_change

    async def offer(self, offer: wire.Offer) -> None:
        await self.offers.take(offer)

    def page(self, page: wire.Page) -> None:
        self.copies.page(page)

    def deltas(self, deltas: wire.Deltas) -> None:
        self.copies.deltas(deltas)

    def gone(self, gone: wire.Gone) -> None:
        self.copies.gone(gone)

    def reply(self, reply: wire.Reply) -> None:
        self._host.commands.take(reply)

    def callback(self, callback: wire.Callback) -> None:
        self._host.callbacks.take(callback)

    async def facts(self, facts: wire.Facts) -> None:
        check_facts(facts.facts)
        before = self._host.state
        trouble = self._host.facts.trouble
        await self._registry.heard(self._host, facts.facts)
        if self._host.facts.trouble != trouble:
            logger.warning("%s: %s", self._host.name, self._host.facts.trouble or "what was wrong there is over")
        if self._host.state != before:
            self._on_change(self._host.id)

    async def seen(self) -> None:
        await self._registry.heard(self._host)

    def readers_changed(self, session_id: str, readers: int) -> None:
        """Somebody came to watch a session as it is written, or nobody does any more."""
        watched = self._host.watched
        if (readers > 0) == (session_id in watched):
            return
        (watched.add if readers else watched.discard)(session_id)
        link = self._host.link  # not the one that this belongs to: a feed outlives links
        if link is not None:
            link.send(wire.Watch(session=session_id, on=readers > 0))


def _take_large_parcels(socket: WebSocket) -> None:
    terms = socket.scope.get("extensions", {}).get("handrail.socket")
    if terms is not None:
        terms.allow(wire.LONGEST_PARCEL)


async def _close(socket: WebSocket, code: int, reason: str = "") -> None:
    with suppress(RuntimeError, WebSocketDisconnect):  # it may be gone already
        await socket.close(code, links.short(reason or links.CLOSE_CODES[code]))
