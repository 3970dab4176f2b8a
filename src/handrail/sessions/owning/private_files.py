"""Directories that only this user can look into: for locks and sockets."""

from __future__ import annotations

import os
import stat

from handrail.errors import ConfigError

__all__ = ["private_directory"]

_HOW = "HANDRAIL_STATE_DIR, HANDRAIL_RUNTIME_DIR"


def private_directory(path: str) -> str:
    """Make the directory, or make sure that it is ours and private. Raises `ConfigError`."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.stat(path)
        if found.st_uid != os.geteuid():
            raise ConfigError(f"{path} belongs to another user: remove it, or put Handrail's files elsewhere ({_HOW})")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.chmod(path, 0o700)
    except OSError as error:
        raise ConfigError(f"{path} cannot be used ({error.strerror}): make room for it, or set {_HOW}") from error
    return path
