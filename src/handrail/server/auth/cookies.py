"""The cookie that a browser holds: its token, out of reach of scripts and of other sites."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["cleared_cookie", "cookie_name", "session_cookie", "shown_cookies"]

NAME = "handrail_session"
SECURE_NAME = f"__Host-{NAME}"
"""Browsers take this name over TLS only, and from no other host: nobody can plant such a cookie."""
_TRIED = 4
"""How many cookies of our name are looked at: another server on this host may have set one, which is not ours."""


def cookie_name(*, secure: bool) -> str:
    """The cookie's name; `secure` is whether the browser speaks TLS."""
    return SECURE_NAME if secure else NAME


def session_cookie(secret: str, *, secure: bool, max_age: int) -> str:
    """The header value that gives a browser its token.

    It is strict about the site: the page itself needs no cookie, and whatever the page then asks for comes from our
    own site, so a link in a chat still opens it logged in.
    """
    attributes = f"Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict"
    return f"{cookie_name(secure=secure)}={secret}; {attributes}{'; Secure' if secure else ''}"


def cleared_cookie(*, secure: bool) -> str:
    """The header value that takes it away."""
    return session_cookie("", secure=secure, max_age=0)


def shown_cookies(headers: Iterable[str], *, secure: bool) -> list[str]:
    """The tokens in a request's Cookie headers. A name that does not fit the connection is not looked at."""
    name = cookie_name(secure=secure)
    pairs = (pair.strip().partition("=") for header in headers for pair in header.split(";"))
    return [value for key, sign, value in pairs if sign and key == name and value][:_TRIED]
