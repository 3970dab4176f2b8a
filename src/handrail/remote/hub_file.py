"""Where a hub that runs on this machine can be reached: a small file that it leaves while it runs."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress

import msgspec

from handrail.places import Places

__all__ = ["RunningHub", "forget_hub", "hub_is_there", "remember_hub", "running_hub"]


class RunningHub(msgspec.Struct, frozen=True, kw_only=True):
    """A hub of this user on this machine: its process, its socket for commands, and the address of its page."""

    pid: int
    socket: str
    url: str
    version: str = ""


def remember_hub(places: Places, hub: RunningHub) -> None:
    """Say where the hub is. The file holds no secret: the socket itself lets only this user in."""
    path = _path(places)
    preliminary = f"{path}.{os.getpid()}"
    descriptor = os.open(preliminary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(hub))
    os.replace(preliminary, path)


def forget_hub(places: Places) -> None:
    """The hub of this process ends. Another one's is left alone."""
    found = _read(places)
    if found is not None and found.pid == os.getpid():
        with suppress(OSError):
            os.unlink(_path(places))


def running_hub(places: Places) -> RunningHub | None:
    """The hub that runs now, if one does. One that was killed left a file, but nobody listens there."""
    found = _read(places)
    return found if found is not None and hub_is_there(found) else None


def hub_is_there(hub: RunningHub) -> bool:
    """Whether somebody listens where the hub was."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            return probe.connect_ex(hub.socket) in (0, errno.EAGAIN)
        except (OSError, ValueError):
            return False


def _path(places: Places) -> str:
    return os.path.join(places.state, "hub.json")


def _read(places: Places) -> RunningHub | None:
    try:
        with open(_path(places), "rb") as file:
            return msgspec.json.decode(file.read(), type=RunningHub)
    except (OSError, msgspec.MsgspecError):
        return None
