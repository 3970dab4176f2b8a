"""The supervising process: waits for the pipe from Handrail to end, then ends what is still registered.

Run as a file of its own, by an interpreter without site packages, so that it starts fast and stays small.
It reads `+marker` and `-marker` lines from standard input.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.transports.process_tree import ProcessTree, end_tree, system_processes
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from process_tree import ProcessTree, end_tree, system_processes

_TERM_GRACE = 5.0
_SETTLE = 1.0  # A CLI that was starting when Handrail died shows its marker only once it has started.


def main() -> None:
    ignore_signals()
    registered = read_markers(sys.stdin.fileno())
    if registered:
        end_tree(system_processes(), ProcessTree(registered), term_grace=_TERM_GRACE, settle=_SETTLE)


def ignore_signals() -> None:
    """Whatever asks Handrail to stop is not for us: we stop when it has stopped, and only then."""
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_IGN)


def read_markers(fd: int) -> set[str]:
    """Follow the pipe until it ends. Returns the markers that are registered then."""
    registered: set[str] = set()
    rest = b""
    while chunk := os.read(fd, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            apply(registered, line.decode())
    return registered


def apply(registered: set[str], line: str) -> None:
    """`+marker` registers, `-marker` unregisters."""
    if line.startswith("+"):
        registered.add(line[1:])
    elif line.startswith("-"):
        registered.discard(line[1:])


if __name__ == "__main__":
    main()
