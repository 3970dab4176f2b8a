"""Takes in what Telegram sends: kept first, then handled, in order in each place, and no place waits for another.

What was not handled when the bridge ended is handled when it runs again. A button's work does not wait behind messages
of the same place, and whoever pressed it hears at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec

from handrail.errors import StoreError
from handrail.remote.errors import HubUnreachable
from handrail.remote.pauses import Pauses
from handrail.telegram.incoming import Update, decode_update
from handrail.telegram.state import BridgeState, KeptUpdate, Tables

__all__ = ["Intake", "Parcel"]

logger = logging.getLogger("handrail.telegram")

AT_ONCE: Final = 16
"""In how many places something is handled at the same time."""
ALBUM_PAUSE: Final = 1.5
"""How long after its last part an album is taken to be whole."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 15.0
"""Between attempts, while the hub or the database cannot be reached."""

PASSING: Final = (HubUnreachable, StoreError)
"""After these the same is tried again."""

Parcel: TypeAlias = Sequence[Update]
"""What is handled together: one update, or those of an album."""
Handle: TypeAlias = Callable[[Parcel], Awaitable[None]]
LaneName: TypeAlias = tuple[int, int, bool]


class Intake:
    """Keeps updates, and has each handled once.

    If `handle` raises `HubUnreachable` or a `StoreError`, the same is tried again, while others of its place wait.
    `hear` is told of each update at once, and `on_away` of what waits for the hub.
    """

    def __init__(
        self,
        state: BridgeState,
        handle: Handle,
        hear: Callable[[Update], None],
        *,
        on_away: Callable[[Parcel], Awaitable[None]],
        album_pause: float = ALBUM_PAUSE,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._state = state
        self._handle = handle
        self._hear = hear
        self._on_away = on_away
        self._album_pause = album_pause
        self._first_pause = first_pause
        self._lanes: dict[LaneName, _Lane] = {}
        self._albums: dict[tuple[int, str], _Album] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def keep(self, bodies: Iterable[bytes]) -> None:
        """Take updates as Telegram wrote them. They are not lost any more when this returns."""
        pairs = [(number, body) for body in bodies if (number := _number_of(body)) is not None]
        self._dispatch(await self._state.write(lambda tables: tables.keep(pairs)))

    async def take_up(self) -> None:
        """Go on with what was kept before and not handled."""
        self._dispatch(await self._state.read(lambda tables: tables.undone()))

    async def close(self) -> None:
        """Stop. What was not handled stays kept."""
        for album in self._albums.values():
            album.timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def is_idle(self) -> bool:
        """Whether everything that was kept is handled."""
        return not self._lanes and not self._albums

    # ------------------------------------------------------------ inside

    def _dispatch(self, kept: Iterable[KeptUpdate]) -> None:
        for each in kept:
            try:
                update = decode_update(each.body)
            except msgspec.MsgspecError as error:
                logger.warning("an update of Telegram's cannot be understood: %s", error)
                self._run(self._done([each.update_id]))
                continue
            self._hear(update)
            if not self._joins_album(update):
                self._enqueue((update,))

    def _joins_album(self, update: Update) -> bool:
        message = update.message
        if message is None or not message.media_group_id:
            return False
        name = (message.chat.id, message.media_group_id)
        album = self._albums.get(name)
        if album is not None:
            album.timer.cancel()
        else:
            album = self._albums[name] = _Album()
        album.updates.append(update)
        album.timer = asyncio.get_running_loop().call_later(self._album_pause, self._album_is_whole, name)
        return True

    def _album_is_whole(self, name: tuple[int, str]) -> None:
        album = self._albums.pop(name)
        self._enqueue(sorted(album.updates, key=lambda update: update.update_id))

    def _enqueue(self, parcel: Parcel) -> None:
        name = _lane_of(parcel[0])
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _Lane()
            lane.waiting.append(parcel)
            self._run(self._work(name, lane))
        else:
            lane.waiting.append(parcel)

    def _run(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, name: LaneName, lane: _Lane) -> None:
        try:
            while lane.waiting:
                await self._once(lane.waiting[0])
                lane.waiting.popleft()
        finally:
            del self._lanes[name]

    async def _once(self, parcel: Parcel) -> None:
        """Handle something until it could be; if the hub is away, that may take as long as it is."""
        pauses = Pauses(first=self._first_pause, longest=LONGEST_PAUSE)
        told = False
        while True:
            try:
                async with self._gate:
                    await self._attempt(parcel)
                return
            except HubUnreachable as error:
                logger.warning("a message waits for the hub: %s", error)
                told = told or await self._says_so(parcel)
            except StoreError as error:
                logger.warning("a message waits for the bridge's database: %s", error)
            await asyncio.sleep(pauses.next())

    async def _attempt(self, parcel: Parcel) -> None:
        try:
            await self._handle(parcel)
        except PASSING:
            raise
        except Exception:  # it would fail again, and hold up all that comes after it
            logger.exception("an update of Telegram's is given up")
        await self._done([update.update_id for update in parcel])

    async def _says_so(self, parcel: Parcel) -> bool:
        """Have people know that something waits for the hub; whether that could be said."""
        try:
            await self._on_away(parcel)
        except StoreError:
            return False
        return True

    async def _done(self, numbers: Sequence[int]) -> None:
        def done(tables: Tables) -> None:
            for number in numbers:
                tables.done(number)

        await self._state.write(done)


class _Lane:
    """What waits to be handled in one place."""

    def __init__(self) -> None:
        self.waiting: deque[Parcel] = deque()


class _Album:
    """Pictures and files that were sent together, as they come one by one."""

    def __init__(self) -> None:
        self.updates: list[Update] = []
        self.timer: asyncio.TimerHandle


class _Numbered(msgspec.Struct):
    update_id: int


def _number_of(body: bytes) -> int | None:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(body, type=_Numbered).update_id
    logger.warning("Telegram sent something that is no update")
    return None


def _lane_of(update: Update) -> LaneName:
    """Messages of one place go one behind the other, and so do its buttons."""
    place = update.place
    chat, thread = (place.chat, place.thread) if place is not None else (0, 0)
    return chat, thread, update.callback_query is not None
