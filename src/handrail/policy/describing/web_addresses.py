"""Web addresses as a person should see them: the host that is really meant, and what is odd about the rest."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from handrail.policy.describing.deceptions import lookalikes
from handrail.protocol.descriptions import Flag

__all__ = ["address_flags", "host_of", "is_this_machine"]

LONGEST_QUERY = 300
_SECRETIVE = re.compile(r"(token|secret|passw|api_?key|access_?key|auth)[^=&]{0,20}=", re.IGNORECASE)


def host_of(address: str) -> str:
    """The host of an address, or of a bare `host:port`; empty if there is none."""
    parts = _split(address if "://" in address else f"//{address}" if _looks_like_host(address) else "")
    return _host(parts)


def _looks_like_host(text: str) -> bool:
    return re.match(r"^(localhost|[\w-]+(\.[\w-]+)*\.[a-z]{2,}|\d+\.\d+\.\d+\.\d+)(:\d+)?(/|$)", text) is not None


def _split(address: str) -> SplitResult | None:
    try:
        return urlsplit(address.strip())
    except ValueError:
        return None


def _host(parts: SplitResult | None) -> str:
    try:
        return (parts.hostname or "") if parts is not None else ""
    except ValueError:
        return ""


def is_this_machine(host: str) -> bool:
    """Whether an address leads back to this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    number = _number(host)
    return number is not None and (number.is_loopback or number.is_unspecified)


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def address_flags(address: str, where: str = "address") -> Iterator[Flag]:
    """What a person should know about an address."""
    parts = _split(address)
    host = _host(parts)
    if parts is None or not host:
        yield Flag(code="address", words="the address has no host that can be made out", where=where)
        return
    if "@" in parts.netloc:
        words = f"what stands before the @ is a user name: the host is {host}"
        yield Flag(code="address", words=words, where=where, level="high")
    yield from _host_flags(host, where)
    if parts.scheme == "http" and not is_this_machine(host):
        yield Flag(code="address", words="the connection is not encrypted", where=where, level="low")
    if len(parts.query) > LONGEST_QUERY:
        words = f"{len(parts.query):,} characters are sent along in the address"
        yield Flag(code="upload", words=words, where=where)
    if _SECRETIVE.search(parts.query):
        yield Flag(code="secrets", words="the address seems to carry a secret", where=where)


def _host_flags(host: str, where: str) -> Iterator[Flag]:
    if "xn--" in host:
        yield Flag(code="lookalike", words=f"the host {host} is written in other letters than it shows", where=where)
    yield from lookalikes(host, where, names=True)
    number = _number(host)
    if number is None:
        return
    if number.is_link_local:
        words = f"{host} is an address where cloud machines hand out credentials"
        yield Flag(code="address", words=words, where=where, level="high")
    elif number.is_private and not number.is_loopback:
        yield Flag(code="address", words=f"{host} is a machine of the local network", where=where)
    elif not number.is_loopback:
        yield Flag(code="address", words=f"{host} is a bare number, not a name", where=where, level="low")
