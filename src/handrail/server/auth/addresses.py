"""Hosts and origins as requests name them, read strictly: what is not exactly one is none."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple

__all__ = ["DEFAULT_PORTS", "Host", "Origin", "is_loopback", "parse_host", "parse_origin", "stays_here"]

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
LONGEST_NAME = 253

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,254})(?::(?P<port>[1-9][0-9]{0,4}))?", re.ASCII | re.I)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#@\\]+)", re.ASCII | re.I)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class Host(NamedTuple):
    """A name, or an IP address in its shortest form without brackets, and a port."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"{_bracketed(self.name)}:{self.port}"


class Origin(NamedTuple):
    """Where a page comes from."""

    scheme: str
    host: Host

    def __str__(self) -> str:
        usual = DEFAULT_PORTS[self.scheme] == self.host.port
        return f"{self.scheme}://{_bracketed(self.host.name) if usual else self.host}"


def parse_host(text: str, *, default_port: int) -> Host | None:
    """`name`, `name:port`, `1.2.3.4:port` or `[::1]:port`; None for everything else."""
    found = _HOST.fullmatch(text)
    if found is None:
        return None
    name = _name(found["name"].lower())
    port = int(found["port"] or default_port)
    return Host(name, port) if name is not None and port <= 65535 else None


def parse_origin(text: str) -> Origin | None:
    """`https://name` or `http://name:port`, as browsers write it; None for everything else, `null` too."""
    found = _ORIGIN.fullmatch(text)
    if found is None:
        return None
    scheme = found["scheme"].lower()
    host = parse_host(found["host"], default_port=DEFAULT_PORTS[scheme])
    return None if host is None else Origin(scheme, host)


def is_loopback(name: str) -> bool:
    """Whether only this machine can reach what listens on this name or address."""
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def stays_here(name: str) -> bool:
    """Whether this name is looked for on one's own machine only."""
    return is_loopback(name) or name.endswith(".localhost")


def _name(name: str) -> str | None:
    if name.startswith("["):
        return _address(name[1:-1], 6)
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # Browsers take any name whose end is a number for an IPv4 address: only the plain form of one is taken here.
        return _address(name, 4)
    fits = len(name) <= LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)
    return name if fits else None


def _address(text: str, version: int) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return str(address) if address.version == version else None


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
