"""Keeps what was rendered, up to a number of bytes: what is shown again need not be made again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

__all__ = ["RenderedCache"]

LARGEST_SHARE = 8
"""One entry may take this part of the cache at most, so that it does not push out all others."""


class RenderedCache:
    """HTML by what it was made of; what was not asked for longest goes first. It may be used from several threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes_held(self) -> int:
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, make: Callable[[], str], *content: str) -> str:
        """The HTML of `content`, from the cache or from `make`."""
        key = _key(content)
        with self._lock:
            kept = self._entries.get(key)
            if kept is not None:
                self._entries.move_to_end(key)
                return kept
        made = make()
        self._keep(key, made)
        return made

    def _keep(self, key: bytes, made: str) -> None:
        size = _size(made)
        if size > self._most // LARGEST_SHARE:
            return
        with self._lock:
            if key in self._entries:
                return
            self._entries[key] = made
            self._bytes += size
            while self._bytes > self._most:
                _, dropped = self._entries.popitem(last=False)
                self._bytes -= _size(dropped)


def _key(content: tuple[str, ...]) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    for part in content:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()


def _size(html: str) -> int:
    # As Python holds it: four bytes for each character as soon as one of them is an emoji.
    return html.__sizeof__()
