"""What changes among the sessions of a hub: which of them, how each stands, and what waits in it for a person."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

__all__ = ["HubChange", "HubWatch", "OnHubChange", "WaitingAsk"]

logger = logging.getLogger("handrail.hub")


class WaitingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An ask that can be answered: it waits, or was lost with its process and can be answered by resuming."""

    id: str
    digest: str
    kind: str = ""
    state: str = "pending"


class HubChange(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it stands after a change, and what waits in it."""

    session_id: str
    title: str = ""
    cwd: str = ""
    status: str = ""
    """needs_you, running, queued, waiting, idle, failed or stopped; empty for one that is not listed any more."""
    live: bool = False
    last_seq: int = 0
    """The number of its last event, or one shortly before that."""
    host: str = ""
    """The name of the host that runs it; empty for the hub's own machine."""
    host_state: str = ""
    """Of that host: connected, away, draining or revoked."""
    updated_at: float = 0.0
    asks: tuple[WaitingAsk, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Whether it is still there, and not archived."""
        return bool(self.status)


OnHubChange: TypeAlias = Callable[[HubChange], None]
"""Is told of a change. It must not wait."""


class HubWatch:
    """Puts the hub's messages about its list together, and says what each of them changed."""

    def __init__(self, listener: OnHubChange) -> None:
        self._listener = listener
        self._sessions: dict[str, HubChange] = {}
        self._asks: dict[str, dict[str, WaitingAsk]] = {}

    def take(self, home: dict[str, Any]) -> None:
        """One message of the hub's: all there is, or what changed since the one before."""
        told = msgspec.convert(home, _Home)
        touched: dict[str, None] = {}
        if told.reset:
            # A list begins with the latest sessions: that one is not on it does not mean that it is gone.
            touched |= dict.fromkeys(self._asks)
            self._asks.clear()
        for session in told.sessions:
            self._sessions[session.id] = _standing(session)
        for card in told.asks:
            waiting = WaitingAsk(id=card.ask_id, digest=card.digest, kind=card.kind, state=card.state)
            self._asks.setdefault(card.session, {})[card.ask_id] = waiting
        for closed in told.closed_asks:
            self._asks.get(closed.session, {}).pop(closed.ask, None)
        for session_id in told.removed_sessions:
            self._sessions.pop(session_id, None)
            self._asks.pop(session_id, None)
        touched |= dict.fromkeys(each.id for each in told.sessions)
        touched |= dict.fromkeys(card.session for card in told.asks)
        touched |= dict.fromkeys(closed.session for closed in told.closed_asks)
        self._tell((*touched, *told.removed_sessions))

    def _tell(self, session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            known = self._sessions.get(session_id) or HubChange(session_id=session_id)
            asks = tuple(self._asks.get(session_id, {}).values())
            try:
                self._listener(msgspec.structs.replace(known, asks=asks))
            except Exception:  # it is not ours
                logger.exception("a callback of a hub failed")


# ---------------------------------------------------------------- as the hub says it


class _Session(msgspec.Struct):
    id: str
    title: str = ""
    cwd: str = ""
    status: str = ""
    live: bool = False
    last_seq: int = 0
    host_name: str = ""
    host_state: str = ""
    updated_at: float = 0.0


class _Card(msgspec.Struct):
    session: str
    ask_id: str
    digest: str
    kind: str = ""
    state: str = "pending"


class _Closed(msgspec.Struct):
    session: str
    ask: str


class _Home(msgspec.Struct):
    reset: bool = False
    sessions: list[_Session] = []
    asks: list[_Card] = []
    removed_sessions: list[str] = []
    closed_asks: list[_Closed] = []


def _standing(session: _Session) -> HubChange:
    return HubChange(
        session_id=session.id,
        title=session.title,
        cwd=session.cwd,
        status=session.status,
        live=session.live,
        last_seq=session.last_seq,
        host=session.host_name,
        host_state=session.host_state,
        updated_at=session.updated_at,
    )
