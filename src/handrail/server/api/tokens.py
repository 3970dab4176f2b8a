"""Tokens and login links: who may come in."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from msgspec import Meta

from handrail.server.auth.logins import LIFETIME
from handrail.server.auth.tokens import LONGEST_DAYS, LONGEST_NAME
from handrail.server.calls import Body, Call, Nothing, Page
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.server.roles import Role
from handrail.store.base import TokenKind, TokenRow

__all__ = ["list_all", "login_link", "mint", "revoke"]

Name = Annotated[str, Meta(max_length=LONGEST_NAME, description="Who or what uses it.")]


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token, without its secret. `current` is the one that this request was made with."""

    id: str
    name: str
    role: str
    kind: TokenKind
    created_at: float
    last_used_at: float | None
    expires_at: float | None
    revoked_at: float | None
    created_by: str
    current: bool


class NewToken(Body, frozen=True, kw_only=True):
    """A token to make."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, examples=["laptop"])]
    role: Role
    days: (
        Annotated[
            float, Meta(gt=0, le=LONGEST_DAYS, description="For how long it is good; unset: until it is revoked.")
        ]
        | None
    ) = None


class Minted(msgspec.Struct, frozen=True, kw_only=True):
    """A new token. `token` is its secret, which is shown this once."""

    id: str
    token: str
    expires_at: float | None


class NewLogin(Body, frozen=True):
    """A link that lets a browser in."""

    role: Role = "owner"
    name: Name = ""


class LoginLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that works once, until `expires_at`; and the same as a picture for a phone."""

    link: str
    qr_svg: str
    expires_at: float


async def list_all(hub: Hub, call: Call[None, Nothing]) -> Page[Token]:
    """Every token that was ever made, the oldest first. Secrets are not kept, and so not shown."""
    return Page(items=[_token(row, call.caller.token_id) for row in await hub.tokens.list()])


def _token(row: TokenRow, current: str | None) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        role=row.role,
        kind=row.kind,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        created_by=row.created_by,
        current=row.id == current,
    )


async def mint(hub: Hub, call: Call[NewToken, Nothing]) -> Minted:
    """Make a token for a program. Its secret is in the answer, and nowhere else."""
    wanted = call.body
    if call.headers.get("idempotency-key") is not None:
        raise Problem("invalid", "a token's secret is kept nowhere, so it cannot be answered again: send no key")
    row, secret = await hub.tokens.mint(wanted.name, wanted.role, "program", wanted.days, call.caller.name)
    call.made["token"] = row.id
    call.note(wanted.role, wanted.name)
    return Minted(id=row.id, token=secret, expires_at=row.expires_at)


async def revoke(hub: Hub, call: Call[None, Nothing]) -> None:
    """End a token, and everything that is open for it, at once."""
    await hub.tokens.revoke(call.path["token"])


async def login_link(hub: Hub, call: Call[NewLogin, Nothing]) -> LoginLink:
    """A link that lets one browser in, once, within five minutes."""
    if call.headers.get("idempotency-key") is not None:
        raise Problem("invalid", "a login code is kept nowhere, so it cannot be answered again: send no key")
    call.note(call.body.role, call.body.name)
    expires_at = time.time() + LIFETIME
    link = hub.logins.link(hub.settings.url, role=call.body.role, name=call.body.name, created_by=call.caller.name)
    return LoginLink(link=link, qr_svg=_qr(link), expires_at=expires_at)


def _qr(link: str) -> str:
    import segno

    return segno.make(link, error="m").svg_inline(border=4, scale=4, light="#fff")
