"""Writes down what passes through a transport: to a file that `ReplayTransport` can play, or to a log.

A recording has one JSON object per line: `t` (seconds since the start), `dir` (`in`: from the CLI, `out`: to it,
`meta`: about the connection) and `raw`. `raw` is the line itself if it is a JSON object, and its text if it is
anything else; `base64` is added where that text could not show every byte, and `end` is false where the newline is
missing.
"""

from __future__ import annotations

import base64
import io
import logging
import os
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final, Literal, Protocol

import msgspec

from handrail.errors import ClientClosed, LaunchError
from handrail.transports.base import PassingOn, Receiver, Transport
from handrail.transports.redact import Redactor

__all__ = ["LineSink", "RecordingTransport", "WireLog"]

Direction = Literal["in", "out", "meta"]

_log = logging.getLogger("handrail.transport")

DEFAULT_LOG_LIMIT: Final = 2000
_ARROWS: Final[dict[Direction, str]] = {"in": "<-", "out": "->", "meta": "--"}


class LineSink(Protocol):
    """Takes the lines that a `RecordingTransport` sees."""

    def record(self, seconds: float, direction: Direction, line: bytes, *, ended: bool = True) -> None:
        """One line, without its newline; `ended` is false if it had none. Must not raise."""

    def flush(self) -> None:
        """No more lines for now. Must not raise."""

    def close(self) -> None:
        """No more lines at all. Idempotent; must not raise."""


