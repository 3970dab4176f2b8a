"""The headers that every answer carries, so that a browser does not let anything near the page that is not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from starlette.types import Message, Send

__all__ = ["API_POLICY", "PAGE_POLICY", "with_safe_headers"]

PAGE_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types handrail",
    ]
)
"""For the page: nothing inline, nothing from elsewhere, HTML only through the one policy that the page defines."""

API_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
"""For what is not meant to be looked at by itself: if a browser is made to show it, nothing in it runs."""

_SWITCHED_OFF = (
    "accelerometer",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "hid",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
)

ALWAYS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "origin-agent-cluster": "?1",
    # Claude may write a link whose host name carries a secret: looking the name up would give it away.
    "x-dns-prefetch-control": "off",
    "permissions-policy": ", ".join(f"{feature}=()" for feature in _SWITCHED_OFF),
}


def is_page(path: str) -> bool:
    """Whether an address belongs to the page, and not to the API."""
    return not (path == "/metrics" or path == "/api" or path.startswith("/api/"))


def with_safe_headers(send: Send, path: str) -> Send:
    """`send`, with these headers added. Whoever answers can set a content policy or caching of their own."""

    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            _add(MutableHeaders(scope=message), path)
        await send(message)

    return sending


def _add(headers: MutableHeaders, path: str) -> None:
    for name, value in ALWAYS.items():
        headers[name] = value
    headers.setdefault("content-security-policy", PAGE_POLICY if is_page(path) else API_POLICY)
    if not is_page(path):
        headers.setdefault("cache-control", "no-store")
