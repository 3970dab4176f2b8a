"""The files of a server: what was uploaded, by whom, and under which id it can be had again."""

from __future__ import annotations

import hashlib
import mimetypes
import re
import struct
from dataclasses import dataclass
from pathlib import PurePosixPath

from handrail.testing.telegram.api_errors import bad_request

__all__ = ["MOST_TO_DOWNLOAD", "MOST_TO_UPLOAD", "PIXEL", "FileShelf", "StoredFile", "image_size"]

MOST_TO_DOWNLOAD = 20 << 20
"""Bots get files of up to 20 MB; people may send larger ones."""
MOST_TO_UPLOAD = 50 << 20
PIXEL = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
"""The smallest picture: what every photo's smallest size is here, so that whoever takes that one sees it."""
_PLAIN_SUFFIX = re.compile(r"\.\w{1,16}$", re.ASCII)
"""Of a name whose end is part of the file's address."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as the server keeps it."""

    file_id: str
    unique_id: str
    path: str
    name: str
    mime: str
    data: bytes


class FileShelf:
    """Keeps files by id and by path."""

    def __init__(self) -> None:
        self._by_id: dict[str, StoredFile] = {}
        self._by_path: dict[str, StoredFile] = {}

    def add(self, data: bytes, name: str, *, folder: str, mime: str = "") -> StoredFile:
        """Keep a file. The same bytes sent twice are two ids but one `unique_id`, as with the real server."""
        number = len(self._by_id) + 1
        digest = hashlib.sha256(data).hexdigest()
        mime = mime or mimetypes.guess_type(name)[0] or "application/octet-stream"
        suffix = PurePosixPath(name).suffix if _PLAIN_SUFFIX.search(name) else ""
        stored = StoredFile(
            file_id=f"BQACAgIAAxk{digest[:24]}AAJ{number}",
            unique_id=f"AgAD{digest[:12]}",
            path=f"{folder}/file_{number}{suffix}",
            name=name,
            mime=mime,
            data=data,
        )
        self._by_id[stored.file_id] = self._by_path[stored.path] = stored
        return stored

    def by_id(self, file_id: str) -> StoredFile:
        """The file of this id. Raises `ApiError` as the real server does when one is to be sent."""
        if file_id not in self._by_id:
            raise bad_request("wrong file identifier/HTTP URL specified")
        return self._by_id[file_id]

    def find(self, file_id: str) -> StoredFile | None:
        """The file of this id, if there is one."""
        return self._by_id.get(file_id)

    def at(self, path: str) -> StoredFile | None:
        """The file that `getFile` gave this path for."""
        return self._by_path.get(path)


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG picture; None if it is none of them."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return struct.unpack(">II", data[16:24])
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return struct.unpack("<HH", data[6:10])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_size(data)
    return _jpeg_size(data) if data.startswith(b"\xff\xd8") else None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walks from marker to marker until the one that starts a frame, which says the size."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
