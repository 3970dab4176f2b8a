"""What this host says of itself: its Claude Code, its directories, how busy it is, and what is wrong with it."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import msgspec

from handrail.errors import CLINotFound
from handrail.host.limits import HostLimits
from handrail.link.wire import CliFacts, HostFacts
from handrail.transports.discovery import find_cli
from handrail.transports.versions import cli_version

__all__ = ["FactsSource", "differ"]

MEGABYTE: Final = 1024 * 1024
TOO_LITTLE: Final = 64 * MEGABYTE
"""With less free space than this a journal may fail to be written at any moment."""
STEP: Final = 64 * MEGABYTE
"""Smaller changes of the free space are not worth telling."""


class FactsSource:
    """Looks at this machine. `directory` is where the journal lies; `env` is added to the environment of the CLI.

    `probe` gives what the last compatibility probe of a version of Claude Code found.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        limits: HostLimits,
        *,
        labels: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        probe: Callable[[str], dict[str, Any]] = lambda version: {},
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory = os.fspath(directory)
        self._limits = limits
        self._labels = tuple(labels)
        self._env = {**os.environ, **(env or {})}
        self._probe = probe
        self._clock = clock
        self._cli: CliFacts | None = None
        self._cli_stamp: tuple[object, ...] | None = None

    async def look(self, *, live: int = 0, draining: bool = False, trouble: str = "") -> HostFacts:
        """What is so now. `trouble` is what the agent knows to be wrong."""
        cli = await self.cli()
        free = _free_bytes(self._directory)
        return HostFacts(
            handrail=_handrail(),
            system=f"{platform.system()} {platform.release()}, {platform.machine()}",
            clis=(cli,) if cli is not None else (),
            roots=self._limits.directories.paths,
            labels=self._labels,
            capacity=self._limits.capacity,
            live=live,
            load=_load(),
            free_bytes=free,
            draining=draining,
            trouble="; ".join(filter(None, (_disk_trouble(free), trouble, "" if cli else _NO_CLI))),
            profiles=tuple(self._limits.profiles),
            starts_once=True,
            probe=self._probe(cli.version) if cli is not None else {},
            clock=self._clock(),
        )

    async def cli(self) -> CliFacts | None:
        """The Claude Code that sessions run on. It is asked for its version when its file has changed."""
        try:
            argv = find_cli(self._limits.defaults.cli_path, env=self._env).argv
        except CLINotFound:
            self._cli, self._cli_stamp = None, None
            return None
        stamp = (argv, *_stamp(argv[-1]))
        if stamp != self._cli_stamp:
            found = await cli_version(argv, self._env)
            words = ".".join(map(str, found)) if found is not None else ""
            self._cli, self._cli_stamp = CliFacts(version=words, path=argv[-1]), stamp
        return self._cli

    async def claude(self, params: dict[str, Any]) -> dict[str, Any]:
        """The command `claude`: what is known of the Claude Code of this machine."""
        cli = await self.cli()
        if cli is None:
            return {"found": False, "detail": _NO_CLI}
        return {"found": True, "version": cli.version, "path": cli.path, "logged_in": cli.logged_in}


def differ(one: HostFacts | None, other: HostFacts) -> bool:
    """Whether it is worth telling the hub again."""
    return one is None or _coarse(one) != _coarse(other)


_NO_CLI: Final = "there is no Claude Code on this machine, or not where Handrail looks"


def _coarse(facts: HostFacts) -> HostFacts:
    free = facts.free_bytes
    return msgspec.structs.replace(
        facts, clock=0.0, load=round(facts.load, 1), free_bytes=None if free is None else free // STEP
    )


def _free_bytes(directory: str) -> int | None:
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None


def _disk_trouble(free: int | None) -> str:
    if free is None or free >= TOO_LITTLE:
        return ""
    return f"the disk of its journal is full ({free // MEGABYTE} MB are left): make room there, or sessions will stop"


def _load() -> float:
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return 0.0


def _stamp(path: str) -> tuple[object, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _handrail() -> str:
    try:
        return version("handrail")
    except PackageNotFoundError:
        return ""
