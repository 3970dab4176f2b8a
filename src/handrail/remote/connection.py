"""Requests to a hub: through its socket on this machine, or over the network with a token."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from uuid import uuid4

import msgspec
from httpx2 import Response

from handrail import errors
from handrail.error_records import error_of
from handrail.link.problems import told_by
from handrail.link.wire import ErrorRecord
from handrail.places import Places
from handrail.remote.caller import SECONDS, HubCaller
from handrail.remote.errors import HubError, HubUnreachable
from handrail.remote.hub_file import RunningHub
from handrail.remote.pauses import Pauses

__all__ = ["HubConnection"]

ACTING: Final = "handrail-acting-for"
PASSING: Final = frozenset({502, 503, 504})
"""What a proxy answers while the hub behind it is away."""
OF_THE_REQUEST: Final = frozenset({400, 405, 411, 413, 414, 415, 431})
"""What a proxy answers to a request that it does not like, and will not like the next time."""
UNREAD: Final = "unread"
NO_HUBS: Final = frozenset({"", UNREAD})
"""The codes of what a hub does not say."""

Recover = Callable[[], Awaitable[Any]]
"""Looks whether something was done although nobody heard of it; gives what is then the answer, else None."""


async def _cannot_tell() -> None:
    return None


class HubConnection:
    """One hub. Opened and closed with `async with`.

    For `patience` seconds what fails because the hub cannot be reached is tried again. Each act carries a key, so that
    it is done once however often it is tried.
    """

    def __init__(self, *, url: str = "", token: str = "", socket: str | None = None, patience: float = 0.0) -> None:
        self.patience = patience
        self._caller = HubCaller(url=url, token=token, socket=socket)
        self._acting: Mapping[str, str] = {}

    @classmethod
    def local(cls, hub: RunningHub, *, patience: float = 0.0, places: Places | None = None) -> HubConnection:
        """The hub of this user on this machine; with `places`, also the next one that runs here."""
        connection = cls(url=hub.url, socket=hub.socket, patience=patience)
        connection._caller.places = places
        return connection

    def acting_for(self, header: str) -> HubConnection:
        """The same connection, on which everything is done for somebody else."""
        connection = HubConnection.__new__(HubConnection)
        connection.patience = self.patience
        connection._caller = self._caller
        connection._acting = {ACTING: header}
        return connection

    async def __aenter__(self) -> HubConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._caller.close()

    def look_again(self) -> None:
        """The hub cannot be reached where it was: one that was started anew listens elsewhere on this machine."""
        self._caller.look_again()

    @property
    def url(self) -> str:
        return self._caller.url

    @property
    def socket(self) -> str | None:
        """Its socket on this machine, if that is the way to it."""
        return self._caller.socket

    @property
    def tls(self) -> ssl.SSLContext | None:
        return self._caller.tls

    @property
    def may_use_proxies(self) -> bool:
        """Whether proxies that the environment names may be the way to it."""
        return self._caller.may_use_proxies

    @property
    def headers(self) -> Mapping[str, str]:
        """What a request carries that says who asks."""
        return self._caller.headers

    @property
    def where(self) -> str:
        """The hub in words."""
        return self._caller.where

    async def greet(self) -> None:
        """See at once whether the hub is there and lets us in. Raises `HubUnreachable` or `HubError`."""
        response = await self._answer("GET", "/api/me")
        if _is_anothers(response) and response.status_code not in PASSING:
            raise self._no_hub(response)
        try:
            _decoded(self._checked(response), _Caller)
        except HubError as error:
            raise (self._no_hub(response) if error.code in NO_HUBS else error) from None

    async def get(self, path: str, into: Any = Any, /, **query: Any) -> Any:
        """Read something."""
        return _decoded(await self._insisting("GET", path, _cannot_tell, params=_given(query)), into)

    async def post(
        self,
        path: str,
        into: Any = None,
        *,
        body: Any = None,
        key: str | None = None,
        recover: Recover = _cannot_tell,
        repeatable: bool = False,
    ) -> Any:
        """Do something. Tried again with the same `key` it is done once."""
        return await self.act("POST", path, into, body=body, key=key, recover=recover, repeatable=repeatable)

    async def act(
        self,
        method: str,
        path: str,
        into: Any = None,
        *,
        body: Any = None,
        key: str | None = None,
        recover: Recover = _cannot_tell,
        repeatable: bool = False,
    ) -> Any:
        """The same for any method.

        A hub that dies in the middle of something knows nothing of its key afterwards: before it is tried again,
        `recover` looks whether it was done. What is `repeatable` does no harm a second time, because it names what it
        makes: it is also tried again if a host was lost before it had said what became of it.
        """
        key = key or (uuid4().hex if self.patience else None)
        headers = {"idempotency-key": key} if key is not None else {}
        content = None if body is None else msgspec.json.encode(body)
        if content is not None:
            headers["content-type"] = "application/json"
        answer = await self._insisting(method, path, recover, repeatable=repeatable, content=content, headers=headers)
        return _decoded(answer, into) if isinstance(answer, Response) else answer

    async def text(self, path: str, /, **query: Any) -> str:
        """A document that is not JSON."""
        response: Response = await self._insisting("GET", path, _cannot_tell, params=_given(query))
        return response.text

    async def content(self, path: str, /, **query: Any) -> bytes:
        """The bytes of a file."""
        response: Response = await self._insisting("GET", path, _cannot_tell, params=_given(query))
        return response.content

    async def _insisting(
        self, method: str, path: str, recover: Recover, *, repeatable: bool = False, **how: Any
    ) -> Any:
        """The answer, or what was recovered instead."""
        began = time.monotonic()
        pauses = Pauses()
        while True:
            pause = pauses.next()
            try:
                return await self._sent(method, path, **how)
            except errors.HandrailError as error:
                if time.monotonic() + pause > began + self._patience_with(error, repeatable=repeatable):
                    raise
            await asyncio.sleep(pause)
            try:
                recovered = await recover()
            except HubUnreachable:
                continue
            if recovered is not None:
                return recovered

    def _patience_with(self, error: errors.HandrailError, *, repeatable: bool) -> float:
        """For how long to try again what failed so."""
        match error:
            case HubError(code="in_progress"):
                return SECONDS if self.patience else 0.0  # the same request, whose answer was not heard, goes on there
            case HubUnreachable() | HubError(code="stopping"):
                return self.patience
            case errors.OutcomeUnknown() if repeatable:
                return self.patience
        return 0.0

    async def _sent(self, method: str, path: str, **how: Any) -> Response:
        return self._checked(await self._answer(method, path, **how))

    async def _answer(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **how: Any
    ) -> Response:
        return await self._caller.call(method, path, headers={**(headers or {}), **self._acting}, **how)

    def _checked(self, response: Response) -> Response:
        """The answer of a hub that did what it was asked for. Raises what it says instead."""
        if _is_anothers(response):
            raise HubUnreachable(
                f"the hub at {self.where} cannot be reached: something else answers there, with {response.status_code}"
            )
        if response.status_code >= 400:
            raise _error_of(response, self.where)
        return response

    def _no_hub(self, response: Response) -> HubError:
        words = f"what answers at {self.where} is no hub, or one of another version: check the address"
        return HubError(words, code="no_hub", status=response.status_code)


def _is_anothers(response: Response) -> bool:
    """Whether somebody else refused in the hub's place, as a proxy that misses it does, or one that wants a login."""
    status = response.status_code
    return status >= 300 and status not in OF_THE_REQUEST and not told_by(response.content).code


