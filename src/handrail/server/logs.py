"""Logs of the hub: readable on a terminal, one JSON object per line elsewhere.

Whatever is logged within `about(session=…, ask=…)` carries these ids, whichever module logs it. Our own
secrets are taken out before anything is written.
"""

from __future__ import annotations

import datetime
import logging
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final, TextIO
from uuid import uuid4

import msgspec

from handrail.server.auth.secret_words import redacted

__all__ = ["JsonLines", "Readable", "about", "access", "current", "new_request_id", "set_up_logs"]

_ABOUT: Final[ContextVar[Mapping[str, str]]] = ContextVar("handrail_about", default=MappingProxyType({}))
"""What is being worked on, as told by `about`."""

FIELDS: Final = ("request", "caller", "session", "ask")
LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_COLOURS: Final = {logging.WARNING: "\x1b[33m", logging.ERROR: "\x1b[31m", logging.CRITICAL: "\x1b[31m"}
_QUIET, _PLAIN = "\x1b[2m", "\x1b[0m"
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

access_logger = logging.getLogger("handrail.access")


@contextmanager
def about(**ids: str) -> Generator[None, None, None]:
    """Put these ids (`request`, `caller`, `session`, `ask`) on everything that is logged inside. Empty ones are not."""
    token = _ABOUT.set({**_ABOUT.get(), **{name: value for name, value in ids.items() if value}})
    try:
        yield
    finally:
        _ABOUT.reset(token)


def current() -> Mapping[str, str]:
    """What is being worked on now."""
    return _ABOUT.get()


def new_request_id() -> str:
    """A name for a request that nobody else has."""
    return uuid4().hex[:16]


def access(route: str, method: str, path: str, status: int, seconds: float) -> None:
    """Log that a request was answered. The query is not part of `path`: it may hold what somebody searched for."""
    level = logging.WARNING if status >= 500 else logging.INFO if method != "GET" or status >= 400 else logging.DEBUG
    if access_logger.isEnabledFor(level):
        answered = {"route": route, "method": method, "path": path, "status": status, "ms": round(seconds * 1000, 1)}
        access_logger.log(level, "%s %s %d", method, path, status, extra={"answered": answered})


def set_up_logs(level: str = "info", stream: TextIO | None = None, *, json: bool | None = None) -> logging.Handler:
    """Send what is logged to `stream` (standard error); as JSON unless it is a terminal, or as `json` says."""
    stream = stream or sys.stderr
    as_json = not stream.isatty() if json is None else json
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if as_json else Readable(colours=stream.isatty()))
    handler.addFilter(_add_ids)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(LEVELS[level])
    # Uvicorn says for each connection what the hub's own log says better.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("websockets").setLevel(logging.WARNING)
    return handler


def _add_ids(record: logging.LogRecord) -> bool:
    """Takes the ids when the record is made: by the time it is written, another task may run."""
    record.about = _ABOUT.get()
    return True


class JsonLines(logging.Formatter):
    """One JSON object per line: at, level, logger, message, the ids, and what belongs to a request."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "at": _moment(record).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(record),
            **getattr(record, "answered", {}),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return redacted(msgspec.json.encode(fields, enc_hook=str).decode("utf-8", "replace"))


class Readable(logging.Formatter):
    """One line for people: when, what, and in grey whom it is about."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        words = _visible(redacted(record.getMessage()))
        seconds = getattr(record, "answered", {}).get("ms")
        ids = [f"{name} {value[:12]}" for name, value in _ids(record).items() if name != "request"]
        remarks = _visible(", ".join([*([f"{seconds} ms"] if seconds is not None else []), *ids]))
        line = f"{_moment(record):%H:%M:%S} {self._coloured(words, record.levelno)}"
        if remarks:
            line += f"  {_QUIET}{remarks}{_PLAIN}" if self._colours else f"  ({remarks})"
        if record.exc_info:
            line += "\n" + redacted(self.formatException(record.exc_info))
        return line

    def _coloured(self, words: str, level: int) -> str:
        colour = _COLOURS.get(level) if self._colours else None
        return f"{colour}{words}{_PLAIN}" if colour else words


def _visible(text: str) -> str:
    """What others wrote must not move the cursor, or pass for a line of the log."""
    return _UNPRINTABLE.sub("�", text).replace("\n", " ⏎ ").replace("\r", "�")


def _ids(record: logging.LogRecord) -> dict[str, str]:
    given: Mapping[str, str] = getattr(record, "about", {})
    return {name: given[name] for name in FIELDS if name in given}


def _moment(record: logging.LogRecord) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(record.created, datetime.UTC).astimezone()
