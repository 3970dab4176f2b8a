"""What kind of file system a path is on. SQLite's shared memory does not work across a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable

__all__ = ["filesystem_type", "is_network", "type_among"]

_NETWORK = frozenset(
    {
        "9p", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs",
        "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "webdav",
    }
)  # fmt: skip
_NETWORK_FUSE = frozenset(
    {"ceph", "cifs", "davfs2", "glusterfs", "goofys", "mfs", "nfs", "rclone", "s3fs", "smb", "sshfs", "gcsfuse"}
)

_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNT_LINE = re.compile(r"^.* on (/.*) \(([^,)]+)[^)]*\)$")


def is_network(kind: str) -> bool:
    """Whether a type of file system keeps its files on another machine."""
    prefix, _, behind = kind.partition(".")
    return kind in _NETWORK or (prefix in ("fuse", "macfuse", "osxfuse") and behind in _NETWORK_FUSE)


def filesystem_type(path: str) -> str:
    """The type of the file system that `path` is on; empty if it cannot be told."""
    try:
        mounts = _mounts_of_macos() if sys.platform == "darwin" else _mounts_of_linux()
    except (OSError, subprocess.SubprocessError):
        return ""
    return type_among(mounts, os.path.realpath(path))


def type_among(mounts: Iterable[tuple[str, str]], path: str) -> str:
    """The type of the innermost of `mounts` (directory, type) that holds `path`; of two on one place, the later."""
    found = ("", "")
    for place, kind in mounts:
        inside = path == place or path.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]


def _mounts_of_linux() -> list[tuple[str, str]]:
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
        fields = [line.split(" ") for line in file]
    return [(_OCTAL.sub(lambda match: chr(int(match[1], 8)), line[1]), line[2]) for line in fields if len(line) > 2]


def _mounts_of_macos() -> list[tuple[str, str]]:
    listing = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=10, check=True).stdout
    return [(match[1], match[2]) for line in listing.splitlines() if (match := _MOUNT_LINE.match(line))]
