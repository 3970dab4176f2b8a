"""The channels of all sessions that somebody follows, and for a while of those that somebody followed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from weakref import WeakValueDictionary

from handrail.server.live.channel import Channel
from handrail.server.live.timelines import Timelines
from handrail.server.live.view import Finisher, LiveView
from handrail.server.summaries import Whereabouts
from handrail.sessions.manager import Manager

__all__ = ["Channels", "Shared"]

LINGER = 30.0
"""How long a channel stays when nobody follows it any more: people reload pages, and phones lose their network."""


class Shared:
    """A channel and its view, with how many hold them."""

    def __init__(self, channel: Channel, view: LiveView, resources: AsyncExitStack) -> None:
        self.channel = channel
        self.view = view
        self.resources = resources
        self.holders = 0
        self.timer: asyncio.TimerHandle | None = None


class Channels:
    """Opens channels when they are wanted, and closes them when nobody has wanted them for a while."""

    def __init__(
        self,
        manager: Manager,
        timelines: Timelines,
        finisher: Finisher,
        *,
        linger: float = LINGER,
        hosts: Whereabouts | None = None,
    ) -> None:
        self._manager = manager
        self._hosts = hosts
        self._timelines = timelines
        self._finisher = finisher
        self._linger = linger
        self._open: dict[str, Shared] = {}
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def join(self, session_id: str) -> Shared:
        """The channel of a session, which stays until `leave`. Raises `SessionNotFound`."""
        lock = self._opening.setdefault(session_id, asyncio.Lock())
        async with lock:
            shared = self._open.get(session_id)
            if shared is None or shared.channel.gone:
                shared = await self._opened(session_id)
            shared.holders += 1
            if shared.timer is not None:
                shared.timer.cancel()
                shared.timer = None
        return shared

    def leave(self, shared: Shared) -> None:
        """One who joined needs it no more."""
        shared.holders -= 1
        if shared.holders == 0:
            wait = 0.0 if shared.channel.gone else self._linger
            shared.timer = asyncio.get_running_loop().call_later(wait, self._expire, shared)

    def host_changed(self, host_id: str) -> None:
        """A host came or went: whoever follows one of its sessions is told."""
        for shared in self._open.values():
            if shared.channel.row.host == host_id:
                shared.channel.stir()

    async def close(self) -> None:
        """Close all of them."""
        await asyncio.gather(*self._closing, *(self._closed(shared) for shared in list(self._open.values())))

    async def _opened(self, session_id: str) -> Shared:
        session = self._manager.session(session_id)
        row = await session.row()
        async with AsyncExitStack() as resources:
            resources.enter_context(self._timelines.held(session_id))
            channel = await resources.enter_async_context(Channel(session, self._manager.store, row))
            view = LiveView(channel, self._timelines, self._finisher, self._hosts)
            resources.push_async_callback(view.close)
            shared = self._open[session_id] = Shared(channel, view, resources.pop_all())
        return shared

    def _expire(self, shared: Shared) -> None:
        shared.timer = None
        self._take_out(shared)  # now: who comes before it is closed must get another one
        task = asyncio.get_running_loop().create_task(self._closed(shared))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _take_out(self, shared: Shared) -> None:
        if self._open.get(shared.channel.session_id) is shared:
            del self._open[shared.channel.session_id]

    async def _closed(self, shared: Shared) -> None:
        self._take_out(shared)
        if shared.timer is not None:
            shared.timer.cancel()
        if shared.channel.gone:
            self._timelines.forget(shared.channel.session_id)
        await shared.resources.aclose()
