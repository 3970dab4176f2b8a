"""Who this host is to its hub: the name and key that its enrolment gave it."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from handrail.errors import ConfigError
from handrail.whole_files import write_whole

__all__ = ["HostIdentity", "load_identity", "save_identity"]

IDENTITY: Final = "identity.json"


class HostIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What an enrolment gives a host. `key` is a secret: whoever has it is this host."""

    hub: str
    """The hub's address, beginning with https:// (or, on its own machine, http://)."""
    host_id: str
    name: str
    key: str

    def __repr__(self) -> str:
        return f"HostIdentity(hub={self.hub!r}, host_id={self.host_id!r}, name={self.name!r}, key='…')"


def load_identity(directory: str | os.PathLike[str]) -> HostIdentity | None:
    """The identity that is kept in a directory; None if there is none. Raises `ConfigError`."""
    path = os.path.join(directory, IDENTITY)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=HostIdentity)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}, which says who this host is, cannot be read ({error}): remove it, and enrol this host again"
        ) from None


def save_identity(directory: str | os.PathLike[str], identity: HostIdentity) -> None:
    """Keep an identity, for its owner's eyes only. Raises `ConfigError`."""
    path = os.path.join(directory, IDENTITY)
    try:
        write_whole(path, msgspec.json.format(msgspec.json.encode(identity)) + b"\n")
    except OSError as error:
        raise ConfigError(f"{path}, which is to say who this host is, cannot be written: {error}") from None
