"""The guards in front of every request and every socket: who is called, from where, how large, and with what headers.

They need no token and know no route: what they refuse, no handler sees. A page that a hostile site opens in the same
browser cannot reach the API through them, whatever name it gives our address (DNS rebinding) and whatever it sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from handrail.server.auth.addresses import DEFAULT_PORTS, parse_host, parse_origin
from handrail.server.auth.binding import Binding
from handrail.server.auth.bodies import check_declared, largest_body, serve_bounded
from handrail.server.auth.headers import is_page, with_safe_headers
from handrail.server.auth.proxies import as_the_caller_sent_it
from handrail.server.auth.refusing import refuse
from handrail.server.auth.requests import Headers, is_local_process
from handrail.server.auth.secret_words import contains_secret
from handrail.server.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from handrail.server.hub import HubSettings

__all__ = ["Guards"]

READING = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITE = frozenset({"same-origin", "none"})
"""What browsers say of requests that our own page, or nobody but the person, has made."""
VISITED = frozenset({"document", "empty"})
"""What a visit asks for: a document, or nothing in particular when our own service worker passes the visit on."""
SECRET_NAMES = frozenset({"token", "access_token", "api_key", "authorization", "code", "login", "handrail_session"})
"""Parameters in which people would put a secret."""
OF_A_PROXY = ("origin", "cookie", "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Headers that no program of ours sends through the hub's own socket: somebody lets others use it."""


class Guards:
    """An ASGI application around another. Raises `ConfigError` if the hub must not be reached so."""

    def __init__(self, app: ASGIApp, settings: HubSettings) -> None:
        self._app = app
        self._binding = Binding.of(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        send = with_safe_headers(send, scope["path"])
        try:
            scope = self._admitted(scope)
        except Problem as problem:
            await refuse(scope, send, problem)
            return
        if scope["type"] == "http":
            await serve_bounded(self._app, scope, receive, send, largest=largest_body(scope["path"]), refuse=refuse)
        else:
            await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> Scope:
        """The scope as the application shall see it. Raises `Problem` for what must not reach it."""
        headers = Headers(scope)
        _check_address(scope)
        check_declared(headers.all("content-length"), largest_body(scope["path"]))
        if is_local_process(scope):
            _check_directness(headers)
            return scope
        self._check_wire(scope)
        scope = as_the_caller_sent_it(scope, headers, self._binding)
        headers = Headers(scope)
        self._check_host(scope, headers)
        _check_site(scope, headers)
        self._check_origin(scope, headers)
        return scope

    def _check_wire(self, scope: Scope) -> None:
        address = (scope.get("client") or ("",))[0]
        if not self._binding.takes_from(address):
            raise Problem(
                "wrong_origin",
                "this hub is behind a proxy, and the request did not come through it: use the hub's public address; "
                f"if {address} is the proxy, name it among the hub's proxies",
            )

    def _check_host(self, scope: Scope, headers: Headers) -> None:
        given = headers.one("host")
        if given is None:
            raise Problem("bad_request", "the header Host is missing")
        host = parse_host(given, default_port=DEFAULT_PORTS["https" if is_secure(scope) else "http"])
        if host is None:
            raise Problem("bad_request", "the header Host must be a name or an address, and a port if it is not usual")
        if host not in self._binding.hosts:
            raise Problem(
                "wrong_host",
                f"the hub is not known as {host}: use the address that `handrail serve` prints, or add this one to "
                "the hub's allowed hosts",
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        given = headers.one("origin")
        if given is not None:
            if parse_origin(given) not in self._binding.origins:
                raise Problem("wrong_origin", "the request comes from a page that is not the hub's own")
            return
        # Browsers name the origin of whatever changes something, and cannot be made to send this header elsewhere.
        if _only_reads(scope) or "authorization" in headers:
            return
        raise Problem(
            "wrong_origin", "a request that changes something needs an Origin header, or a token in Authorization"
        )


def is_secure(scope: Scope) -> bool:
    """Whether the caller speaks TLS, with us or with our proxy."""
    return scope["scheme"] in ("https", "wss")


def _only_reads(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in READING


def _check_address(scope: Scope) -> None:
    path = scope["path"]
    if not path.startswith("/") or any(character < " " or character == "\x7f" for character in path):
        raise Problem("bad_request", "the path must begin with / and have no control characters")
    query = scope.get("query_string", b"").decode("latin-1")
    names = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    if names & SECRET_NAMES or contains_secret(unquote(query)) or contains_secret(path):
        raise Problem(
            "secret_in_address",
            "a secret in an address ends up in logs and histories: send tokens in the header "
            "`Authorization: Bearer …`, and make a new one, since this one was seen",
        )


def _check_directness(headers: Headers) -> None:
    seen = [name for name in OF_A_PROXY if name in headers]
    if seen:
        raise Problem(
            "wrong_origin",
            f"the hub's own socket is for programs of its user, not for browsers or proxies (it saw {seen[0]!r}): "
            "let a proxy use the hub's address instead",
        )


def _check_site(scope: Scope, headers: Headers) -> None:
    """What the browser itself says of where a request comes from."""
    site = headers.one("sec-fetch-site")
    if site is None or site in OWN_SITE or _is_visit(scope, headers):
        return
    raise Problem("wrong_origin", f"the request comes from another site ({site})")


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether somebody followed a link to the page, as from a chat. The page itself is the same for everybody."""
    return (
        _only_reads(scope)
        and is_page(scope["path"])
        and headers.one("sec-fetch-mode") == "navigate"
        and headers.one("sec-fetch-dest") in VISITED
    )
