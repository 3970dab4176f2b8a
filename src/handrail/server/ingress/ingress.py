"""Where Claude Codes dial in: shows each to its seat, and turns away those that have none.

A session whose CLI is expected has a row and a token, and no engine. It is seated when that dials in: the first time,
after it was away for too long, or after the hub itself was; it may know more of the conversation than we do then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final
from weakref import WeakValueDictionary

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from handrail.errors import HandrailError, SessionBusy, SessionLimit, StoreError
from handrail.server.auth.bodies import LARGEST_POSTED
from handrail.server.auth.rate_limit import RateLimit
from handrail.server.auth.refusing import refuse
from handrail.server.auth.secret_words import hashed
from handrail.server.auth.tokens import Tokens
from handrail.server.ingress.passes import Passes, shown_token
from handrail.server.ingress.sockets import AsgiSocket
from handrail.server.problems import Problem, problem_of
from handrail.sessions.dialled_in import link_again
from handrail.sessions.manager import Manager
from handrail.store.base import SessionRow
from handrail.transports.ingress.posting import events_of
from handrail.transports.ingress.sockets import RETRY, STOP
from handrail.transports.ingress.transport import IngressTransport

__all__ = ["POSTS_PATH", "SOCKET_PATH", "Ingress"]

logger = logging.getLogger("handrail.server.ingress")

SOCKET_PATH: Final = "/v1/session_ingress/ws/{session}"
POSTS_PATH: Final = "/v1/session_ingress/session/{session}/events"
TURNED_AWAY_FOR: Final = 60.0
"""For how many seconds a CLI that was told to end is not seated again: 2.1.37 dials again all the same."""
REMEMBERED: Final = 1_000
LAST_ID: Final = "x-last-request-id"
STOPPED: Final = "stopped"
"""The status of a session that somebody has ended: one whose CLI is only away is another."""


class Ingress:
    """The seats of the Claude Codes that dial in. Used with `async with`."""

    def __init__(self, manager: Manager, tokens: Tokens, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.passes = Passes(tokens)
        self._manager = manager
        self._store = manager.store
        self._clock = clock
        self._seats: dict[str, IngressTransport] = {}
        self._tokens_of: dict[str, str] = {}
        """The token that each seat was taken with: session → token's id."""
        self._told: dict[str, float] = {}
        """Who was told to end, and when: sessions, and hashes of tokens that are no good."""
        self._ended_tokens: set[str] = set()
        """The ids of those that were ended: a seat may just be being taken with one."""
        self._taking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By session: to learn what one was told before takes a while, which holds up no other."""
        self._work: set[asyncio.Task[None]] = set()
        self._wrong_tokens = RateLimit(each=60, in_all=600)
        self._stopping = False

    async def __aenter__(self) -> Ingress:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def routes(self) -> list[BaseRoute]:
        """The addresses of the protocol."""
        return [
            WebSocketRoute(SOCKET_PATH, self.serve),
            Route(POSTS_PATH, _Posts(self), methods=["POST"]),
        ]

    def is_connected(self, session_id: str) -> bool:
        """Whether the CLI of a session has a socket now."""
        seat = self._seats.get(session_id)
        return seat is not None and seat.is_here

    def close_token(self, token_id: str) -> None:
        """A token is not valid any more: the CLI that has it is told to end."""
        self._ended_tokens.add(token_id)
        for session_id, taken_with in list(self._tokens_of.items()):
            seat = self._seats.get(session_id)
            if taken_with == token_id and seat is not None:
                logger.warning("the token of session %s was revoked: its Claude Code is told to end", session_id[:8])
                seat.around.notice("the token of this session was revoked: Claude Code was told to end")
                self._start(seat.close())

    async def stop(self) -> None:
        """Let the CLIs dial in again later. Idempotent."""
        self._stopping = True
        for seat in list(self._seats.values()):
            seat.parting = RETRY
            await seat.hang_up(RETRY, "the hub stops: dial in again")
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    # ------------------------------------------------------------ sockets

    async def serve(self, websocket: WebSocket) -> None:
        """Serve the socket of a CLI to its end."""
        session_id = websocket.path_params["session"]
        token = await self._admitted(websocket, session_id)
        if token is None:
            return
        last = websocket.headers.get(LAST_ID)
        seat = await self._seat_for(session_id, token, last)
        if isinstance(seat, IngressTransport):
            socket = AsgiSocket(websocket)
            await socket.accept(longest=LARGEST_POSTED)
            logger.info("the Claude Code of session %s has dialled in", session_id[:8])
            await seat.serve(socket, last_request_id=last)
        else:
            await self._turn_away(websocket, session_id, *seat)

    async def _admitted(self, websocket: WebSocket, session_id: str) -> str | None:
        """The id of the token that was shown; None if the socket was turned away."""
        secret = shown_token(websocket.headers.get("authorization"))
        try:
            row = await self.passes.holder(session_id, secret) if secret is not None else None
        except StoreError as error:
            logger.warning("nobody can be let in now: %s", error)
            await _accept_and_close(websocket, RETRY, "tokens cannot be looked up now: dial again")
            return None
        if row is not None:
            return row.id
        self.note_stranger(websocket, session_id)
        if secret is None:
            await refuse(websocket.scope, websocket.send, _Stranger())
        else:
            await self._turn_away(websocket, hashed(secret), STOP, "the token is not valid for this session")
        return None

    def note_stranger(self, connection: HTTPConnection, session_id: str) -> None:
        """Write down that somebody was refused, unless that is too often: strangers must not fill the log."""
        if self._wrong_tokens.take(connection.client.host if connection.client else "") == 0:
            logger.warning("a Claude Code for session %s was refused: its token is not good for that", session_id[:8])

    async def _turn_away(self, websocket: WebSocket, who: str, code: int, reason: str) -> None:
        """Close a socket with a code; or refuse it, if `who` was told to end and dials all the same.

        From 2.1.52 on a CLI ends when it gets the code, and some of those dial again if they are refused; 2.1.37 minds
        no code, and ends when it is refused.
        """
        if code != STOP or not self._was_told(who):
            if code == STOP:
                self._tell(who)
            await _accept_and_close(websocket, code, reason)
        else:
            await refuse(websocket.scope, websocket.send, Problem("not_authenticated", reason))

    def _was_told(self, who: str) -> bool:
        return self._clock() - self._told.get(who, -TURNED_AWAY_FOR) < TURNED_AWAY_FOR

    def _tell(self, who: str) -> None:
        self._told.pop(who, None)
        self._told[who] = self._clock()
        while len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]

    async def _seat_for(self, session_id: str, token_id: str, last: str | None) -> IngressTransport | tuple[int, str]:
        """The seat of a session's CLI, or with which code and words to turn it away."""
        lock = self._taking.setdefault(session_id, asyncio.Lock())  # it is kept by those who hold or await it
        async with lock:
            if self._stopping:
                return RETRY, "the hub stops: dial in again"
            seat = self._seats.get(session_id)
            if seat is not None and not seat.over.is_set():
                return seat
            try:
                return await self._new_seat(session_id, token_id, last)
            except StoreError as error:
                logger.warning("session %s cannot be seated now: %s", session_id[:8], error)
                return RETRY, "the session cannot be looked up now: dial again"

    async def _new_seat(self, session_id: str, token_id: str, last: str | None) -> IngressTransport | tuple[int, str]:
        """The same for a session that has none. A CLI that was there before names what it sent `last`."""
        if last is not None and self._was_told(session_id):
            return STOP, "the session was stopped"
        row = await self._store.get_session(session_id)
        if row is None or row.host:
            return STOP, "there is no such session any more"
        if last is not None and row.status == STOPPED:  # while the CLI was away, perhaps long ago
            return STOP, "the session was stopped"
        return await self._take_seat(row, token_id)

    async def _take_seat(self, row: SessionRow, token_id: str) -> IngressTransport | tuple[int, str]:
        seat = IngressTransport(await link_again(self._store, row))
        if token_id in self._ended_tokens:
            return STOP, "the token is not valid any more"
        if self._stopping:
            return RETRY, "the hub stops: dial in again"
        self._seats[row.id] = seat
        self._tokens_of[row.id] = token_id
        self._start(self._sit(row.id, seat))
        return seat

    async def _sit(self, session_id: str, seat: IngressTransport) -> None:
        """Make the session live, and wait until it is not any more."""
        try:
            await self._manager.receive(session_id, seat)
            await seat.over.wait()
            if seat.was_closed and seat.parting == STOP:
                self._tell(session_id)
        except HandrailError as error:
            logger.warning("session %s could not be seated: %s", session_id[:8], error)
            seat.parting = RETRY if isinstance(error, StoreError | SessionLimit | SessionBusy) else STOP
            await seat.close()
        finally:
            if self._seats.get(session_id) is seat:
                del self._seats[session_id]
                del self._tokens_of[session_id]

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    # ------------------------------------------------------------ POSTs

    async def seat_of_post(self, session_id: str, authorization: str | None) -> IngressTransport:
        """The seat of whoever posts. Raises `Problem`, which tells the CLI to try again where that may help."""
        secret = shown_token(authorization)
        if secret is None or await self.passes.holder(session_id, secret) is None:
            raise _Stranger
        seat = self._seats.get(session_id)
        if seat is None or seat.over.is_set() or self._stopping:
            raise Problem("stopping", "the session is not seated: dial in, then post again")
        return seat


