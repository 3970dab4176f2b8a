"""What `handrail host` says on its terminal: whether the hub is there, and what runs here meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from rich.console import Console
from rich.text import Text

from handrail.cli.commands.wording import from_home, short_id
from handrail.cli.showing.amounts import short_duration
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET, RUNNING
from handrail.errors import StoreError
from handrail.policy.describing.visible import one_line
from handrail.sessions.stirred import EVERY_SESSION, Stirred
from handrail.store.base import SessionFilter, SessionRow, Store

if TYPE_CHECKING:
    from handrail.host.agent import News

__all__ = ["HubTold", "Say", "SessionsTold", "Telling", "session_news"]

Say: TypeAlias = Callable[[str, str], None]
"""Says something: its colour, and words."""

PAUSE: Final = 0.5

SAID: Final[Mapping[str, tuple[str, str]]] = {
    "needs_you": (NEEDS_YOU, "waits for an answer"),
    "running": (RUNNING, "works"),
    "queued": (QUIET, "waits for its turn"),
    "idle": (DONE, "is done, and waits for the next message"),
    "failed": (FAILED, "failed"),
    "stopped": (QUIET, "has ended"),
}


class Telling:
    """Lines with the time at which each was true."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.time) -> None:
        self._console = console
        self._clock = clock

    def say(self, colour: str, text: str) -> None:
        """Say something."""
        now = time.strftime("%H:%M:%S  ", time.localtime(self._clock()))
        self._console.print(Hanging(Text(now, QUIET), notice(colour, text)))


class HubTold:
    """Says whether the hub is there: once for each change, however often it is tried."""

    def __init__(self, say: Say, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._away_since: float | None = None
        self._was_there = False
        self._reason = ""
        self.leaving = False
        """Whether the agent itself ends: that it takes no more sessions then goes without saying."""

    def hear(self, news: News) -> None:
        """The agent has something to say."""
        match news.kind:
            case "connected":
                self._say(DONE, f"connected{self._after()}")
                self._was_there, self._away_since, self._reason = True, None, ""
            case "lost" | "refused":
                self._lost(news)
            case "draining" if not self.leaving:
                self._say(NEEDS_YOU, "the hub starts no more sessions here; what runs goes on")
            case "undrained":
                self._say(DONE, "the hub starts sessions here again")

    def _lost(self, news: News) -> None:
        if self._away_since is None:
            self._away_since = self._clock()
        if news.text != self._reason:
            self._reason = news.text
            colour = FAILED if news.kind == "refused" else NEEDS_YOU
            self._say(colour, f"{news.text}; trying again until it is there. What runs here goes on.")

    def _after(self) -> str:
        if self._away_since is None or not self._was_there:
            return ""
        return f" again, after {short_duration(self._clock() - self._away_since)}"


class SessionsTold:
    """Says what becomes of the sessions of a store, while it is open. Used with `async with`."""

    def __init__(self, store: Store, say: Say, *, pause: float = PAUSE) -> None:
        self._store = store
        self._say = say
        self._known: dict[str, str] = {}
        self._stirred = Stirred(store, changed=self._tell_of, pause=pause)

    async def __aenter__(self) -> Self:
        rows = await self._store.list_sessions(SessionFilter(archived=None), limit=EVERY_SESSION)
        self._known = {row.id: row.status for row in rows}
        self._stirred.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stirred.stop()
        await self._stirred.hand_on()

    async def _tell_of(self, session_id: str) -> None:
        try:
            row = await self._store.get_session(session_id)
        except StoreError:
            return  # the agent itself says what is wrong with the store
        before = self._known.pop(session_id, None)
        if row is None:
            return
        self._known[row.id] = row.status
        if said := session_news(row, before):
            self._say(*said)


def session_news(row: SessionRow, before: str | None) -> tuple[str, str] | None:
    """What is new about a session that had the status `before`, or was not there: a colour and words."""
    name = f"{short_id(row.id)} {one_line(row.title)}".rstrip()
    if before is None:
        return RUNNING, f"{name}: started in {from_home(row.cwd)}"
    if before == row.status:
        return None
    colour, words = SAID.get(row.status, (QUIET, row.status))
    return colour, f"{name}: {words}"
