"""Plays a recording of the CLI instead of starting one, and collects what is written to it.

What the CLI sent is delivered in order, as fast as the loop allows. Wherever the recording shows that something was
written to the CLI, the replay waits until the same kind of line is written now: what followed may be the answer.
The CLI's frames are addressed to the new request ids and message uuids instead of the recorded ones.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.errors import ClientClosed, LaunchError, LocalProtocolError
from handrail.transports.base import Receiver

__all__ = ["Entry", "Recording", "ReplayTransport"]

_log = logging.getLogger("handrail.transport")

_SHOWN_CHARACTERS: Final = 300

Kind: TypeAlias = tuple[str | None, ...] | None
"""What a line is, for matching: its type, and the subtype or request id that goes with it. None: cannot tell."""


class Entry(msgspec.Struct, frozen=True):
    """One line of a recording."""

    number: int
    direction: Literal["in", "out", "meta"]
    data: bytes
    """The bytes that passed, newline included."""
    value: Any
    """The same, decoded; a text if it is not JSON."""


class _Row(msgspec.Struct):
    """An entry as it is written in the file. A `meta` member marks a line about the connection, whatever its `dir`."""

    dir: Literal["in", "out", "meta"]
    raw: msgspec.Raw
    t: float = 0.0
    meta: Any = None
    base64: str | None = None
    end: bool = True


class Recording:
    """A recorded conversation with the CLI."""

    def __init__(self, entries: Iterable[Entry], *, name: str = "recording") -> None:
        self.entries = list(entries)
        self.name = name

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a recording. Raises `LaunchError` if it cannot be read or understood, with the line at fault."""
        name = os.fspath(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise LaunchError(f"cannot read the recording {name}: {error.strerror}") from error
        return cls.parse(content, name=name)

    @classmethod
    def parse(cls, content: bytes, *, name: str = "recording") -> Recording:
        """As `load`, from bytes."""
        lines = enumerate(content.split(b"\n"), start=1)
        return cls((_entry(line, number, name) for number, line in lines if line.strip()), name=name)

    @property
    def exit_code(self) -> int | None:
        """How the CLI exited, if the recording says so."""
        codes = [note["exit"] for note in self.notes() if "exit" in note]
        return codes[-1] if codes else None

    def notes(self) -> list[dict[str, Any]]:
        """What the recording says about the connection."""
        return [entry.value for entry in self.entries if entry.direction == "meta"]


class ReplayTransport:
    """A `Transport` whose peer is a recording.

    `written` has every line written so far, decoded. A control request that the recording does not have is answered
    with an empty success. With `strict`, nothing is: whatever is written must be what the recording has next, but
    for ids, or `write` raises `LocalProtocolError`.

    The recorded exit is played when its turn comes, unless this side caused it: then it waits for this side to close.
    `wait_for_close` overrides that.
    """

    def __init__(
        self,
        recording: Recording | str | os.PathLike[str],
        *,
        strict: bool = False,
        wait_for_close: bool | None = None,
    ) -> None:
        self._recording = recording if isinstance(recording, Recording) else Recording.load(recording)
        self._strict = strict
        self._waits_for_close = wait_for_close
        self.written: list[Any] = []
        self._unmatched: list[Any] = []
        self._position = 0
        self._addresses = _Addresses()
        self._asked: set[str] = set()
        self._closing = False
        self._closed_by_recorder = False
        self._gone = False
        self._scheduled: asyncio.Handle | None = None
        self._receiver: Receiver | None = None
        self._played = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return None

    @property
    def stderr_tail(self) -> str:
        return "".join(note["stderr"] for note in self._recording.notes() if "stderr" in note)

    @property
    def waiting_for(self) -> str | None:
        """What has to be written before the replay goes on, for the message of a test that waited too long."""
        entry = self._next_entry()
        if self._gone or entry is None or entry.direction != "out":
            return None
        return f"{self._recording.name}, line {entry.number}: {_shown(entry.value)}"

    async def open(self, receiver: Receiver) -> None:
        if self._closing:
            raise ClientClosed("this replay was closed; make a new one")
        self._receiver = receiver
        self._schedule()

    def write(self, data: bytes) -> None:
        if self._gone or self._closing:
            return
        for line in data.split(b"\n"):
            if line.strip():
                self._take(_decoded(line))
        self._schedule()

    async def drain(self) -> None:
        pass

    def close_input(self) -> None:
        self._closing = True
        self._schedule()

    async def close(self) -> None:
        self._closing = True
        while not self._gone:
            self._step()

    async def wait_played(self) -> None:
        """Wait until all that the CLI sent was delivered, or the connection was closed."""
        await self._played.wait()

    # Playing. One line per pass through the loop, so that whoever reacts to it has its chance to do so.

    def _schedule(self) -> None:
        if self._scheduled is None and not self._gone and self._receiver is not None:
            self._scheduled = asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = None
        if not self._gone and self._step():
            self._schedule()

    def _step(self) -> bool:
        """Play the next entry; False when it has to wait."""
        entry = self._next_entry()
        if entry is None:
            self._played.set()
            return self._end() if self._closing else False
        if entry.direction == "in":
            self._deliver(entry)
        elif entry.direction == "out":
            if not self._matched(entry):
                return self._end() if self._closing else False
        elif "exit" in entry.value:
            return self._exit(entry.value["exit"])
        else:
            self._closed_by_recorder |= not {"stdin", "close", "signal"}.isdisjoint(entry.value)
        self._position += 1
        return True

    def _next_entry(self) -> Entry | None:
        entries = self._recording.entries
        return entries[self._position] if self._position < len(entries) else None

    def _deliver(self, entry: Entry) -> None:
        if isinstance(entry.value, dict):
            self._note_request(entry.value)
        self._feed(self._addresses.readdress(entry))

    def _note_request(self, message: dict[str, Any]) -> None:
        request_id = str(message.get("request_id"))
        if message.get("type") == "control_request":
            self._asked.add(request_id)
        elif message.get("type") == "control_cancel_request":
            self._asked.discard(request_id)

    def _exit(self, code: int | None) -> bool:
        waits = self._waits_for_close
        if waits is None:
            # Nothing but SIGKILL leaves no trace of who sent it. Recordings not made by Handrail end that way.
            killed = code == -signal.SIGKILL and {"recorder": "handrail"} not in self._recording.notes()
            waits = self._closed_by_recorder or killed
        self._played.set()
        if waits and not self._closing:
            return False
        return self._end()

    def _end(self) -> bool:
        self._gone = True
        self._played.set()
        self._tell(lambda receiver: receiver.connection_lost(self._recording.exit_code))
        return False

    def _feed(self, data: bytes) -> None:
        self._tell(lambda receiver: receiver.data_received(data))

    def _tell(self, tell: Callable[[Receiver], None]) -> None:
        if self._receiver is None:
            return
        try:
            tell(self._receiver)
        except Exception:  # noqa: BLE001 - somebody else's mistake; the replay goes on, as a pipe would
            _log.exception("a receiver failed")

    # Matching what is written with what was.

    def _take(self, live: Any) -> None:
        if self._strict:
            self._check(live)
        self.written.append(live)
        if not self._strict and _is_control_request(live) and not self._is_expected(_kind(live)):
            self._answer(live)
        else:
            self._unmatched.append(live)

    def _matched(self, entry: Entry) -> bool:
        """Whether this line was written again, or need not be."""
        kind = _kind(entry.value)
        for live in self._unmatched:
            if kind is None or _kind(live) == kind:
                self._unmatched.remove(live)
                self._addresses.learn(entry.value, live)
                return True
        return not self._strict and not self._matters(entry.value)

    def _matters(self, recorded: Any) -> bool:
        """Whether the CLI can have reacted to this line."""
        kind = _kind(recorded)
        if kind is not None and kind[0] == "control_response":
            return kind[1] in self._asked
        return kind != ("keep_alive",)

    def _is_expected(self, kind: Kind) -> bool:
        already = sum(_kind(live) == kind for live in self._unmatched)
        coming = [entry for entry in self._recorded_writes() if _kind(entry.value) == kind]
        return len(coming) > already

    def _recorded_writes(self) -> list[Entry]:
        return [entry for entry in self._recording.entries[self._position :] if entry.direction == "out"]

    def _answer(self, live: dict[str, Any]) -> None:
        response: dict[str, Any] = {"subtype": "success", "request_id": live.get("request_id"), "response": {}}
        data = msgspec.json.encode({"type": "control_response", "response": response}) + b"\n"
        asyncio.get_running_loop().call_soon(self._feed_unless_gone, data)

    def _feed_unless_gone(self, data: bytes) -> None:
        if not self._gone:
            self._feed(data)

    def _check(self, live: Any) -> None:
        coming = self._recorded_writes()[len(self._unmatched) :]
        if not coming:
            raise LocalProtocolError(f"{self._recording.name} ends before this is written: {_shown(live)}")
        if _comparable(coming[0].value) != _comparable(live):
            raise LocalProtocolError(
                f"{self._recording.name}, line {coming[0].number} has {_shown(coming[0].value)}, "
                f"but this is written: {_shown(live)}"
            )


class _Addresses:
    """The request ids and message uuids of the recording, and those that stand for them now."""

    def __init__(self) -> None:
        self._request_ids: dict[str, str] = {}
        self._uuids: dict[str, str] = {}

    def learn(self, recorded: Any, live: Any) -> None:
        """These two lines are the same line, then and now."""
        if not isinstance(recorded, dict) or not isinstance(live, dict):
            return
        if _is_control_request(recorded):
            _pair(self._request_ids, recorded.get("request_id"), live.get("request_id"))
        elif recorded.get("type") == "user":
            _pair(self._uuids, recorded.get("uuid"), live.get("uuid"))

    def readdress(self, entry: Entry) -> bytes:
        """The entry's bytes for today's reader: unchanged unless it names a request or a message of this side."""
        known = (*self._request_ids, *self._uuids)
        if not any(name.encode() in entry.data for name in known):
            return entry.data
        value = self._translated(entry.value)
        return entry.data if value == entry.value else msgspec.json.encode(value) + b"\n"

    def _translated(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._uuids.get(value, value)
        if isinstance(value, list):
            return [self._translated(item) for item in value]
        if isinstance(value, dict):
            return {name: self._translated_member(name, item) for name, item in value.items()}
        return value

    def _translated_member(self, name: str, value: Any) -> Any:
        # Ids of requests may be ordinary words ("init"), so they count only where a request is named.
        if name == "request_id" and isinstance(value, str):
            return self._request_ids.get(value, value)
        return self._translated(value)


def _pair(names: dict[str, str], recorded: Any, live: Any) -> None:
    if isinstance(recorded, str) and isinstance(live, str):
        names[recorded] = live


def _entry(line: bytes, number: int, name: str) -> Entry:
    try:
        row = msgspec.json.decode(line, type=_Row)
        data = _bytes_of(row)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise LaunchError(f"{name}, line {number} is not part of a recording: {error}") from error
    about_connection = row.dir == "meta" or bool(row.meta)
    value = _decoded(data)
    if about_connection and not isinstance(value, dict):
        raise LaunchError(f"{name}, line {number} is not part of a recording: a note has to be an object")
    if row.end and not about_connection:
        data += b"\n"
    return Entry(number, "meta" if about_connection else row.dir, data, value)


def _bytes_of(row: _Row) -> bytes:
    raw = bytes(row.raw)
    if row.base64 is not None:
        return base64.b64decode(row.base64, validate=True)
    if raw.startswith(b'"'):
        return msgspec.json.decode(raw, type=str).encode()
    if not raw.startswith(b"{"):
        raise ValueError("`raw` has to be an object or a string")
    return raw


def _decoded(line: bytes) -> Any:
    """The line as a JSON value, or as text if it is none."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.decode("utf-8", "replace")


def _kind(value: Any) -> Kind:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    kind: str = value["type"]
    if kind == "control_request":
        return kind, (value.get("request") or {}).get("subtype")
    if kind == "control_response":
        return kind, (value.get("response") or {}).get("request_id")
    return (kind,)


def _is_control_request(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "control_request"


def _comparable(value: Any) -> Any:
    """The value without what differs from one run to the next."""
    if not isinstance(value, dict):
        return value
    changing = {"uuid", "session_id"} | ({"request_id"} if _is_control_request(value) else set())
    return {name: item for name, item in value.items() if name not in changing}


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
