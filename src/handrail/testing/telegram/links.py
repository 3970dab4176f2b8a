"""Addresses as Telegram takes them: in entities and under buttons."""

from __future__ import annotations

import re

__all__ = ["checked_link"]

_PROTOCOL = re.compile(r"([^:/?#@\[\]]*)://")
_HOST = re.compile(r"[a-z0-9.\-_!$,~*'();&+=%\u0080-\U0010ffff]+|\[[0-9a-f:.]+\]")
_OWN = ("tg:", "ton:", "tonsite:")
"""Links into Telegram itself."""


def checked_link(link: str) -> str:
    """A link the way Telegram writes it. Raises `ValueError` with Telegram's reason if it takes none like it.

    Whatever has no protocol is taken for http, even `mailto:ann@example.org`, which so becomes a name and a host.
    """
    if link.lower().startswith(_OWN):
        return link
    protocol = _PROTOCOL.match(link)
    if protocol and protocol[1].lower() not in ("http", "https"):
        raise _invalid(link, "Unsupported URL protocol")
    rest = link[protocol.end() :] if protocol else link
    place, path = _split(rest)
    userinfo, at, host_and_port = place.rpartition("@")
    host, port = _host_and_port(link, host_and_port)
    if not host:
        raise _invalid(link, "URL host is empty")
    if not _HOST.fullmatch(host):
        raise _invalid(link, "Wrong URL host")
    if "." not in host and not host.startswith("["):
        raise _invalid(link, "Wrong HTTP URL")
    scheme = protocol[1].lower() if protocol else "http"
    return f"{scheme}://{userinfo}{at}{host}{port}{path}"


def _split(rest: str) -> tuple[str, str]:
    """The part with the host, and all that follows it, which begins with a slash."""
    found = re.search(r"[/?#]", rest)
    place, path = (rest[: found.start()], rest[found.start() :]) if found else (rest, "")
    path = path.rstrip().replace(" ", "%20")
    return place, path if path.startswith("/") else f"/{path}"


def _host_and_port(link: str, given: str) -> tuple[str, str]:
    host, colon, port = given.rpartition(":")
    if not colon or port.endswith("]"):
        return given.lower(), ""
    if not port.isdigit() or not 0 < int(port) <= 65535:
        raise _invalid(link, "Wrong port number specified in the URL")
    return host.lower(), f":{int(port)}"


def _invalid(link: str, reason: str) -> ValueError:
    return ValueError(f"URL '{link}' is invalid: {reason}")