class RecordingTransport(PassingOn):
    """A transport that passes everything on to another one, and writes it down.

    `target` is a path, a binary file (which stays open), or a sink such as `WireLog`. Secrets are left out unless
    `redact` is false; pass a `Redactor` to add known ones. A file that cannot be opened fails `open`; one that
    cannot be written to later is given up with a warning, since recording must not disturb the session.
    """

    def __init__(
        self,
        inner: Transport,
        target: str | os.PathLike[str] | BinaryIO | LineSink,
        *,
        redact: bool | Redactor = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(inner)
        self._target = target
        self._redact = redact
        self._sink: LineSink = _Nowhere()
        self._clock = clock
        self._started = clock()
        self._receiver: Receiver | None = None
        self._unfinished: list[bytes] = []
        self._input_closed = False
        self._closed = False

    async def open(self, receiver: Receiver) -> None:
        if self._closed:
            raise ClientClosed("this transport was closed; make a new one")
        self._receiver = receiver
        self._sink = _sink_for(self._target, self._redact)
        self._note({"recorder": "handrail"})
        try:
            await self._inner.open(self)
        except BaseException:
            self._sink.close()
            raise

    def write(self, data: bytes) -> None:
        if not self._input_closed:
            self._record_written(data)
        self._inner.write(data)

    def close_input(self) -> None:
        if not self._input_closed:
            self._input_closed = True
            self._note({"stdin": "EOF"})
        self._inner.close_input()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._note({"close": True})
        try:
            await self._inner.close()
        finally:
            self._sink.close()

    # As the inner transport's receiver. Lines are written down before they are passed on: the receiver may answer
    # at once, and the answer belongs after them.

    def data_received(self, data: bytes) -> None:
        self._record_read(data)
        if self._receiver is not None:
            self._receiver.data_received(data)

    def connection_lost(self, exit_code: int | None) -> None:
        if self._unfinished:
            self._sink.record(self._seconds(), "in", b"".join(self._unfinished), ended=False)
            self._unfinished = []
        self._input_closed = True
        if self.stderr_tail:
            self._note({"stderr": self.stderr_tail})
        self._note({"exit": exit_code})
        if self._receiver is not None:
            self._receiver.connection_lost(exit_code)

    def _record_read(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._unfinished, lines[0]))
            self._unfinished = []
        if rest:
            self._unfinished.append(rest)
        self._record_all("in", lines)

    def _record_written(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        self._record_all("out", lines)
        if rest:
            self._sink.record(self._seconds(), "out", rest, ended=False)
            self._sink.flush()

    def _record_all(self, direction: Direction, lines: list[bytes]) -> None:
        if lines:
            seconds = self._seconds()
            for line in lines:
                self._sink.record(seconds, direction, line)
            self._sink.flush()

    def _note(self, note: dict[str, Any]) -> None:
        self._sink.record(self._seconds(), "meta", msgspec.json.encode(note))
        self._sink.flush()

    def _seconds(self) -> float:
        return self._clock() - self._started


class WireLog:
    """A sink that logs each line at DEBUG, without secrets and cut to `limit` characters."""

    def __init__(
        self,
        log: logging.Logger | None = None,
        *,
        limit: int = DEFAULT_LOG_LIMIT,
        redactor: Redactor | None = None,
    ) -> None:
        self._log = log or logging.getLogger("handrail.wire")
        self._limit = limit
        self._redactor = redactor or Redactor()

    def record(self, seconds: float, direction: Direction, line: bytes, *, ended: bool = True) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug("%9.3f %s %s", seconds, _ARROWS[direction], self._shown(line))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _shown(self, line: bytes) -> str:
        # Redacted before it is cut: half a secret would not be recognised.
        clean = self._redactor.line(line)
        if len(clean) <= self._limit:
            return clean.decode("utf-8", "backslashreplace")
        text = clean[: self._limit].decode("utf-8", "backslashreplace")
        return f"{text}… ({len(clean)} bytes)"


class _Nowhere:
    """The sink before there is one."""

    def record(self, seconds: float, direction: Direction, line: bytes, *, ended: bool = True) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class _FileSink:
    """Writes a recording."""

    def __init__(self, file: BinaryIO, redactor: Redactor | None, *, owned: bool) -> None:
        self._file: BinaryIO | None = file
        self._redactor = redactor
        self._owned = owned

    def record(self, seconds: float, direction: Direction, line: bytes, *, ended: bool = True) -> None:
        if self._file is None:
            return
        if self._redactor is not None:
            line = self._redactor.line(line)
        entry = b'{"t":%.6f,"dir":"%s",%s%s}\n' % (
            seconds,
            direction.encode(),
            _raw(line),
            b"" if ended else b',"end":false',
        )
        self._attempt(lambda file: file.write(entry))

    def flush(self) -> None:
        self._attempt(lambda file: file.flush())

    def close(self) -> None:
        if self._owned:
            self._attempt(lambda file: file.close())
        self._file = None

    def _attempt(self, action: Callable[[BinaryIO], object]) -> None:
        file = self._file
        if file is None:
            return
        try:
            action(file)
        except (OSError, ValueError) as error:  # ValueError: somebody closed the file
            self._file = None
            _log.warning("the recording ends here, since it cannot be written: %s", error)
            if self._owned:
                _abandon(file)


def _abandon(file: BinaryIO) -> None:
    """Close a file without trying once more to write what is left in its buffer."""
    (file.raw if isinstance(file, io.BufferedWriter) else file).close()


def _raw(line: bytes) -> bytes:
    """The members of an entry that hold the line. An object goes in as it is, so that no byte of it changes."""
    if _is_object(line):
        return b'"raw":' + line
    try:
        return b'"raw":' + msgspec.json.encode(line.decode())
    except UnicodeDecodeError:
        text = msgspec.json.encode(line.decode("utf-8", "backslashreplace"))
        return b'"raw":%s,"base64":"%s"' % (text, base64.b64encode(line))


def _is_object(line: bytes) -> bool:
    # Not even white space around it, which the entry would not keep.
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
        return line.isascii() or bool(line.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _sink_for(target: str | os.PathLike[str] | BinaryIO | LineSink, redact: bool | Redactor) -> LineSink:
    if isinstance(target, (str, os.PathLike)):
        return _FileSink(_create(target), _redactor_for(redact), owned=True)
    if hasattr(target, "record"):
        return target
    return _FileSink(target, _redactor_for(redact), owned=False)


def _create(path: str | os.PathLike[str]) -> BinaryIO:
    """A new file for its owner only: what passes on the wire may be confidential even without secrets."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise LaunchError(f"cannot record to {os.fspath(path)}: {error.strerror}") from error
    return os.fdopen(descriptor, "wb")


def _redactor_for(redact: bool | Redactor) -> Redactor | None:
    if isinstance(redact, Redactor):
        return redact
    return Redactor() if redact else None
