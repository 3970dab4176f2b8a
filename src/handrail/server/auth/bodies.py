"""Keeps requests from being larger than anything that the API takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from handrail.server.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from handrail.server.auth.refusing import Refuse

__all__ = ["LARGEST", "LARGEST_POSTED", "LARGEST_WITH_IMAGES", "check_declared", "largest_body", "serve_bounded"]

LARGEST = 1024 * 1024
LARGEST_WITH_IMAGES = 30 * 1024 * 1024
LARGEST_POSTED = 65 * 1024 * 1024
"""Of what a Claude Code posts that has dialled in: its longest line fits."""
_DIGITS = 15
"""More than any length has; Python refuses to read numbers without end."""
_POSTED = re.compile(r"/v1/session_ingress/session/[^/]+/events")
_WITH_IMAGES = re.compile(r"/api/sessions(/[^/]+/messages)?|/api/file")


def largest_body(path: str) -> int:
    """How many bytes a request to this address may have."""
    if _POSTED.fullmatch(path):
        return LARGEST_POSTED
    return LARGEST_WITH_IMAGES if _WITH_IMAGES.fullmatch(path) else LARGEST


def check_declared(lengths: list[str], largest: int) -> None:
    """Look at the Content-Length headers before anything is read. Raises `Problem`."""
    if not lengths:
        return
    if len(lengths) > 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
        raise Problem("bad_request", "the header Content-Length must be one number")
    if len(lengths[0]) > _DIGITS or int(lengths[0]) > largest:
        raise _too_large(largest)


def _too_large(largest: int) -> Problem:
    return Problem("too_large", f"a request to this address has at most {largest} bytes", largest=largest)


class _Meter:
    """Counts what is received, and holds an answer back once it was too much."""

    def __init__(self, receive: Receive, send: Send, largest: int) -> None:
        self._receive = receive
        self._send = send
        self._largest = largest
        self._left = largest
        self.answered = False

    @property
    def exceeded(self) -> bool:
        return self._left < 0

    async def receive(self) -> Message:
        """The next message. Raises `Problem`, which an application may well answer itself, but need not."""
        if not self.exceeded:
            message = await self._receive()
            self._left -= len(message.get("body", b""))
        if self.exceeded:
            raise _too_large(self._largest)
        return message

    async def send(self, message: Message) -> None:
        if self.exceeded and not self.answered:
            return
        self.answered = True
        await self._send(message)


async def serve_bounded(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, largest: int, refuse: Refuse
) -> None:
    """Run `app` for a request of at most `largest` bytes, whatever its headers say; otherwise refuse it."""
    meter = _Meter(receive, send, largest)
    try:
        await app(scope, meter.receive, meter.send)
    except Exception:
        # Whatever an application makes of a request that broke off is not a mistake of its own.
        if not meter.exceeded:
            raise
    if meter.exceeded and not meter.answered:
        await refuse(scope, send, _too_large(largest))
