"""Login links: a code that lets one browser in, once, within five minutes. Kept in memory only, and hashed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from handrail.server.auth.rate_limit import RateLimit
from handrail.server.auth.secret_words import CODE_PREFIX, hashed, new_secret
from handrail.server.auth.tokens import check_identity
from handrail.server.problems import Problem
from handrail.server.roles import Role

__all__ = ["BROWSER", "LIFETIME", "Login", "Logins"]

LIFETIME = 300.0
"""How long a code is good for, in seconds."""
MOST_CODES = 100
"""How many codes can be open at a time; beyond that the oldest is forgotten."""
BROWSER = "browser"
"""The name of a login that nobody gave one."""


@dataclass(frozen=True, slots=True)
class Login:
    """What a code lets its bearer become."""

    role: Role
    name: str
    expires_at: float
    created_by: str = ""


class Logins:
    """The codes that were given out and not used yet."""

    def __init__(self, clock: Callable[[], float] = time.time, limit: RateLimit | None = None) -> None:
        self._clock = clock
        self._limit = limit or RateLimit()
        self._open: dict[str, Login] = {}

    def link(self, url: str, *, role: Role = "owner", name: str = "", created_by: str = "") -> str:
        """A link that logs a browser in. The code is in the fragment, which browsers send to no server."""
        return f"{url.rstrip('/')}/#login={self.offer(role=role, name=name, created_by=created_by)}"

    def offer(self, *, role: Role = "owner", name: str = "", created_by: str = "") -> str:
        """A new code. Raises `Problem` if nobody can be called so."""
        name = name or BROWSER
        check_identity(name, role)
        self._forget_expired()
        while len(self._open) >= MOST_CODES:
            del self._open[next(iter(self._open))]
        code = new_secret(CODE_PREFIX)
        self._open[hashed(code)] = Login(role, name, self._clock() + LIFETIME, created_by)
        return code

    def exchange(self, code: str, address: str) -> Login:
        """Use a code up. Raises `Problem` if it is not good, or `address` has tried too often."""
        wait = self._limit.take(address)
        if wait > 0:
            seconds = math.ceil(wait)
            raise Problem(
                "too_many_requests",
                f"too many attempts to log in: try again in {seconds} s",
                headers={"retry-after": str(seconds)},
            )
        login = self._open.pop(hashed(code), None)
        if login is None or login.expires_at <= self._clock():
            raise Problem("wrong_code", "a login link works once, for five minutes: `handrail login` prints a new one")
        return login

    def give_back(self, code: str, login: Login) -> None:
        """Let a code be used after all, because what it was exchanged for could not be stored."""
        self._open[hashed(code)] = login

    @property
    def pending(self) -> int:
        """How many codes were given out and not used yet."""
        self._forget_expired()
        return len(self._open)

    def _forget_expired(self) -> None:
        now = self._clock()
        self._open = {code: login for code, login in self._open.items() if login.expires_at > now}
