"""What a scripted model says: replies made of blocks, and the faults a real API shows now and then.

A script is a list of entries. An entry is a `Reply`, a bare block, a bare string (a text reply), or a
function that is given the request and returns one of these (it may be async)::

    [
        "Let me look.",
        Reply(Thinking("Which files are there?"), ToolUse("Bash", {"command": "ls"})),
        Reply.error(529, times=2, retry_after=0),
        lambda request: f"You said {request.prompt!r}.",
    ]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from handrail.testing.model_request import ModelRequest

__all__ = [
    "APIError",
    "Block",
    "Dropped",
    "RawBlock",
    "Reply",
    "ReplyFunction",
    "ReplyLike",
    "Script",
    "ScriptEntry",
    "Text",
    "Thinking",
    "ToolUse",
    "as_reply",
]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A thinking block. The CLI sends its signature back with the next request; nobody verifies it here."""

    text: str
    signature: str = "scripted"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. The id is made up anew each time it is played, unless you give one."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RawBlock:
    """Any other content block, sent as it is in one piece (`server_tool_use`, `redacted_thinking`, …)."""

    block: Mapping[str, Any]


Block: TypeAlias = Text | Thinking | ToolUse | RawBlock


@dataclass(frozen=True, slots=True)
class APIError:
    """An error answer: with its HTTP status, or as an event in a stream that had begun with status 200."""

    status: int
    type: str
    message: str
    retry_after: float | None = None
    mid_stream: bool = False

    @classmethod
    def usual(cls, status: int, message: str | None = None, type: str | None = None) -> APIError:
        """The error with the real API's type and message for this status, where you give none."""
        usual_type, usual_message = _USUAL_ERRORS.get(status, ("api_error", f"Error {status}"))
        return cls(status, type or usual_type, message or usual_message)


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection is reset before a single byte of the answer."""


_USUAL_ERRORS = {
    400: ("invalid_request_error", "The request is not valid."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Not allowed to use this resource."),
    404: ("not_found_error", "Not found."),
    413: ("request_too_large", "The request is too large."),
    429: ("rate_limit_error", "This request would exceed a rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}


class Reply:
    """One answer of the model. Every option works for streaming and for plain requests, as far as it applies.

    `deltas`       into how many pieces each block is cut (never more than it has characters)
    `delay`        seconds before the first byte
    `delta_delay`  seconds before each piece
    `stop_reason`  by default `tool_use` if there is a tool call, else `end_turn`
    `usage`        token counts to report, over the small default ones
    `drop_after`   the connection ends after this many pieces, mid-stream
    `hang_after`   silence after this many pieces, until the client hangs up or the model is closed
                   (after an interrupt, native CLIs hang up only when the next piece arrives: prefer `delta_delay`)
    `times`        how many requests in a row get this reply
    """

    __slots__ = (
        "blocks",
        "delay",
        "delta_delay",
        "deltas",
        "drop_after",
        "fault",
        "hang_after",
        "stop_reason",
        "times",
        "usage",
    )

    def __init__(
        self,
        *blocks: Block | str,
        deltas: int = 3,
        delay: float = 0,
        delta_delay: float = 0,
        stop_reason: str | None = None,
        usage: Mapping[str, int] | None = None,
        drop_after: int | None = None,
        hang_after: int | None = None,
        times: int = 1,
    ) -> None:
        _at_least(1, deltas=deltas, times=times)
        _at_least(0, delay=delay, delta_delay=delta_delay, drop_after=drop_after, hang_after=hang_after)
        if drop_after is not None and hang_after is not None:
            raise ValueError("a reply either drops the connection or hangs: give drop_after or hang_after, not both")
        self.blocks: tuple[Block, ...] = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
        self.deltas = deltas
        self.delay = delay
        self.delta_delay = delta_delay
        self.stop_reason = stop_reason or self._natural_stop_reason()
        self.usage = dict(usage or {})
        self.drop_after = drop_after
        self.hang_after = hang_after
        self.times = times
        self.fault: APIError | Dropped | None = None

    def __repr__(self) -> str:
        return f"Reply(fault={self.fault!r})" if self.fault else f"Reply{self.blocks!r}"

    @classmethod
    def error(
        cls,
        status: int,
        message: str | None = None,
        *,
        type: str | None = None,
        retry_after: float | None = None,
        mid_stream: bool = False,
        delay: float = 0,
        times: int = 1,
    ) -> Reply:
        """An API error: 529 overloaded, 429 rate limit, 500, 401, …, with the usual type and message.

        With `mid_stream` the answer begins with status 200 and the error comes as an event of the stream.
        """
        if not 400 <= status <= 599:
            raise ValueError(f"{status} is not an error status: give one from 400 to 599")
        _at_least(0, retry_after=retry_after)
        reply = cls(delay=delay, times=times)
        usual = APIError.usual(status, message, type)
        reply.fault = replace(usual, retry_after=retry_after, mid_stream=mid_stream)
        return reply

    @classmethod
    def drop(cls, *, delay: float = 0, times: int = 1) -> Reply:
        """The connection is reset before any byte of the answer. For later: `drop_after`."""
        reply = cls(delay=delay, times=times)
        reply.fault = Dropped()
        return reply

    def _natural_stop_reason(self) -> str:
        return "tool_use" if any(isinstance(block, ToolUse) for block in self.blocks) else "end_turn"


ReplyLike: TypeAlias = Reply | Block | str
ReplyFunction: TypeAlias = "Callable[[ModelRequest], ReplyLike | Awaitable[ReplyLike]]"
ScriptEntry: TypeAlias = "ReplyLike | ReplyFunction"


def as_reply(value: ReplyLike) -> Reply:
    """The `Reply` that a shorthand stands for."""
    if isinstance(value, Reply):
        return value
    if isinstance(value, str | Text | Thinking | ToolUse | RawBlock):
        return Reply(value)
    raise TypeError(
        f"{value!r} is no reply: give a Reply, a block such as Text or ToolUse, a string, or (in a script) "
        "a function that takes the request and returns one of these"
    )


class Script:
    """A list of entries, and how far it has been played."""

    __slots__ = ("_entries", "position")

    def __init__(self, entries: Iterable[ScriptEntry] = ()) -> None:
        if isinstance(entries, str | Reply | Text | Thinking | ToolUse | RawBlock):
            raise TypeError(f"a script is a list of entries: write [{entries!r}] for a script of one")
        self._entries: list[Reply | ReplyFunction] = []
        self.position = 0
        self.extend(entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def remaining(self) -> int:
        """How many entries have not been played yet."""
        return len(self._entries) - self.position

    def extend(self, entries: Iterable[ScriptEntry]) -> None:
        """Add entries at the end. A reply with `times=n` counts as n entries."""
        for entry in entries:
            if callable(entry):
                self._entries.append(entry)
            else:
                reply = as_reply(entry)
                self._entries.extend([reply] * reply.times)

    def take(self) -> Reply | ReplyFunction | None:
        """The next entry, or None when the script has ended."""
        if self.remaining == 0:
            return None
        entry = self._entries[self.position]
        self.position += 1
        return entry


def _at_least(minimum: int, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and value < minimum:
            raise ValueError(f"{name} is {value:g}: it must be at least {minimum}")
