"""Enrolment codes: each lets one machine become a host, once, within ten minutes. Kept in memory only, and hashed."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from handrail.server.auth.rate_limit import RateLimit
from handrail.server.auth.secret_words import ENROLMENT_PREFIX, hashed, new_secret
from handrail.server.problems import Problem

__all__ = ["LIFETIME", "Enrolment", "Enrolments", "ReplayedCode"]

LIFETIME = 600.0
"""How long a code is good for, in seconds."""
MOST_CODES = 100
"""How many codes can be open at a time; beyond that the oldest is forgotten."""
USED_REMEMBERED = 1_000
"""How many used codes are known again when they come a second time."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What a code lets its bearer become: a host with this name, or with one of its own choice."""

    name: str
    expires_at: float
    created_by: str = ""


class ReplayedCode(Problem):
    """A code that was used before: somebody else may have seen it. `by` is the host that it let in."""

    def __init__(self, by: str) -> None:
        super().__init__(
            "wrong_code",
            f"this enrolment code was used already, by {by}: if that was not you, revoke that host; "
            "`handrail host enrol` prints a new code",
        )
        self.by = by


class Enrolments:
    """The codes that were given out."""

    def __init__(self, clock: Callable[[], float] = time.time, limit: RateLimit | None = None) -> None:
        self._clock = clock
        self._limit = limit or RateLimit()
        self._open: dict[str, Enrolment] = {}
        self._used: OrderedDict[str, str] = OrderedDict()

    def offer(self, *, name: str = "", created_by: str = "") -> tuple[str, Enrolment]:
        """A new code, and what it is good for."""
        self._forget_expired()
        while len(self._open) >= MOST_CODES:
            del self._open[next(iter(self._open))]
        code = new_secret(ENROLMENT_PREFIX)
        enrolment = Enrolment(name, self._clock() + LIFETIME, created_by)
        self._open[hashed(code)] = enrolment
        return code, enrolment

    def exchange(self, code: str, name: str, address: str) -> Enrolment:
        """Use a code up, for a host of this name. Raises `Problem` if it is not good, or `address` tries too often."""
        wait = self._limit.take(address)
        if wait > 0:
            seconds = math.ceil(wait)
            raise Problem(
                "too_many_requests",
                f"too many attempts to enrol: try again in {seconds} s",
                headers={"retry-after": str(seconds)},
            )
        key = hashed(code)
        if key in self._used:
            raise ReplayedCode(self._used[key])
        enrolment = self._open.pop(key, None)
        if enrolment is None or enrolment.expires_at <= self._clock():
            raise Problem(
                "wrong_code",
                "this enrolment code is wrong or too old (it works once, for ten minutes): `handrail host enrol` "
                "prints a new one",
            )
        self._remember(key, enrolment.name or name)
        return enrolment

    def give_back(self, code: str, enrolment: Enrolment) -> None:
        """Let a code be used after all: what it was exchanged for did not come about."""
        key = hashed(code)
        self._used.pop(key, None)
        self._open[key] = enrolment

    @property
    def pending(self) -> int:
        """How many codes were given out and not used yet."""
        self._forget_expired()
        return len(self._open)

    def _remember(self, key: str, name: str) -> None:
        self._used[key] = name
        while len(self._used) > USED_REMEMBERED:
            self._used.popitem(last=False)

    def _forget_expired(self) -> None:
        now = self._clock()
        self._open = {key: enrolment for key, enrolment in self._open.items() if enrolment.expires_at > now}
