"""Small disks that can be filled: file systems in memory.

They carry the number of the process that made them in their names: those of a run that was killed are found and
removed by the next one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PREFIX = "handrail-test"
SIZE = 96
"""In megabytes: well above what a host takes for too little."""


class Disk:
    """A disk that is mounted at a directory."""

    def __init__(self, directory: Path) -> None:
        self._ballast = directory / "ballast"

    def fill(self) -> None:
        """Leave no byte."""
        with self._ballast.open("wb", buffering=0) as ballast:
            piece = bytes(1 << 20)
            while piece:
                try:
                    ballast.write(piece)
                except OSError:
                    piece = piece[: len(piece) // 2]

    def make_room(self) -> None:
        self._ballast.unlink()


@contextmanager
def small_disk(directory: Path) -> Iterator[Disk]:
    """Mount one there meanwhile. The test is left out where that cannot be done."""
    if sys.platform != "linux":
        pytest.skip("a small file system for a test needs Linux: run it there too")
    remove_abandoned()
    directory.mkdir(parents=True)
    options = f"size={SIZE}m,mode=700"
    mount = ["mount", "-t", "tmpfs", "-o", options, f"{PREFIX}-{os.getpid()}", str(directory)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system needs root: run the tests as root, outside of containers")
    try:
        yield Disk(directory)
    finally:
        _unmount(str(directory))


def remove_abandoned() -> None:
    """Remove the disks of test runs that are not there any more."""
    for line in Path("/proc/mounts").read_text().splitlines():
        name, directory, *_ = line.split()
        if name.startswith(f"{PREFIX}-") and not os.path.exists(f"/proc/{name.rpartition('-')[2]}"):
            _unmount(directory)


def _unmount(directory: str) -> None:
    # Lazily: a process that is just being ended may still have a file open there.
    subprocess.run(["umount", "--lazy", directory], capture_output=True, check=False)
