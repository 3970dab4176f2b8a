"""What a store keeps for those who use sessions from elsewhere: tokens, who did what, and answers already given."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

__all__ = ["AccessStore", "AuditRow", "KeptReply", "TokenKind", "TokenRow"]

TokenKind: TypeAlias = Literal["browser", "program", "ingress"]


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A token. Of its secret the store knows only `secret_hash`: SHA-256, in hexadecimal digits."""

    id: str
    name: str
    role: str
    kind: TokenKind
    secret_hash: str
    created_at: float
    last_used_at: float | None = None
    expires_at: float | None = None
    revoked_at: float | None = None
    created_by: str = ""


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """Who did what, and what came of it. The store gives `number`, which rises."""

    at: float
    actor: str
    surface: str
    action: str
    session_id: str = ""
    ask_id: str = ""
    outcome: str = ""
    detail: str = ""
    number: int = 0


class KeptReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request that a caller marked with a key. `status` is None while it is being worked on.

    `headers` is JSON.
    """

    caller: str
    key: str
    request_hash: str
    at: float
    status: int | None = None
    body: bytes = b""
    headers: bytes = b"{}"


class AccessStore(Protocol):
    """Tokens, the audit log, and kept replies. What they say is never judged here, only kept."""

    async def add_token(self, row: TokenRow) -> None:
        """Add a token, durably. Raises `StoreError` if there is one with this id or hash."""

    async def tokens(self) -> list[TokenRow]:
        """All of them, oldest first: also those that expired or were revoked."""

    async def token_by_hash(self, secret_hash: str) -> TokenRow | None:
        """The token with this secret, whether it still holds or not: that is for the caller to see."""

    async def touch_token(self, token_id: str, at: float) -> None:
        """It was used at that time."""

    async def revoke_token(self, token_id: str, at: float) -> bool:
        """It no longer holds, durably; returns whether it was there and had not been revoked before."""

    async def audit(self, row: AuditRow) -> None:
        """Add to the audit log."""

    async def audit_log(
        self, *, before: int | None = None, limit: int = 100, session_id: str | None = None
    ) -> list[AuditRow]:
        """The latest entries first; `before` is the number of the last one of the page before."""

    async def begin_reply(self, begun: KeptReply, *, forget_before: float) -> KeptReply | None:
        """Take a key: of any number of callers at once, exactly one gets None, and does what was requested.

        All others get what is kept under that caller and key, whatever the request: its `request_hash` tells whether
        it is the same one, its `status` whether it is answered yet. What was begun before `forget_before` counts for
        nothing.
        """

    async def keep_reply(self, reply: KeptReply) -> None:
        """Keep the answer to what was begun, in its place."""

    async def drop_reply(self, caller: str, key: str) -> None:
        """Nothing came of it: the next one may try. An answer that is kept stays."""

    async def forget_replies(self, *, before: float, unfinished_before: float | None = None) -> int:
        """Remove what was begun before a time; what was never answered, before another one. Returns how many."""
