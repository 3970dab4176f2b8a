"""How this machine is a host: what the command line says, and else the configuration; checked before anything runs."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from typing import Final

from handrail.cli.hub_address import hub_address
from handrail.config import Config
from handrail.errors import ConfigError

__all__ = ["GivenHost", "HostSettings", "check_name", "default_name", "host_settings"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, kw_only=True)
class GivenHost:
    """The options of `handrail host`; None: as the configuration says."""

    hub: str | None = None
    name: str | None = None
    code: str | None = None
    roots: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    capacity: int | None = None


@dataclass(frozen=True, kw_only=True)
class HostSettings:
    """What holds. Without `hub`, it is the one that this machine was enrolled at."""

    hub: str | None
    name: str | None
    roots: tuple[str, ...]
    labels: tuple[str, ...] = ()
    capacity: int | None = None
    profiles: tuple[str, ...] = ()
    allow_bypass: bool = False
    drain_seconds: float = 30
    probe_hours: float = 0


def host_settings(given: GivenHost, config: Config) -> HostSettings:
    """The settings of the agent. Raises `ConfigError` for what cannot be right."""
    host = config.host
    hub = given.hub or host.hub
    name = given.name or host.name
    labels = given.labels if given.labels is not None else host.labels
    for label in labels:
        _check_word(label, "--label")
    if name is not None:
        check_name(name)
    return HostSettings(
        hub=hub_address(hub, "--hub" if given.hub else "host.hub") if hub is not None else None,
        name=name,
        roots=tuple(_root(path) for path in _whole(given.roots) or host.roots),
        labels=labels,
        capacity=given.capacity or host.capacity,
        profiles=host.profiles,
        allow_bypass=host.allow_bypass,
        drain_seconds=host.drain_seconds,
        probe_hours=host.probe_hours,
    )


def _whole(paths: tuple[str, ...] | None) -> list[str]:
    """Paths of the command line, which may be relative to where it was typed."""
    return [os.path.abspath(os.path.expanduser(path)) for path in paths or ()]


def default_name() -> str:
    """What this machine calls itself, as a host's name may be."""
    fitting = re.sub(r"[^A-Za-z0-9._-]+", "-", socket.gethostname()).strip("._-")[:63]
    return fitting or "host"


def check_name(name: str) -> None:
    """Raise `ConfigError` unless a host may be called so."""
    _check_word(name, "--name")


def _check_word(word: str, where: str) -> None:
    if not _NAME.fullmatch(word):
        raise ConfigError(
            f"{where} takes letters, digits, dots and dashes, at most 63 of them, the first a letter or a digit: "
            f"{word!r} is not of that kind"
        )


def _root(path: str) -> str:
    expanded = os.path.expanduser(path)
    if not os.path.isabs(expanded):
        raise ConfigError(
            f"host.roots takes whole paths, beginning with / or ~: {path!r} is another one in each directory"
        )
    if not os.path.isdir(expanded):
        raise ConfigError(f"there is no directory {path!r} to start sessions in: create it, or name another --root")
    return os.path.realpath(expanded)
