"""The simulated CLI's pipes, and what its lines are made of."""

from __future__ import annotations

import json
import os
import select
import time

TYPE_CHECKING = False  # stands in for the one in `typing`, whose import would take a third of the start-up time
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

READ_SIZE = 1 << 18


class Stopped(Exception):
    """SIGINT arrived."""


class Wire:
    """Standard input as lines, standard output as bytes, and a record of every line that came in."""

    def __init__(self, record: int) -> None:
        self._record = record
        self._closed = False
        self._lines: list[bytes] = []  # complete ones, in reverse: the next is the last
        self._unfinished: list[bytes] = []
        self._stop_requested = False
        self._waiting = False

    @property
    def ended(self) -> bool:
        """Whether input ended and every line of it was read."""
        return self._closed and not self._lines

    def end(self) -> None:
        """Read no more from standard input."""
        self._closed = True

    def read_line(self, timeout: float | None) -> bytes | None:
        """The next line; None when the timeout passed (None: there is none) or input ended without one."""
        if not self._lines:
            if self._closed:
                self.idle(timeout)
            elif self._wait([0], timeout):
                self._read()
        return self._lines.pop() if self._lines else None

    def idle(self, timeout: float | None) -> None:
        """Do nothing, and read nothing, for so long (None: until a signal)."""
        self._wait([], timeout)

    def write(self, data: bytes | memoryview) -> None:
        try:
            while data:
                data = data[os.write(1, data) :]
        except BrokenPipeError:
            os._exit(1)

    def stop(self, signum: int, frame: FrameType | None) -> None:
        """The handler of SIGINT. It takes effect only in a wait, so that no frame is cut in two."""
        if self._waiting:
            raise Stopped
        self._stop_requested = True

    def _wait(self, readable: list[int], timeout: float | None) -> bool:
        self._waiting = True
        try:
            if self._stop_requested:
                self._stop_requested = False
                raise Stopped
            return bool(select.select(readable, [], [], timeout)[0])
        finally:
            self._waiting = False

    def _read(self) -> None:
        chunk = os.read(0, READ_SIZE)
        lines = self._split(chunk) if chunk else self._last_line()
        for line in lines:
            os.write(self._record, line + b"\n")
        self._lines = lines[::-1]

    def _split(self, chunk: bytes) -> list[bytes]:
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._unfinished, lines[0]))
            self._unfinished = []
        if rest:
            self._unfinished.append(rest)
        return lines

    def _last_line(self) -> list[bytes]:
        self._closed = True
        last = b"".join(self._unfinished)
        return [last] if last else []


def encode(frame: Any) -> bytes:
    """The frame as a line."""
    text = json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def fill(template: Any, lookup: Callable[[str], Any]) -> Any:
    """The template with every string that starts with `$` looked up."""
    if isinstance(template, str):
        return lookup(template) if template.startswith("$") else template
    if isinstance(template, dict):
        return {name: fill(value, lookup) for name, value in template.items()}
    if isinstance(template, list):
        return [fill(value, lookup) for value in template]
    return template


def message_matches(message: dict[str, Any], kind: str, fields: dict[str, Any]) -> bool:
    """Whether a line has this type and these fields, at its top level or inside its envelope."""
    layers = _layers(message)
    return message.get("type") == kind and all(
        any(name in layer and layer[name] == value for layer in layers) for name, value in fields.items()
    )


def _layers(message: dict[str, Any]) -> list[dict[str, Any]]:
    layers = [message]
    for name in ("request", "response", "message", "response"):
        inner = layers[-1].get(name)
        if isinstance(inner, dict):
            layers.append(inner)
    return layers


def text_of(message: dict[str, Any]) -> str:
    """The text of a user message, whether its content is a string or blocks."""
    content = (message.get("message") or {}).get("content", "")
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content if isinstance(block, dict))


def new_uuid() -> str:
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def new_tool_use_id() -> str:
    return "toolu_" + os.urandom(10).hex()


def new_message_id() -> str:
    return "msg_" + os.urandom(10).hex()


def timestamp() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
