"""A request as the guards see it: its headers, each of them once where once is all that makes sense."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from handrail.server.problems import Problem

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["Headers", "is_local_process", "local_process"]

UNIX_PREFIX = "unix:"
ONCE = (
    "host",
    "origin",
    "authorization",
    "content-type",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "handrail-acting-for",
)


class Headers:
    """The headers of a request. Raises `Problem` for what no honest client sends."""

    def __init__(self, scope: Scope) -> None:
        self._values: dict[str, list[str]] = defaultdict(list)
        for name, value in scope["headers"]:
            if any(byte < 0x20 and byte != 0x09 for byte in value) or 0x7F in value:
                raise Problem("bad_request", f"the header {name.decode('latin-1')!r} has control characters")
            self._values[name.decode("latin-1").lower()].append(value.decode("latin-1"))
        for name in ONCE:
            if len(self._values.get(name, ())) > 1:
                raise Problem("bad_request", f"the header {name!r} is there several times")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def one(self, name: str) -> str | None:
        """The only value of a header, without spaces around it."""
        values = self._values.get(name)
        return values[0].strip(" \t") if values else None

    def all(self, name: str) -> list[str]:
        return list(self._values.get(name, ()))

    def last(self, name: str) -> str | None:
        """The last element of a header that is a list: what the nearest proxy has added."""
        values = self._values.get(name)
        return values[-1].rpartition(",")[2].strip(" \t") if values else None


def local_process(scope: Scope) -> tuple[int, int] | None:
    """The process (pid and user) at the other end of the hub's own socket; None for what came over the network."""
    client = scope.get("client")
    if not client or not str(client[0]).startswith(UNIX_PREFIX):
        return None
    return int(str(client[0]).removeprefix(UNIX_PREFIX)), int(client[1])


def is_local_process(scope: Scope) -> bool:
    return local_process(scope) is not None
