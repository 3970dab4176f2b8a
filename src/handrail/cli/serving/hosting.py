"""Runs the hub until somebody ends it, and then ends it gently: first what runs may finish, then it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version

from handrail.errors import ConfigError, HandrailError, SessionBusy
from handrail.places import Places
from handrail.remote.hub_file import RunningHub, forget_hub, remember_hub, running_hub
from handrail.server.app import make_app
from handrail.server.auth.binding import check_binding
from handrail.server.hub import Hub, HubSettings, Surroundings
from handrail.server.running import HubServer, listen
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import SessionLock
from handrail.sessions.owning.owner_socket import HUB, OwnerSocket
from handrail.store.base import SessionFilter

__all__ = ["Hosting", "drained", "hosted", "the_only_hub"]

logger = logging.getLogger("handrail.server")

LOOK_AGAIN = 0.2


@dataclass(frozen=True)
class Hosting:
    """A hub that can be reached, with the settings under which that is so."""

    hub: Hub
    settings: HubSettings


@asynccontextmanager
async def hosted(
    manager: Manager, settings: HubSettings, surroundings: Surroundings, places: Places
) -> AsyncGenerator[Hosting, None]:
    """Serve a hub over an open manager. Raises `HandrailError` if it cannot be reached so."""
    check_binding(settings)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen(settings))
        settings = replace(settings, port=listener.getsockname()[1])
        local = OwnerSocket(places.runtime, kind=HUB)
        stack.callback(local.close)
        hub = await stack.enter_async_context(Hub(manager, settings, surroundings))
        tls = _tls(settings)
        local.listening.setblocking(False)
        # Two servers of one application: the socket of this machine never speaks TLS.
        await stack.enter_async_context(HubServer(make_app(hub), [listener], tls=tls))
        await stack.enter_async_context(HubServer(make_app(hub), [local.listening]))
        remember_hub(
            places, RunningHub(pid=os.getpid(), socket=local.address, url=settings.url, version=version("handrail"))
        )
        stack.callback(forget_hub, places)
        # Sockets are told that the hub goes before the server waits for them to.
        stack.push_async_callback(hub.live.stop)
        stack.push_async_callback(hub.ingress.stop)
        yield Hosting(hub, settings)


@asynccontextmanager
async def the_only_hub(places: Places) -> AsyncGenerator[None, None]:
    """Let no other hub of this user run meanwhile. Raises `HandrailError` if one does."""
    try:
        lock = await SessionLock.take(os.path.join(places.state, "locks"), ["hub"])
    except SessionBusy:
        other = running_hub(places)
        where = f"process {other.pid}, at {other.url}" if other is not None else "it has just been started"
        raise HandrailError(f"a hub runs already ({where}): `handrail login` prints a link to it") from None
    try:
        yield
    finally:
        lock.release()


def _tls(settings: HubSettings) -> ssl.SSLContext | None:
    if settings.tls_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"the certificate {settings.tls_certificate} cannot be used ({error}): give a certificate and its key, "
            "both in PEM form"
        ) from None
    return context


async def until_told_to_stop() -> Callable[[], int]:
    """Wait for a signal to end; returns what tells how many there have been since."""
    told = asyncio.Event()
    count = 0

    def tell() -> None:
        nonlocal count
        count += 1
        told.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            loop.add_signal_handler(number, tell)
    await told.wait()
    return lambda: count


async def drained(manager: Manager, seconds: float, *, hurried: Callable[[], bool], say: Callable[[int], None]) -> int:
    """Wait until nothing runs here, for at most `seconds`; returns how many sessions still do.

    Who waits for a person is not waited for: the ask is kept, and can be answered when the hub is back.
    """
    deadline = time.monotonic() + seconds
    told = -1
    while True:
        running = await _running_here(manager)
        if not running or time.monotonic() >= deadline or hurried():
            return running
        if running != told:
            told = running
            say(running)
        await asyncio.sleep(LOOK_AGAIN)


async def _running_here(manager: Manager) -> int:
    rows = await manager.list(SessionFilter(archived=None, status=("running", "queued")), limit=10_000)
    return sum([await manager.session(row.id).is_mine() for row in rows])
