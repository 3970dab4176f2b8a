"""Logging a browser in with the code of a login link, and out again."""

from __future__ import annotations

import msgspec

from handrail.errors import StoreError
from handrail.server.auth.browsers import browser_name
from handrail.server.auth.cookies import cleared_cookie, session_cookie, shown_cookies
from handrail.server.auth.logins import BROWSER
from handrail.server.calls import Body, Call, Caller, Document, Nothing
from handrail.server.hub import Hub

__all__ = ["LOGIN_DAYS", "LoginBody", "login", "logout"]

LOGIN_DAYS = 30
"""How long a browser stays logged in."""
JSON = "application/json"


class LoginBody(Body, frozen=True):
    """The code that stands behind `#login=` in a login link."""

    code: str


async def login(hub: Hub, call: Call[LoginBody, Nothing]) -> Document:
    """Exchange the code of a login link for a cookie."""
    redeemed = hub.logins.exchange(call.body.code, call.address)
    name = redeemed.name
    if name == BROWSER:
        name = browser_name(call.headers.get("user-agent", ""), redeemed.created_by)
    try:
        row, secret = await hub.tokens.mint(
            name, redeemed.role, kind="browser", days=LOGIN_DAYS, created_by=redeemed.created_by
        )
    except StoreError:
        hub.logins.give_back(call.body.code, redeemed)
        raise
    await _end_former(hub, call)
    caller = Caller(name=row.name, role=redeemed.role, surface="web", token_id=row.id)
    await hub.audit.note(caller, "login.login", detail=f"token {row.id}")
    cookie = session_cookie(secret, secure=_is_secure(call.origin), max_age=LOGIN_DAYS * 86_400)
    return Document(msgspec.json.encode({"name": row.name, "role": row.role}), JSON, {"set-cookie": cookie})


async def logout(hub: Hub, call: Call[None, Nothing]) -> Document:
    """Give the cookie up: it is good for nothing afterwards, and what is open with it is closed."""
    if call.caller.surface == "web" and call.caller.token_id is not None:
        await hub.tokens.revoke(call.caller.token_id)
    return Document(b"", JSON, {"set-cookie": cleared_cookie(secure=_is_secure(call.origin))}, status=204)


async def _end_former(hub: Hub, call: Call[LoginBody, Nothing]) -> None:
    """The browser forgets the cookie that it had: nobody else shall have use for it."""
    for secret in shown_cookies([call.headers.get("cookie", "")], secure=_is_secure(call.origin)):
        former = await hub.tokens.find(secret, kind="browser")
        if former is not None:
            await hub.tokens.revoke(former.id)


def _is_secure(origin: str) -> bool:
    return origin.startswith("https://")
