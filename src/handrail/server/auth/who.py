"""Says who calls: by the token in a header, by a browser's cookie, or by what the kernel knows of a local process."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from msgspec import structs

from handrail.server.auth.cookies import shown_cookies
from handrail.server.auth.guards import is_secure
from handrail.server.auth.peers import started_by_session
from handrail.server.auth.requests import Headers, local_process
from handrail.server.calls import Caller, Surface
from handrail.server.problems import Problem
from handrail.server.roles import Role

if TYPE_CHECKING:
    from starlette.types import Scope

    from handrail.server.auth.tokens import Tokens
    from handrail.store.base import TokenRow

__all__ = ["Authenticator"]

CHALLENGE = {"www-authenticate": 'Bearer realm="handrail"'}


class Authenticator:
    """Finds the caller of a request or a socket that the guards have let through."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        uid: int | None = None,
        is_of_a_session: Callable[[int], bool] = started_by_session,
    ) -> None:
        self._tokens = tokens
        self._uid = os.getuid() if uid is None else uid
        self._is_of_a_session = is_of_a_session

    async def authenticate(self, scope: Scope) -> Caller | None:
        """The caller; None if they show nothing, or an old cookie. Raises `Problem` for a token that is no good."""
        headers = Headers(scope)
        process = local_process(scope)
        authorization = headers.one("authorization")
        if process is not None:
            return await self._by_process(*process, authorization)
        if authorization is not None:
            return await self._by_header(authorization)
        return await self._by_cookie(headers, secure=is_secure(scope))

    async def _by_process(self, pid: int, uid: int, authorization: str | None) -> Caller:
        """A process of this machine, which may only read if a session started it: Claude must not answer for people."""
        held_back = await asyncio.to_thread(self._is_of_a_session, pid)
        caller = self._user(uid) if authorization is None else await self._by_header(authorization)
        if not held_back:
            return structs.replace(caller, pid=pid)
        return structs.replace(caller, pid=pid, name=f"{caller.name} (in a session)", role="viewer")

    def _user(self, uid: int) -> Caller:
        if uid != self._uid:
            raise Problem("not_authenticated", "this socket belongs to another user of this machine: use a token")
        return Caller(name=_user_name(uid), role="owner", surface="cli")

    async def _by_header(self, authorization: str) -> Caller:
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise Problem(
                "not_authenticated", "the header must be `Authorization: Bearer` and a token", headers=CHALLENGE
            )
        row = await self._tokens.find(secret.strip(), kind="program")
        if row is None:
            raise Problem(
                "not_authenticated",
                "this token is not known, or was revoked, or has expired: `handrail token new` makes one",
                headers=CHALLENGE,
            )
        return _caller(row, "api")

    async def _by_cookie(self, headers: Headers, *, secure: bool) -> Caller | None:
        for secret in shown_cookies(headers.all("cookie"), secure=secure):
            row = await self._tokens.find(secret, kind="browser")
            if row is not None:
                return _caller(row, "web")
        return None


def _caller(row: TokenRow, surface: Surface) -> Caller:
    return Caller(name=row.name, role=cast("Role", row.role), surface=surface, token_id=row.id)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container may run as a user that it has no name for
        return f"user {uid}"
