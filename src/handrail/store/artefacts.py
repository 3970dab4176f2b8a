"""Large strings inside JSON, kept once. What is stored of the JSON has holes, and a list of what belongs in them.

The bytes themselves are cut and joined again, not the values, so what comes back is what was stored to the byte.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping

import msgspec

from handrail.store.faults import Damaged

__all__ = ["LARGE", "Packed", "fetcher", "pack", "store_artefacts", "unpack"]

LARGE = 32 * 1024
"""Strings beyond this size are kept apart."""

_STRING = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_QUICK = 3
"""zlib's level: nearly as small as the default, in a third of the time."""

Artefact = tuple[int, bytes]
"""Size, and compressed content."""


class Packed(msgspec.Struct, frozen=True):
    """JSON as it is stored. `cuts` (JSON) lists the holes: where, in `body`, and the hash of what belongs there."""

    body: bytes
    cuts: bytes | None
    artefacts: Mapping[str, Artefact]


_NONE: Mapping[str, Artefact] = {}
_decode_cuts = msgspec.json.Decoder(list[tuple[int, str]]).decode


def pack(body: bytes) -> Packed:
    """Cut the large strings out of some JSON."""
    if len(body) <= LARGE:
        return Packed(body, None, _NONE)
    kept: list[bytes] = []
    cuts: list[tuple[int, str]] = []
    artefacts: dict[str, Artefact] = {}
    end = length = 0
    for match in _STRING.finditer(body):
        start, stop = match.span(1)
        if stop - start <= LARGE:
            continue
        content = match[1]
        name = hashlib.sha256(content).hexdigest()
        artefacts[name] = (len(content), zlib.compress(content, _QUICK))
        kept.append(body[end:start])
        length += start - end
        cuts.append((length, name))
        end = stop
    if not cuts:
        return Packed(body, None, _NONE)
    kept.append(body[end:])
    return Packed(b"".join(kept), msgspec.json.encode(cuts), artefacts)


def unpack(body: bytes, cuts: bytes | None, fetch: Callable[[str], bytes]) -> bytes:
    """The JSON as it was."""
    if cuts is None:
        return body
    parts: list[bytes] = []
    end = 0
    for offset, name in _decode_cuts(cuts):
        parts += (body[end:offset], fetch(name))
        end = offset
    return b"".join((*parts, body[end:]))


def store_artefacts(connection: sqlite3.Connection, session_id: str, packed: Iterable[Packed]) -> None:
    """Keep what was cut out, and that this session uses it."""
    for one in packed:
        for name, (size, data) in one.artefacts.items():
            connection.execute("INSERT INTO artefacts VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (name, size, data))
            connection.execute("INSERT INTO artefact_uses VALUES (?, ?) ON CONFLICT DO NOTHING", (name, session_id))


def fetcher(connection: sqlite3.Connection) -> Callable[[str], bytes]:
    """What finds an artefact's content by its hash."""

    def fetch(name: str) -> bytes:
        row = connection.execute("SELECT data FROM artefacts WHERE sha256 = ?", (name,)).fetchone()
        if row is None:
            raise Damaged(f"the artefact {name} is missing")
        return content_of(name, row[0])

    return fetch


def content_of(name: str, data: bytes) -> bytes:
    """The content of an artefact. Raises `Damaged` if it is not what its name says."""
    try:
        content = zlib.decompress(data)
    except zlib.error as error:
        raise Damaged(f"the artefact {name} cannot be unpacked") from error
    if hashlib.sha256(content).hexdigest() != name:
        raise Damaged(f"the artefact {name} has another content than when it was stored")
    return content
