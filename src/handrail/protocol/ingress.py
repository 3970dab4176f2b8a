"""A CLI that dials in, without I/O: one conversation over as many sockets as it takes.

A socket can end at any moment, and whatever was on its way with it. The CLI dials again, but some versions send nothing
a second time, others everything; so what arrives is deduplicated by uuid, and what we sent is kept until there is proof
that the CLI has it.

On each new socket the same `initialize` as at first is sent before anything else. A CLI that was initialised refuses it
and lists the permissions that it waits for; only another process takes it. What we know less than that list was lost on
the way, what we know more was withdrawn, and what is in both and was answered did not get its answer. An answer to a
permission is sent again for no other reason: the CLI may take one that it does not expect for leave to run the call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import msgspec

from handrail.protocol.codec import DEFAULT_MAX_LINE
from handrail.protocol.ingress_calls import ToolCalls
from handrail.protocol.ingress_lines import Head, LineCutter, Reply, head_of

__all__ = ["AnotherProcess", "IngressLink", "Lost", "Notice", "Received", "TooLong"]

REMEMBERED = 16_384
"""How many uuids are remembered: the CLI keeps a thousand messages to send again."""
REQUEST_LIFE = 30.0
"""For how many seconds a request of ours is sent again: whoever made it has then been told that it failed."""
KEPT_LINES = 4_096
"""How many lines are kept that may have to be sent again."""

INITIALIZE = "initialize"
PERMISSION = "can_use_tool"

Kind: TypeAlias = Literal["user", "request", "answer", "other"]


@dataclass(frozen=True, slots=True)
class Lost:
    """The CLI has sent something that never arrived: it names `last` as its last message, which nobody has seen."""

    last: str


@dataclass(frozen=True, slots=True)
class AnotherProcess:
    """Whoever dials in now is not the CLI of before: that one has ended."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line was longer than the limit, and was skipped."""


Notice: TypeAlias = Lost | AnotherProcess | TooLong


@dataclass(frozen=True, slots=True)
class Received:
    """What follows from something that arrived: `data` for whoever reads, `reply` for the socket; both whole lines."""

    data: bytes = b""
    reply: bytes = b""
    notices: tuple[Notice, ...] = ()


