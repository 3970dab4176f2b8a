"""The page: static files that are part of the package, served as they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

__all__ = ["PageFiles", "page_routes"]

MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
"""What is served, by the ending of its name; nothing else is."""
SCREENS: Final = ("/", "/inbox", "/sessions", "/s/{id}", "/new", "/hosts", "/usage", "/policy", "/settings")
"""Addresses of the page itself: its own script shows what belongs there."""
PLAYGROUND: Final = "js/playground/"
"""For those who work on the page: every state of everything it shows."""


class StaticFile(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    tag: str


class PageFiles:
    """The files of the page, read when the first is asked for.

    With `development` they are read anew for each request, and the playground is among them.
    """

    def __init__(self, *, development: bool = False) -> None:
        self._development = development
        self._files: dict[str, StaticFile] = {}

    def find(self, path: str) -> StaticFile | None:
        """The file with this path."""
        if path.startswith(PLAYGROUND) and not self._development:
            return None
        if self._development or not self._files:
            self._files = dict(_under(files("handrail.web")))
        return self._files.get(path)


def page_routes(*, development: bool = False) -> list[BaseRoute]:
    """The routes of the page."""
    page = PageFiles(development=development)
    screens = [*SCREENS, "/playground"] if development else SCREENS
    return [
        *(Route(path, _one_file(page, "index.html"), methods=["GET"]) for path in screens),
        # At the top, since a service worker rules over what is below it only.
        Route("/service-worker.js", _one_file(page, "service-worker.js"), methods=["GET"]),
        Route("/web/{path:path}", _any_file(page), methods=["GET"]),
    ]


def _one_file(page: PageFiles, path: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return _sent(page.find(path), request)

    return endpoint


def _any_file(page: PageFiles) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return _sent(page.find(request.path_params["path"]), request)

    return endpoint


def _sent(found: StaticFile | None, request: Request) -> Response:
    if found is None:
        raise HTTPException(404)
    # Asked for anew each time, and sent only if changed: a page never runs with scripts of two versions.
    headers = {"etag": found.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


def _under(directory: Traversable, prefix: str = "") -> Iterator[tuple[str, StaticFile]]:
    """Every file that may be served, by its path."""
    for each in directory.iterdir():
        if each.is_dir():
            yield from _under(each, f"{prefix}{each.name}/")
        elif media_type := MEDIA_TYPES.get(os.path.splitext(each.name)[1]):
            content = each.read_bytes()
            yield prefix + each.name, StaticFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
