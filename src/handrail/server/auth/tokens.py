"""Tokens: what programs and browsers show to be let in. Only hashes of them are stored."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from handrail.errors import StoreError
from handrail.server.auth.secret_words import TOKEN_PREFIX, hashed, new_secret
from handrail.server.problems import Problem
from handrail.server.roles import ROLES, Role
from handrail.store.base import TokenRow
from handrail.wording import listed

if TYPE_CHECKING:
    from handrail.store.base import Store

__all__ = ["Tokens", "check_identity"]

logger = logging.getLogger("handrail.server.auth")

Kind: TypeAlias = Literal["browser", "program", "ingress"]
"""A browser's token is a cookie, a program's stands in the Authorization header; neither is taken elsewhere. One of the
kind "ingress" lets a Claude Code dial in for one session, and does nothing else."""

DAY = 86_400.0
LONGEST_DAYS = 3650
LONGEST_NAME = 100
TOUCH_EVERY = 60.0
"""How exactly the last use of a token is known, in seconds."""


class Tokens:
    """The tokens of a hub. Whoever keeps something open for a token asks to be told when it ends."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._listeners: list[Callable[[str], None]] = []
        self._touched: dict[str, float] = {}
        self._ended: set[str] = set()
        self._expiries: dict[str, asyncio.TimerHandle] = {}

    async def mint(
        self, name: str, role: Role, kind: Kind = "program", days: float | None = None, created_by: str = ""
    ) -> tuple[TokenRow, str]:
        """A new token, and its secret, which cannot be had again. `days` is how long it is good for; None: always."""
        check_identity(name, role)
        _check_days(days)
        secret = new_secret(TOKEN_PREFIX)
        now = self._clock()
        row = TokenRow(
            id=secrets.token_hex(6),
            name=name.strip(),
            role=role,
            kind=kind,
            secret_hash=hashed(secret),
            created_at=now,
            expires_at=None if days is None else now + days * DAY,
            created_by=created_by,
        )
        await self._store.add_token(row)
        return row, secret

    async def find(self, secret: str, kind: Kind | None = None) -> TokenRow | None:
        """The token with this secret, if it is (still) good."""
        if not secret.startswith(TOKEN_PREFIX):
            return None
        digest = hashed(secret)
        row = await self._store.token_by_hash(digest)
        if row is None or not hmac.compare_digest(row.secret_hash, digest):
            return None
        if (kind is not None and row.kind != kind) or self._is_over(row):
            return None
        self._watch_expiry(row)
        await self._touch(row)
        # Somebody may have revoked it meanwhile: what is opened for it from here on, listeners are told to close.
        return None if row.id in self._ended else row

    async def list(self) -> list[TokenRow]:
        """Every token that was ever made, revoked ones too."""
        return await self._store.tokens()

    async def revoke(self, token_id: str) -> None:
        """End a token, and whatever is open for it, at once. Raises `Problem` if there is none."""
        revoked = await self._store.revoke_token(token_id, self._clock())
        if not revoked and not any(row.id == token_id for row in await self.list()):
            raise Problem("token_not_found", f"there is no token {token_id}")
        self._end(token_id)

    def on_revoked(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the id of each token that is revoked or expires; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Wait for no token to expire any more."""
        for timer in self._expiries.values():
            timer.cancel()
        self._expiries.clear()

    def _is_over(self, row: TokenRow) -> bool:
        expired = row.expires_at is not None and row.expires_at <= self._clock()
        return row.revoked_at is not None or expired or row.id in self._ended

    async def _touch(self, row: TokenRow) -> None:
        now = self._clock()
        last = max(self._touched.get(row.id, 0.0), row.last_used_at or 0.0)
        if now - last < TOUCH_EVERY:
            return
        self._touched[row.id] = now
        try:
            await self._store.touch_token(row.id, now)
        except StoreError as error:  # where nothing can be written, people must still be able to look
            logger.warning("the last use of token %s cannot be stored: %s", row.id, error)

    def _watch_expiry(self, row: TokenRow) -> None:
        """What is open for a token must not outlive it: an expiry is told like a revocation."""
        if row.expires_at is not None and row.id not in self._expiries:
            loop = asyncio.get_running_loop()
            self._expiries[row.id] = loop.call_later(row.expires_at - self._clock(), self._expire, row)

    def _expire(self, row: TokenRow) -> None:
        self._expiries.pop(row.id, None)
        if self._is_over(row):
            self._end(row.id)
        else:  # the loop's clock and the calendar went apart, as when the machine slept
            self._watch_expiry(row)

    def _end(self, token_id: str) -> None:
        self._ended.add(token_id)
        self._touched.pop(token_id, None)
        timer = self._expiries.pop(token_id, None)
        if timer is not None:
            timer.cancel()
        for listener in tuple(self._listeners):
            try:
                listener(token_id)
            except Exception:  # one listener's mistake must not keep the others' sockets open
                logger.exception("what was open for the token %s could not be closed", token_id)


def check_identity(name: str, role: str) -> None:
    """Raise `Problem` unless somebody can be called so, and be that."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise Problem("invalid", f"a token needs a name of 1 to {LONGEST_NAME} printable characters")
    if role not in ROLES:
        raise Problem("invalid", f"there is no role {role!r}: there is {listed(ROLES)}")


def _check_days(days: float | None) -> None:
    if days is not None and not 0 < days <= LONGEST_DAYS:
        raise Problem("invalid", f"a token is good for up to {LONGEST_DAYS} days, or without end: not for {days:g}")
