"""Who runs a command."""

from __future__ import annotations

import getpass
import os

__all__ = ["user_name"]


def user_name() -> str:
    """The name of this process' user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user that the system has no name for
        return f"user {os.getuid()}"
