"""What the last probes found, kept for whoever asks later: one entry for each version that was tried."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from handrail.errors import HandrailError
from handrail.places import Places
from handrail.testing.probing.comparing import Status
from handrail.whole_files import locked, write_whole

__all__ = ["KeptProbe", "ProbesUnreadable", "keep_probe", "kept_probe", "probe_facts", "probes_file"]

KEPT_AT_MOST = 20


class ProbesUnreadable(HandrailError):
    """The file of the last probes cannot be read, or not be written."""


class KeptProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe found, in a few words."""

    version: str
    """Of the Claude Code that was tried."""
    path: str
    at: float
    handrail: str
    """The Handrail that did it: another one may look at other things."""
    status: Status
    text: str
    findings: tuple[str, ...] = ()
    """What somebody should know, the worst first."""
    seconds: float = 0.0


class _File(msgspec.Struct, frozen=True, kw_only=True):
    probes: tuple[KeptProbe, ...] = ()
    """Latest first."""


def probes_file(places: Places) -> str:
    """Where they are kept."""
    return os.path.join(places.state, "probes.json")


def kept_probe(places: Places, version: str) -> KeptProbe | None:
    """The last probe of a version, if there was one. Raises `ProbesUnreadable`."""
    return next((probe for probe in _read(places).probes if probe.version == version), None)


def keep_probe(places: Places, probe: KeptProbe) -> None:
    """Remember what a probe found. Raises `ProbesUnreadable`; a file that is damaged is replaced."""
    path = probes_file(places)
    try:
        with locked(path):
            others = [each for each in _read_or_nothing(places).probes if each.version != probe.version]
            document = _File(probes=(probe, *others[: KEPT_AT_MOST - 1]))
            write_whole(path, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    except OSError as error:
        raise ProbesUnreadable(f"{path} cannot be written: {error.strerror or error}") from error


def probe_facts(places: Places, version: str) -> dict[str, Any]:
    """What is told of the last probe of a version elsewhere; nothing if there was none."""
    try:
        probe = kept_probe(places, version)
    except ProbesUnreadable:
        return {}
    if probe is None:
        return {}
    return {
        "version": probe.version,
        "at": probe.at,
        "status": probe.status,
        "text": probe.text,
        "findings": list(probe.findings),
    }


def _read(places: Places) -> _File:
    path = probes_file(places)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=_File)
    except FileNotFoundError:
        return _File()
    except OSError as error:
        raise ProbesUnreadable(f"{path} cannot be read: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProbesUnreadable(f"{path} is damaged: {error}") from error


def _read_or_nothing(places: Places) -> _File:
    try:
        return _read(places)
    except ProbesUnreadable:
        return _File()
