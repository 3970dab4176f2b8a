"""An answer whose way was cut: what the ask says afterwards tells whether it was taken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from handrail.protocol.asks import Allow
from handrail.remote.connection import HubConnection
from handrail.remote.live import LivePool
from handrail.remote.reading import RemoteStore
from handrail.remote.seats import RemoteSeat
from handrail.sessions.asks import Actor
from handrail.store.base import AskRow, AskRowState

ANN = Actor("Ann", "telegram")
ALLOWED, DENIED = b'{"type":"allow"}', b'{"type":"deny","message":"no"}'


class CutConnection:
    """Knows of each request only what can be found out afterwards."""

    def __init__(self) -> None:
        self.found: bool | None = None

    async def post(self, path: str, *, body: Any, recover: Callable[[], Awaitable[bool | None]]) -> None:
        self.found = await recover()


class OneAsk:
    """What a hub has of an ask."""

    def __init__(self, state: AskRowState, answer: bytes | None) -> None:
        fields: dict[str, Any] = {"kind": "permission", "digest": "d1", "title": "", "body": b"{}", "opened_at": 1.0}
        self._row = AskRow(session_id="s1", id="a1", state=state, answer=answer, **fields)

    async def get_ask(self, session_id: str, ask_id: str) -> AskRow:
        return self._row


@pytest.mark.parametrize(
    ("state", "answer", "resume", "taken"),
    [
        ("pending", None, False, None),
        ("sent", ALLOWED, False, True),
        ("unsent", ALLOWED, False, True),
        ("sent", DENIED, False, None),
        ("lost", None, True, None),
        ("unsent", ALLOWED, True, None),
        ("resumed", ALLOWED, True, True),
        ("resumed", DENIED, True, None),
    ],
)
async def test_whether_an_answer_was_taken(
    state: AskRowState, answer: bytes | None, resume: bool, taken: bool | None
) -> None:
    """What was decided before and may not have got to Claude Code is not the answer that resumes the session."""
    connection = CutConnection()
    seat = RemoteSeat(
        "s1", cast(HubConnection, connection), cast(RemoteStore, OneAsk(state, answer)), cast(LivePool, None)
    )
    give = seat.answer_lost if resume else seat.decide
    await give("a1", Allow(), actor=ANN, digest="d1")
    assert connection.found is taken