def _decoded(response: Response, into: Any) -> Any:
    if into is None or not response.content:
        return None
    try:
        return msgspec.json.decode(response.content, type=into)
    except msgspec.MsgspecError as error:
        raise HubError(
            f"the hub's answer cannot be read ({error}): is it of another version?", code=UNREAD, status=0
        ) from None


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in query.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else value


_ERRORS: Mapping[str, type[errors.HandrailError]] = {
    "stale_digest": errors.StaleDigest,
    "unfit_answer": errors.UnfitAnswer,
    "self_approval": errors.SelfApproval,
    "invalid_policy": errors.PolicyError,
    "budget_spent": errors.BudgetSpent,
    "invalid_config": errors.ConfigError,
    "session_not_found": errors.SessionNotFound,
    "ambiguous_session": errors.AmbiguousSession,
    "session_exists": errors.SessionExists,
    "session_busy": errors.SessionBusy,
    "session_not_live": errors.SessionNotLive,
    "session_limit": errors.SessionLimit,
    "session_error": errors.SessionError,
    "store_unavailable": errors.StoreError,
    "cli_not_found": errors.CLINotFound,
    "invalid_options": errors.InvalidOptions,
    "launch_failed": errors.LaunchError,
    "process_exited": errors.ProcessError,
    "host_not_found": errors.HostNotFound,
    "host_away": errors.HostAway,
    "outcome_unknown": errors.OutcomeUnknown,
    "host_refused": errors.HostRefused,
}
"""The error of each problem that a program would have met without a hub, too, where the hub does not name it itself."""

BASE: Final = errors.HandrailError.__name__


class _Caller(msgspec.Struct):
    """Who asks, to a hub."""

    name: str
    role: str


class _Problem(msgspec.Struct):
    """What a hub says went wrong."""

    code: str = ""
    detail: str = ""
    error: dict[str, Any] = {}
    by: str = ""
    at: float = 0.0
    state: str = "unknown"


def _error_of(response: Response, where: str) -> errors.HandrailError:
    try:
        told = msgspec.json.decode(response.content, type=_Problem)
    except msgspec.MsgspecError:
        told = _Problem()
    detail = told.detail or f"what is in front of the hub at {where} answered {response.status_code}"
    kind = told.error.get("kind", BASE)
    if kind != BASE and kind in errors.__all__:
        return error_of(ErrorRecord(kind=kind, message=detail, fields=told.error.get("fields") or {}))
    match told.code:
        case "already_decided":
            return errors.AlreadyDecided(detail, actor=told.by, at=told.at)
        case "ask_closed" | "ask_not_found":
            return errors.AskClosed(detail, state=told.state)
    known = _ERRORS.get(told.code)
    return known(detail) if known is not None else HubError(detail, code=told.code, status=response.status_code)