class _Stranger(Problem):
    """Who calls has not shown the token of the session. Made for each: an error that is raised keeps what raised it."""

    def __init__(self) -> None:
        super().__init__("not_authenticated", "show the token of this session in the header `Authorization: Bearer …`")


async def _accept_and_close(websocket: WebSocket, code: int, reason: str) -> None:
    with suppress(OSError, RuntimeError):
        await websocket.accept()
        await websocket.close(code, reason)


class _Posts:
    """Takes what CLIs post. The answer is on its way before anything that follows from it."""

    def __init__(self, ingress: Ingress) -> None:
        self._ingress = ingress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        session_id = request.path_params["session"]
        try:
            seat = await self._ingress.seat_of_post(session_id, request.headers.get("authorization"))
            events = events_of(await request.body())
            if events is None:
                raise Problem("bad_request", 'the body must be {"events": […]}')
            async with seat.posted(events):
                await Response(b"{}", media_type="application/json")(scope, receive, send)
        except ClientDisconnect:
            logger.info("a POST of session %s was cut off: it comes again", session_id[:8])
        except HandrailError as error:
            if isinstance(error, _Stranger):
                self._ingress.note_stranger(request, session_id)
            else:
                logger.warning("a POST of session %s was refused: %s", session_id[:8], error)
            told = problem_of(error)
            await Response(told.content, told.status, headers=dict(told.headers))(scope, receive, send)
