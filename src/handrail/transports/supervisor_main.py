"""The supervising process: waits for the link to Handrail to end, then ends what is still registered.

Run as a file of its own, by an interpreter without site packages, so that it starts fast and stays small. Standard
input is a Unix socket that carries lines: `+marker` and `-marker`; and `=marker`, which comes with a descriptor that
is kept open until `-marker`, or until everything that carries the marker has ended.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.transports.process_tree import ProcessTree, end_tree, system_processes
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from process_tree import ProcessTree, end_tree, system_processes

_TERM_GRACE = 5.0
_READ_SIZE = 65536
_DESCRIPTORS_AT_ONCE = 64
_SETTLE = 1.0  # A CLI that was starting when Handrail died shows its marker only once it has started.


def main() -> None:
    ignore_signals()
    registered = Registered()
    follow(socket.socket(fileno=os.dup(sys.stdin.fileno())), registered)
    if registered.markers:
        end_tree(system_processes(), ProcessTree(registered.markers), term_grace=_TERM_GRACE, settle=_SETTLE)
    # What is held is let go by our exit: not before all of it has ended.


def ignore_signals() -> None:
    """Whatever asks Handrail to stop is not for us: we stop when it has stopped, and only then."""
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_IGN)


class Registered:
    """The markers that are registered, and the descriptors that are kept open for each."""

    def __init__(self) -> None:
        self.markers: dict[str, list[int]] = {}
        self._arrived: deque[int] = deque()

    def receive(self, descriptors: list[int]) -> None:
        """Descriptors arrive before the lines that they belong to, or with them; in the same order."""
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self._arrived.extend(descriptors)

    def apply(self, line: str) -> None:
        """`+marker` registers, `-marker` unregisters, `=marker` keeps the next descriptor for it."""
        sign, marker = line[:1], line[1:]
        if sign == "+":
            self.markers.setdefault(marker, [])
        elif sign == "-":
            _close_all(self.markers.pop(marker, []))
        elif sign == "=" and self._arrived:  # The system may have had no descriptor left for us.
            self.markers.setdefault(marker, []).append(self._arrived.popleft())


def follow(link: socket.socket, registered: Registered) -> None:
    """Do what the lines say, until there are no more."""
    rest = b""
    while True:
        chunk, descriptors, _, _ = socket.recv_fds(link, _READ_SIZE, _DESCRIPTORS_AT_ONCE)
        registered.receive(descriptors)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            registered.apply(line.decode())


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


if __name__ == "__main__":
    main()
