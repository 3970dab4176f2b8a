"""Requests to a hub: through its socket on this machine, or over the network with a token."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import Any

import httpx2
import msgspec

from handrail import errors
from handrail.remote.errors import HubError, HubUnreachable
from handrail.remote.hub_file import RunningHub

__all__ = ["HubConnection"]

SECONDS = 120.0
"""Starting a session takes a while, and Claude Code may take its time to answer."""
ANYWHERE = "http://handrail"
"""The name of the hub where there is none: behind its socket."""


class HubConnection:
    """One hub. Opened and closed with `async with`."""

    def __init__(self, *, url: str = "", token: str = "", socket: str | None = None) -> None:
        self.url = url.rstrip("/")
        self.socket = socket
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        transport = httpx2.AsyncHTTPTransport(uds=socket) if socket is not None else None
        self._client = httpx2.AsyncClient(
            base_url=ANYWHERE if socket is not None else self.url,
            transport=transport,
            headers=self._headers,
            timeout=SECONDS,
            verify=ssl.create_default_context() if self.url.startswith("https:") and socket is None else False,
            trust_env=False,  # a proxy of the environment is not the way to a hub
        )

    @classmethod
    def local(cls, hub: RunningHub) -> HubConnection:
        """The hub of this user on this machine."""
        return cls(url=hub.url, socket=hub.socket)

    async def __aenter__(self) -> HubConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    @property
    def headers(self) -> Mapping[str, str]:
        """What a request carries that says who asks."""
        return self._headers

    async def get(self, path: str, into: Any = Any, **query: Any) -> Any:
        """Read something."""
        return await self._answered("GET", path, into, params=_given(query))

    async def post(self, path: str, into: Any = None, *, body: Any = None, key: str | None = None) -> Any:
        """Do something. Tried again with the same `key` it is done once."""
        return await self.act("POST", path, into, body=body, key=key)

    async def act(self, method: str, path: str, into: Any = None, *, body: Any = None, key: str | None = None) -> Any:
        """The same for any method."""
        headers = {"idempotency-key": key} if key is not None else {}
        content = None if body is None else msgspec.json.encode(body)
        if content is not None:
            headers["content-type"] = "application/json"
        return await self._answered(method, path, into, content=content, headers=headers)

    async def text(self, path: str, **query: Any) -> str:
        """A document that is not JSON."""
        return (await self._sent("GET", path, params=_given(query))).text

    async def _answered(self, method: str, path: str, into: Any, **how: Any) -> Any:
        response = await self._sent(method, path, **how)
        if into is None or not response.content:
            return None
        try:
            return msgspec.json.decode(response.content, type=into)
        except msgspec.MsgspecError as error:
            raise HubError(
                f"the hub's answer cannot be read ({error}): is it of another version?", code="unread", status=0
            ) from None

    async def _sent(self, method: str, path: str, **how: Any) -> httpx2.Response:
        try:
            response = await self._client.request(method, path, **how)
        except (httpx2.ConnectError, FileNotFoundError) as error:
            raise HubUnreachable(f"there is no hub at {self.url or self.socket}: {error}") from None
        except (httpx2.HTTPError, ssl.SSLError) as error:
            raise HubUnreachable(f"the hub at {self.url} does not answer: {type(error).__name__} {error}") from None
        if response.status_code >= 400:
            raise _error_of(response)
        return response


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
    "session_busy": errors.SessionBusy,
    "session_not_live": errors.SessionNotLive,
    "session_limit": errors.SessionLimit,
    "session_error": errors.SessionError,
    "store_unavailable": errors.StoreError,
    "cli_not_found": errors.CLINotFound,
    "invalid_options": errors.InvalidOptions,
    "launch_failed": errors.LaunchError,
    "process_exited": errors.ProcessError,
}
"""The error of each problem that a program would have met without a hub, too."""


def _error_of(response: httpx2.Response) -> errors.HandrailError:
    try:
        told = msgspec.json.decode(response.content, type=dict[str, Any])
    except msgspec.MsgspecError:
        told = {}
    code, detail = str(told.get("code", "")), str(told.get("detail") or f"the hub answered {response.status_code}")
    match code:
        case "already_decided":
            return errors.AlreadyDecided(detail, actor=str(told.get("by", "")), at=float(told.get("at") or 0.0))
        case "ask_closed" | "ask_not_found":
            return errors.AskClosed(detail, state=str(told.get("state", "unknown")))
    known = _ERRORS.get(code)
    return known(detail) if known is not None else HubError(detail, code=code, status=response.status_code)
