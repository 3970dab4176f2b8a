"""Checks how the hub is to be reached before it starts, and knows the names and origins that are its own."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from handrail.errors import ConfigError
from handrail.server.auth.addresses import (
    DEFAULT_PORTS,
    Host,
    Origin,
    is_loopback,
    parse_host,
    parse_origin,
    stays_here,
)

if TYPE_CHECKING:
    from handrail.server.hub import HubSettings

__all__ = ["Binding", "check_binding"]

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1", "handrail.localhost")
"""The last is for those who want no neighbours: browsers send cookies to every port of a name."""
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  recognised, not bound to


@dataclass(frozen=True, slots=True)
class Binding:
    """Under which names the hub may be called, from which pages, and which proxies it believes."""

    scheme: str
    """What the hub itself speaks: `https` with a certificate."""
    hosts: frozenset[Host]
    origins: frozenset[Origin]
    proxies: tuple[Network, ...] = ()
    """Empty unless it is behind a proxy."""
    public: Origin | None = None

    @classmethod
    def of(cls, settings: HubSettings) -> Binding:
        """Raises `ConfigError`, which says what to do, if the hub must not be started so."""
        host = _bound_host(settings)
        public = _public(settings)
        _check_exposure(settings, host)
        scheme = "https" if settings.tls_certificate else "http"
        origins = {Origin(scheme, Host(name, settings.port)) for name in (*_own_names(host), *LOOPBACK_NAMES)}
        origins |= {public} if public else set()
        for entry in settings.allowed_hosts:
            origins |= _allowed(entry, settings, scheme)
        return cls(
            scheme=scheme,
            hosts=frozenset(origin.host for origin in origins),
            origins=frozenset(origins),
            proxies=_networks(settings.proxies) if settings.behind_proxy else (),
            public=public,
        )

    def believes(self, address: str) -> bool:
        """Whether this is the address of a proxy of ours."""
        parsed = _ip(address)
        return parsed is not None and any(parsed in network for network in self.proxies)

    def takes_from(self, address: str) -> bool:
        """Whether a connection from there is safe from eavesdroppers: through a proxy, with TLS, or of this machine."""
        return self.scheme == "https" or is_loopback(address) or not self.proxies or self.believes(address)


def check_binding(settings: HubSettings) -> Binding:
    """Everything that can be known before the hub starts. Raises `ConfigError`, which says what to do."""
    binding = Binding.of(settings)
    if settings.tls_certificate:
        _check_certificate(settings.tls_certificate, settings.tls_key)
    return binding


def _bound_host(settings: HubSettings) -> str:
    if not 0 <= settings.port <= 65535:
        raise ConfigError(f"the port must be a number up to 65535, not {settings.port}")
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    host = parse_host(name, default_port=1)
    if host is None or host.port != 1:
        raise ConfigError(
            f"the hub cannot listen on {settings.host!r}: give a host name or an IP address, and the port by itself"
        )
    return host.name


def _check_exposure(settings: HubSettings, host: str) -> None:
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        raise ConfigError("TLS needs both a certificate and its key: one of them is missing")
    named = settings.public_url or settings.allowed_hosts
    if settings.behind_proxy and not named:
        raise ConfigError(
            "behind a proxy the hub must know the address that people open: "
            "give it as the public URL (--public-url https://hub.example.org)"
        )
    if is_loopback(host):
        return
    if not settings.tls_certificate and not settings.behind_proxy:
        raise ConfigError(
            f"{settings.host} can be reached from other machines, where anybody on the way could read the tokens: "
            "listen on 127.0.0.1, or give a certificate and key (--tls-certificate, --tls-key), "
            "or say that a proxy in front of the hub speaks TLS (--behind-proxy)"
        )
    if host in EVERYWHERE and not named:
        raise ConfigError(
            f"{settings.host} stands for every address of this machine: say which one people open, "
            "as the public URL (--public-url https://hub.example.org)"
        )


def _public(settings: HubSettings) -> Origin | None:
    if settings.public_url is None:
        return None
    origin = parse_origin(settings.public_url.removesuffix("/"))
    if origin is None:
        raise ConfigError(
            f"the public URL must be like https://hub.example.org or https://hub.example.org:8443, "
            f"without a path, a user or anything else: {settings.public_url!r} is not"
        )
    if origin.scheme == "http" and not stays_here(origin.host.name):
        raise ConfigError(
            f"the public URL must begin with https:// ({settings.public_url!r} does not): without TLS anybody on the "
            "way could read the tokens, and browsers switch off notifications and installing"
        )
    return origin


def _own_names(host: str) -> tuple[str, ...]:
    return () if host in EVERYWHERE else (host,)


def _allowed(entry: str, settings: HubSettings, own_scheme: str) -> set[Origin]:
    """The origins that an entry of the allowed hosts stands for."""
    origin = parse_origin(entry)
    if origin is not None:
        return {origin}
    scheme = "https" if settings.behind_proxy else own_scheme
    host = parse_host(entry, default_port=DEFAULT_PORTS[scheme])
    if host is None:
        raise ConfigError(
            f"an allowed host is a name, a name and a port, or an origin such as https://hub.example.org: "
            f"{entry!r} is not"
        )
    exact = parse_host(entry, default_port=0)
    if exact is not None and exact.port:
        return {Origin(scheme, host)}
    return {Origin(scheme, host), Origin(own_scheme, Host(host.name, settings.port))}


def _networks(proxies: tuple[str, ...]) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(proxy, strict=False) for proxy in proxies)
    except ValueError as error:
        raise ConfigError(f"a proxy is given as an IP address or a network such as 10.0.0.0/8: {error}") from None


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed


def _check_certificate(certificate: str, key: str | None) -> None:
    import ssl  # only those who serve TLS themselves need it

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except FileNotFoundError as error:
        missing = error.filename or f"{certificate} or {key}"
        raise ConfigError(f"the certificate or its key is not there: {missing}") from None
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(
            f"the certificate {certificate} and the key {key} cannot be used: {error}. "
            "They must be PEM files that belong together, and the key must not have a password"
        ) from None


def _no_password() -> str:
    """Without this OpenSSL would ask on the terminal."""
    raise ValueError("the key has a password")
