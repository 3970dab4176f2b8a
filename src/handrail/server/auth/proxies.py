"""What a proxy in front of the hub says of a request: believed only of the proxies that were named."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from handrail.server.auth.addresses import parse_origin

if TYPE_CHECKING:
    from starlette.types import Scope

    from handrail.server.auth.binding import Binding
    from handrail.server.auth.requests import Headers

__all__ = ["as_the_caller_sent_it"]

_SECURE = {"http": False, "ws": False, "https": True, "wss": True}


def as_the_caller_sent_it(scope: Scope, headers: Headers, binding: Binding) -> Scope:
    """The scope with the scheme, host and address that the caller has used to reach the proxy."""
    client = scope.get("client")
    if not client or not binding.believes(client[0]):
        return scope
    host = headers.last("x-forwarded-host") or headers.one("host") or ""
    return {
        **scope,
        "scheme": _scheme(scope, headers.last("x-forwarded-proto"), host, binding),
        "headers": [*((name, value) for name, value in scope["headers"] if name.lower() != b"host"), _header(host)],
        "client": (_caller_address(client[0], headers.all("x-forwarded-for"), binding), 0),
    }


def _scheme(scope: Scope, forwarded: str | None, host: str, binding: Binding) -> str:
    secure = _SECURE.get((forwarded or "").lower())
    if secure is None:
        # A proxy that does not say so still serves the public address in the public way.
        secure = _SECURE[scope["scheme"]] or _is_public(host, binding)
    if scope["type"] == "websocket":
        return "wss" if secure else "ws"
    return "https" if secure else "http"


def _is_public(host: str, binding: Binding) -> bool:
    public = binding.public
    return public is not None and public.scheme == "https" and parse_origin(f"https://{host}") == public


def _header(host: str) -> tuple[bytes, bytes]:
    return b"host", host.encode("latin-1")


def _caller_address(proxy: str, forwarded: list[str], binding: Binding) -> str:
    """The nearest address that is not one of our proxies: what stands before it anybody may have written."""
    nearest = proxy
    for entry in reversed([part.strip() for header in forwarded for part in header.split(",")]):
        try:
            nearest = str(ipaddress.ip_address(entry))
        except ValueError:
            break
        if not binding.believes(nearest):
            break
    return nearest
