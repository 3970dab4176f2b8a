"""Where the owner of sessions listens, and the hub: a Unix socket that only this user can reach."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import tempfile
from contextlib import suppress

from handrail.errors import ConfigError
from handrail.sessions.owning.private_files import private_directory

__all__ = ["HUB", "OWNER", "OwnerSocket"]

OWNER, HUB = "owner-", "hub-"
"""How the names of sockets begin."""
_SUFFIX = ".sock"
_LONGEST_PATH = 103
"""What every system allows for the path of a socket, in bytes: macOS has room for 104 with the final zero."""
_BACKLOG = 256

_log = logging.getLogger("handrail.owner")


class OwnerSocket:
    """A listening socket in the runtime directory, or in a short private one if its path would be too long."""

    def __init__(self, runtime: str, *, kind: str = OWNER) -> None:
        self._own_directory: str | None = None
        name = f"{kind}{os.getpid()}-{secrets.token_hex(4)}"
        directory = self._directory_for(name, private_directory(runtime))
        self.address = os.path.join(directory, name + _SUFFIX)
        try:
            self.listening = _listen(self.address)
        except OSError as error:
            self._remove_own_directory()
            raise ConfigError(f"no socket can be made in {directory} ({error.strerror})") from error

    def close(self) -> None:
        """Remove it from the file system. Idempotent."""
        with suppress(FileNotFoundError):
            os.unlink(self.address)
        self._remove_own_directory()

    def _directory_for(self, name: str, runtime: str) -> str:
        if _fits(runtime, name):
            remove_stale_sockets(runtime)
            return runtime
        parent = tempfile.gettempdir()
        if not _fits(f"{parent}/handrail-12345678", name):
            parent = "/tmp"  # noqa: S108 - what is made there has a random name and is private from the start
        self._own_directory = tempfile.mkdtemp(prefix="handrail-", dir=parent)
        _log.info("the path of %s is too long for a socket, which is in %s instead", runtime, self._own_directory)
        return self._own_directory

    def _remove_own_directory(self) -> None:
        if self._own_directory is not None:
            with suppress(OSError):
                os.rmdir(self._own_directory)


def remove_stale_sockets(directory: str) -> None:
    """Remove the sockets of owners that were killed."""
    for name in os.listdir(directory):
        if name.startswith((OWNER, HUB)) and name.endswith(_SUFFIX):
            path = os.path.join(directory, name)
            if _is_stale(path):
                with suppress(OSError):
                    os.unlink(path)


def _listen(address: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Under its name only once it listens: one that refuses connections is taken for a dead owner's.
        preliminary = address.removesuffix(_SUFFIX)
        listening.bind(preliminary)
        os.chmod(preliminary, 0o600)
        listening.listen(_BACKLOG)
        os.rename(preliminary, address)
    except OSError:
        listening.close()
        raise
    return listening


def _is_stale(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        return probe.connect_ex(path) == errno.ECONNREFUSED


def _fits(directory: str, name: str) -> bool:
    return len(os.fsencode(os.path.join(directory, name + _SUFFIX))) <= _LONGEST_PATH
