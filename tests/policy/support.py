"""What tests of descriptions share: a project with files in memory."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from handrail.policy.files import Files

PROJECT = "/home/dev/project"
HOME = "/home/dev"


class SomeFiles(Files):
    """Files in memory: their bytes, and where links lead."""

    def __init__(self, content: Mapping[str, bytes] | None = None, links: Mapping[str, str] | None = None) -> None:
        self._content = dict(content or {})
        self._links = dict(links or {})

    def resolve(self, path: str) -> str:
        for link, target in self._links.items():
            if path == link or path.startswith(link + "/"):
                return posixpath.normpath(target + path.removeprefix(link))
        return path

    def is_link(self, path: str) -> bool:
        return path in self._links

    def is_directory(self, path: str) -> bool:
        return any(name.startswith(path.rstrip("/") + "/") for name in self._content)

    def exists(self, path: str) -> bool:
        return self.resolve(path) in self._content or self.is_directory(path)

    def read(self, path: str, at_most: int) -> bytes | None:
        content = self._content.get(self.resolve(path))
        return content if content is not None and len(content) <= at_most else None
