"""The tokens with which Claude Codes dial in: each is good for one session, and for nothing else."""

from __future__ import annotations

from typing import Final

from handrail.server.auth.secret_words import TOKEN_PREFIX, is_secret
from handrail.server.auth.tokens import Tokens
from handrail.store.base import TokenRow

__all__ = ["Passes", "shown_token"]

KIND: Final = "ingress"
NAME: Final = "ingress "


class Passes:
    """Makes and checks them. They are tokens of the hub, so they are hashed, listed and revoked like all others."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def mint(self, session_id: str, *, created_by: str) -> str:
        """A new token for a session; those that it had end."""
        await self.revoke(session_id)
        _, secret = await self._tokens.mint(NAME + session_id, "viewer", KIND, created_by=created_by)
        return secret

    async def holder(self, session_id: str, secret: str) -> TokenRow | None:
        """The token, if it is good for this session."""
        row = await self._tokens.find(secret, kind=KIND)
        return row if row is not None and row.name == NAME + session_id else None

    async def of(self, session_id: str) -> list[TokenRow]:
        """Every token that a session has had, the oldest first."""
        return [row for row in await self._tokens.list() if row.kind == KIND and row.name == NAME + session_id]

    async def all(self) -> dict[str, TokenRow]:
        """The last token of each session that has had one."""
        return {row.name.removeprefix(NAME): row for row in await self._tokens.list() if row.kind == KIND}

    async def revoke(self, session_id: str) -> int:
        """End the tokens of a session; returns how many were good."""
        good = [row for row in await self.of(session_id) if row.revoked_at is None]
        for row in good:
            await self._tokens.revoke(row.id)
        return len(good)


def shown_token(authorization: str | None) -> str | None:
    """The token in a header; None if there is none, or something that cannot be one and need not be looked up."""
    scheme, _, secret = (authorization or "").partition(" ")
    secret = secret.strip()
    return secret if scheme.lower() == "bearer" and is_secret(secret, TOKEN_PREFIX) else None
