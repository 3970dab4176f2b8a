"""Who is at the other end of a Unix socket: the kernel says so, not they."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import NamedTuple

__all__ = ["Peer", "peer_of"]

# From <sys/un.h> of macOS; Python does not name all of them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED = struct.Struct("=II")  # the version of the structure, then the user; groups follow


class Peer(NamedTuple):
    """A process, and the user it runs as. A process of another container has the pid 0."""

    pid: int
    uid: int


def peer_of(descriptor: int) -> Peer:
    """The process that connected this socket. Raises `OSError`."""
    with socket.socket(fileno=os.dup(descriptor)) as link:
        if sys.platform == "linux":
            pid, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return Peer(pid, uid)
        _, uid = _XUCRED.unpack_from(link.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 128))
        return Peer(link.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), uid)