@dataclass(slots=True)
class _Sent:
    """A line that we want the CLI to have."""

    serial: int
    kind: Kind
    key: str
    line: bytes
    at: float
    is_permission: bool = False
    is_initialize: bool = False
    told: bool = False
    """Whether it was written to the socket that is open now."""
    written: bool = False
    """Whether it was written to any socket."""
    again: bool = False
    """Whether it was written a second time, to be sure."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """An `initialize` that has no answer yet."""

    serial: int
    is_first: bool
    """Whether none before it was answered: then a success does not mean that this is another process."""
    known: frozenset[str]
    """The permissions that waited for an answer when it was sent."""


class IngressLink:
    """The state of one CLI that dials in.

    A CLI may have outlived an earlier owner of the session: `known` are uuids that this one has seen, `unanswered` are
    requests that it got and did not answer, `refusals` are answers for some of those. They count once the CLI says
    that it was initialised before. Times are given in seconds, on any clock.
    """

    def __init__(
        self,
        *,
        known: Iterable[str] = (),
        unanswered: Iterable[bytes] = (),
        refusals: Iterable[bytes] = (),
        cli_version: str | None = None,
        max_line: int = DEFAULT_MAX_LINE,
    ) -> None:
        self.cli_version = cli_version
        self.posts = False
        """Whether the CLI sends by HTTP POST: then its answers may overtake its messages."""
        self.last_seen: str | None = None
        """The uuid that was seen last."""
        self.dropped = 0
        """How many lines were given up because too many waited."""
        self._max_line = max_line
        self._seen: OrderedDict[str, None] = OrderedDict.fromkeys(known)
        self._outlived = bool(self._seen)
        self._inherited = list(unanswered)
        self._refusals = b"".join(refusals)
        self._cutter: LineCutter | None = None
        self._calls = ToolCalls()
        self._serial = 0
        self._kept: OrderedDict[int, _Sent] = OrderedDict()
        self._their_requests: OrderedDict[str, str] = OrderedDict()
        """The CLI's requests that wait for an answer: id → subtype."""
        self._initialize: Any = None
        """The body of our first `initialize`."""
        self._was_initialized = False
        self._probes: dict[str, _Probe] = {}
        self._holds_back = False
        """Whether nothing is written until the CLI has said what it waits for."""
        self._last_claimed: str | None = None

    # ------------------------------------------------------------ sockets

    @property
    def is_connected(self) -> bool:
        return self._cutter is not None

    @property
    def undelivered(self) -> int:
        """How many messages and answers were never written to a socket."""
        return self.dropped + sum(sent.kind in ("user", "answer") and not sent.written for sent in self._kept.values())

    @property
    def unproved_answers(self) -> list[str]:
        """The CLI's requests whose answers are not known to have arrived."""
        return [sent.key for sent in self._kept.values() if sent.kind == "answer"]

    @property
    def unheard(self) -> frozenset[str]:
        """Tool calls about which the CLI has called our hook, if it did as always, and we have not heard it."""
        hooks = (self._initialize or {}).get("hooks") or {}
        sees_all = any(not each.get("matcher") for each in hooks.get("PreToolUse") or ())
        return self._calls.unheard if sees_all else frozenset()

    def connected(self, last_request_id: str | None, *, now: float) -> bytes:
        """The CLI is on a new socket, and says what it sent last. Returns what to write at once."""
        self._cutter = LineCutter(self._max_line)
        self._probes.clear()
        self._last_claimed = last_request_id
        for sent in self._kept.values():
            sent.told = False
        self._forget_old_requests(now)
        if self._initialize is None:
            return self._tell_the_rest()
        self._holds_back = True
        return self._probe()

    def disconnected(self) -> None:
        """The socket is gone, with the beginning of whatever was on its way."""
        self._cutter = None
        self._probes.clear()
        self._holds_back = False
        for sent in self._kept.values():
            sent.told = False

    @property
    def doubtful(self) -> bool:
        """Whether an answer was written of which it is not known whether the CLI has it."""
        return any(sent.kind == "answer" and sent.told for sent in self._kept.values())

    def verify(self) -> bytes:
        """Find out whether the CLI has the answers that were written. Returns what to write for that."""
        if not self.doubtful or not self.is_connected or self._holds_back or not self._was_initialized:
            return b""
        return self._probe()

    def _probe(self) -> bytes:
        first = next((sent for sent in self._kept.values() if sent.is_initialize), None)
        if first is not None:
            first.told = True
            self._expect(first.key)
            return first.line
        request_id = f"again-{uuid4()}"
        self._serial += 1
        self._expect(request_id)
        return _line({"type": "control_request", "request_id": request_id, "request": self._initialize})

    def _expect(self, request_id: str) -> None:
        waiting = frozenset(each for each, subtype in self._their_requests.items() if subtype == PERMISSION)
        self._probes[request_id] = _Probe(self._serial, not self._was_initialized, waiting)

    def _forget_old_requests(self, now: float) -> None:
        for sent in list(self._kept.values()):
            if sent.kind == "request" and now - sent.at > REQUEST_LIFE and not sent.is_initialize:
                del self._kept[sent.serial]

    def _tell_the_rest(self) -> bytes:
        """What this socket has not been told yet, in the order in which it was said."""
        waiting = [sent for sent in self._kept.values() if not sent.told]
        for sent in waiting:
            sent.told = sent.written = True
        return b"".join(sent.line for sent in waiting)

    # ------------------------------------------------------------ to the CLI

    def send(self, data: bytes, *, now: float) -> bytes:
        """Take whole lines for the CLI; returns those that can be written now. The others wait for a socket."""
        return b"".join(self._send(line + b"\n", now) for line in data.split(b"\n") if line.strip())

    def _send(self, line: bytes, now: float) -> bytes:
        head = head_of(line)
        may_write = self.is_connected and not self._holds_back
        if head.type == "keep_alive":
            return line if may_write else b""
        if head.type == "control_cancel_request":
            return self._withdraw(head.request_id or "", line)
        sent = self._take(head, line, now)
        if not may_write:
            return b""
        sent.told = sent.written = True
        if sent.is_initialize:
            self._expect(sent.key)
        return line

    def _take(self, head: Head, line: bytes, now: float) -> _Sent:
        self._serial += 1
        sent = self._kept[self._serial] = _Sent(self._serial, "other", "", line, now)
        if head.type == "user":
            sent.kind, sent.key = "user", head.uuid or ""
        elif head.type == "control_request":
            sent.kind, sent.key = "request", head.request_id or ""
            sent.is_initialize = head.asks == INITIALIZE
            if sent.is_initialize and self._initialize is None:
                self._initialize = msgspec.json.decode(line)["request"]
        elif head.type == "control_response" and head.response is not None:
            sent.kind, sent.key = "answer", head.response.request_id
            sent.is_permission = self._their_requests.pop(sent.key, "") == PERMISSION
        if len(self._kept) > KEPT_LINES:
            self.dropped += 1
            self._kept.popitem(last=False)
        return sent

    def _withdraw(self, request_id: str, line: bytes) -> bytes:
        """No answer to a request of ours is wanted any more: a CLI that has not got it shall not get it."""
        for sent in self._kept.values():
            if sent.kind == "request" and sent.key == request_id:
                del self._kept[sent.serial]
                return line if sent.told else b""
        return b""

    def mark(self) -> int:
        """A mark behind everything that was written so far, for `proved`."""
        return self._serial

    @property
    def needs_proof(self) -> bool:
        """Whether something was written that is not known to have arrived."""
        return any(sent.told and self._can_be_proved(sent) for sent in self._kept.values())

    def proved(self, mark: int) -> None:
        """Everything that was written to this socket before `mark` has arrived."""
        for sent in list(self._kept.values()):
            if sent.serial <= mark and sent.told and self._can_be_proved(sent):
                del self._kept[sent.serial]

    def _can_be_proved(self, sent: _Sent) -> bool:
        # Requests are kept until they are answered. A CLI that posts may have an answer and drop it: it does not wait
        # for one before its own request is acknowledged.
        return sent.kind != "request" and not (self.posts and sent.kind == "answer")

    # ------------------------------------------------------------ from the CLI

    def receive(self, message: str | bytes, *, now: float) -> Received:
        """A message of the socket, text or binary."""
        if self._cutter is None:
            return Received()
        before = self._cutter.too_long
        parts = [self._line(line, now) for line in self._cutter.feed(message)]
        skipped = self._cutter.too_long - before
        return _joined([*parts, Received(notices=(TooLong(),) * skipped)])

    def receive_posted(self, lines: Iterable[bytes], *, now: float) -> Received:
        """Events that came by HTTP, each a line. What was posted before is dropped."""
        self.posts = True
        return _joined([self._line(line, now) for line in lines])

    def still_lost(self) -> Lost | None:
        """What the CLI claims to have sent and nobody has seen, now that everything it sent should be here."""
        last, self._last_claimed = self._last_claimed, None
        return Lost(last) if last is not None and last not in self._seen else None

    def _line(self, line: bytes, now: float) -> Received:
        head = head_of(line)
        if head.type == "keep_alive" or (head.uuid is not None and not self._is_new(head.uuid)):
            return Received()
        self._calls.receive(head.type, line)
        match head.type:
            case "stream_event" if self._outlived and not self._was_initialized:
                return Received()  # sent again by a CLI that outlived us: what it was a part of is told by then
            case "system" if head.claude_code_version:
                self.cli_version = head.claude_code_version
            case "control_request":
                self._asked(head)
            case "control_cancel_request":
                self._their_requests.pop(head.request_id or "", None)
            case "control_response" if head.response is not None:
                return _joined([Received(data=line + b"\n"), self._answered(head.response, now)])
        return Received(data=line + b"\n")

    def _is_new(self, uuid: str) -> bool:
        self.last_seen = uuid
        if uuid in self._seen:
            return False
        self._seen[uuid] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _asked(self, head: Head) -> None:
        if head.request_id and head.request_id not in self._answered_requests():
            self._their_requests[head.request_id] = head.asks
            if len(self._their_requests) > KEPT_LINES:
                self._their_requests.popitem(last=False)

    def _answered_requests(self) -> set[str]:
        return {sent.key for sent in self._kept.values() if sent.kind == "answer"}

    def _answered(self, reply: Reply, now: float) -> Received:
        for sent in list(self._kept.values()):
            if sent.kind == "request" and sent.key == reply.request_id:
                del self._kept[sent.serial]
                if sent.told:
                    self.proved(sent.serial)  # the CLI reads in order
        probe = self._probes.pop(reply.request_id, None)
        return self._recovered(probe, reply, now) if probe is not None else Received()

    def _recovered(self, probe: _Probe, reply: Reply, now: float) -> Received:
        """The CLI has answered an `initialize`."""
        took_over, self._was_initialized = reply.subtype == "error" and not self._was_initialized, True
        if reply.subtype != "error" and not probe.is_first:
            return Received(notices=(AnotherProcess(),))
        inherited = self._inherit() if took_over else Received()
        withdrawn = [each for each in probe.known - reply.waits_for if each in self._their_requests]
        for request_id in withdrawn:
            del self._their_requests[request_id]
        self._settle_answers(reply.waits_for, probe)
        self._note_recovered(reply.waits_for)
        self._forget_old_requests(now)
        self._holds_back = False
        lost = None if self.posts else self.still_lost()
        cancellations = (_line({"type": "control_cancel_request", "request_id": each}) for each in withdrawn)
        told = Received(b"".join(cancellations), self._tell_the_rest(), (lost,) if lost is not None else ())
        return _joined([told, inherited])

    def _inherit(self) -> Received:
        """What the CLI asked of somebody who had it before, and still waits for."""
        inherited, self._inherited = self._inherited, []
        for line in inherited:
            self._asked(head_of(line))
        return Received(b"".join(line + b"\n" for line in inherited), self._refusals)

    def _settle_answers(self, waits_for: frozenset[str], probe: _Probe) -> None:
        """An answer that the CLI does not wait for has arrived, or is not wanted; one that it waits for has not."""
        for sent in list(self._kept.values()):
            if sent.kind != "answer" or (sent.serial > probe.serial and sent.key not in probe.known):
                continue  # the CLI may have asked, and been answered, after it wrote its list
            if sent.told and sent.serial > probe.serial:
                continue
            if (sent.key in waits_for) if sent.is_permission else not sent.again:
                sent.again = sent.told
                sent.told = False
            else:
                del self._kept[sent.serial]

    def _note_recovered(self, waits_for: frozenset[str]) -> None:
        """Permissions that were lost on the way, and that whoever reads the answer learns of with it."""
        for request_id in waits_for - self._answered_requests():
            self._their_requests.setdefault(request_id, PERMISSION)


def _joined(parts: list[Received]) -> Received:
    return Received(
        b"".join(part.data for part in parts),
        b"".join(part.reply for part in parts),
        tuple(notice for part in parts for notice in part.notices),
    )


def _line(frame: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(frame) + b"\n"
