"""Whether a person is there to press keys, and where those come from."""

from __future__ import annotations

import io
import os
import stat
import sys

from rich.console import Console

__all__ = ["keys_of_person"]


def keys_of_person(console: Console) -> int | None:
    """The descriptor of the keys of whoever sees `console`, a terminal; None if nobody is to be asked.

    If something is piped in, the keys come from the terminal itself. Any other standard input that is no terminal, such
    as /dev/null, says that nobody is there.
    """
    if sys.stdin is None or not console.is_terminal:
        return None
    if sys.stdin.isatty():
        return sys.stdin.fileno()
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        return _open(console) if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) else None
    except (OSError, io.UnsupportedOperation):
        return None


def _open(console: Console) -> int | None:
    """The terminal that `console` writes to, if it is ours to read from: in the background, reading would stop us."""
    # By its own name: some systems cannot wait for keys on /dev/tty.
    descriptor = os.open(os.ttyname(console.file.fileno()), os.O_RDONLY | os.O_NOCTTY)
    if os.tcgetpgrp(descriptor) != os.getpgrp():
        os.close(descriptor)
        return None
    return descriptor
