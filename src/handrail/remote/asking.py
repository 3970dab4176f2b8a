"""Answers what the sessions of a hub ask, whoever started them: a callback that is called for each ask."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec

from handrail.errors import DecisionRefused, HandrailError, StaleDigest
from handrail.protocol.asks import Ask
from handrail.remote.live import LivePool
from handrail.remote.reading import RemoteStore
from handrail.sessions.ask_records import ask_of
from handrail.sessions.asks import AnyAnswer
from handrail.sessions.session import Session
from handrail.store.base import AskRow

__all__ = ["AskWatch", "OnHubAsk"]

logger = logging.getLogger("handrail.hub")

OnHubAsk: TypeAlias = Callable[[Ask, Session], Awaitable[AnyAnswer | None]]
"""Answers an ask of a session. None leaves it to whoever else answers."""

RETRY = 2.0


class AskWatch:
    """Calls back for each ask that waits, and for those that come, of one session or of all; each of them once."""

    def __init__(
        self,
        answer: OnHubAsk,
        *,
        session_id: str | None,
        store: RemoteStore,
        live: LivePool,
        session: Callable[[str], Session],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._answer = answer
        self._session_id = session_id
        self._store = store
        self._session = session
        self._on_error = on_error
        self._stirred = asyncio.Event()
        self._seen: set[tuple[str, str, str]] = set()
        self._consulting: set[asyncio.Task[None]] = set()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="handrail asks of a hub")
        self._stop_listening = live.on_home(self._stirs)

    def stop(self) -> None:
        """Call back no more."""
        self._stop_listening()
        self._task.cancel()
        for task in self._consulting:
            task.cancel()

    async def close(self) -> None:
        self.stop()
        with suppress(asyncio.CancelledError):
            await self._task
        await asyncio.gather(*self._consulting, return_exceptions=True)

    def _stirs(self, home: dict[str, Any]) -> None:
        """Something was asked or answered; or the connection is back, and who knows what was."""
        if home.get("reset") or home.get("asks"):
            self._stirred.set()

    async def _run(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            try:
                waiting = await self._store.asks(self._session_id, states=("pending",))
            except HandrailError as error:
                self._on_error(error)
                await asyncio.sleep(RETRY)
                self._stirred.set()
                continue
            self._seen &= {_key(row) for row in waiting}
            for row in waiting:
                if _key(row) not in self._seen:
                    self._seen.add(_key(row))
                    self._consult(row)

    def _consult(self, row: AskRow) -> None:
        task = asyncio.get_running_loop().create_task(self._decide(row))
        self._consulting.add(task)
        task.add_done_callback(self._consulting.discard)

    async def _decide(self, row: AskRow) -> None:
        session = self._session(row.session_id)
        try:
            answer = await self._answer(ask_of(msgspec.json.decode(row.body)), session)
            if answer is not None:
                await session.decide(row.id, answer, digest=row.digest)
        except StaleDigest:
            self._stirred.set()  # what is asked is not what was shown: it is shown again
        except DecisionRefused as error:
            logger.debug("an answer came too late, or did not fit: %s", error)
        except Exception as error:  # a callback may raise anything; the ask waits for people
            logger.warning("on_ask failed", exc_info=error)
            self._on_error(error)


def _key(row: AskRow) -> tuple[str, str, str]:
    return row.session_id, row.id, row.digest
