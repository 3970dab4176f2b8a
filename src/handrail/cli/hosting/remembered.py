"""What `handrail host` was told when this machine was enrolled: it holds until somebody says otherwise.

Without it, a plain `handrail host` would offer the hub more than its owner chose at first.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

import msgspec

from handrail.cli.hosting.settings import GivenHost
from handrail.config.model import Host
from handrail.errors import ConfigError
from handrail.whole_files import write_whole

__all__ = ["remember", "with_remembered"]

FILE: Final = "offered.json"


class _Offered(msgspec.Struct, frozen=True, kw_only=True):
    roots: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    capacity: int | None = None


def remember(directory: str, given: GivenHost) -> None:
    """Keep what the command line said. Raises `ConfigError`."""
    roots = given.roots and tuple(os.path.abspath(os.path.expanduser(path)) for path in given.roots)
    offered = _Offered(roots=roots, labels=given.labels, capacity=given.capacity)
    path = os.path.join(directory, FILE)
    try:
        write_whole(path, msgspec.json.format(msgspec.json.encode(offered)) + b"\n")
    except OSError as error:
        raise ConfigError(f"{path}, which is to say what this host offers, cannot be written: {error}") from None


def with_remembered(given: GivenHost, configured: Host, directory: str) -> GivenHost:
    """The options, with those of the enrolment where neither they nor the configuration say anything.

    Raises `ConfigError`.
    """
    offered, unset = _load(os.path.join(directory, FILE)), Host()
    return replace(
        given,
        roots=given.roots or (offered.roots if configured.roots == unset.roots else None),
        labels=given.labels or (offered.labels if configured.labels == unset.labels else None),
        capacity=given.capacity or (offered.capacity if configured.capacity == unset.capacity else None),
    )


def _load(path: str) -> _Offered:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=_Offered)
    except FileNotFoundError:
        return _Offered()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}, which says what this host offers, cannot be read ({error}): remove it, and say it again with "
            "--root, --label and --capacity or in the settings [host]"
        ) from None
