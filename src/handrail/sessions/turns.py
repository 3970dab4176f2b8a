"""The turns of one client: what it has sent, and the share of the frames that belongs to each message."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from handrail.errors import LocalProtocolError, ProcessError
from handrail.protocol.connection import user_line
from handrail.protocol.frames import CommandLifecycle, Frame, Init, Result, SessionStateChanged, User
from handrail.protocol.turns import TurnEnd, TurnTracker
from handrail.sessions.turn import Turn

__all__ = ["Content", "Turns"]

Content = str | Iterable[Any]
"""A message: text, or content blocks."""

TURN_FRAMES = frozenset({Result, CommandLifecycle, SessionStateChanged, Init, User})
NEXT_TURN_WITHIN = 2.0
"""How long after a result the oldest CLIs, which do not say that they are idle, may take to begin a queued turn."""

REMEMBERED_MESSAGES = 10_000


class Turns:
    """The messages of one client, and those of its turns that somebody follows."""

    def __init__(self, write: Callable[[bytes], None], *, earlier: Iterable[str] = ()) -> None:
        """`earlier` are messages that somebody else has sent to the same CLI, and that it may still answer."""
        self._write = write
        self._tracker = TurnTracker()
        self._followed: dict[str, Turn] = {}
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._doubt: asyncio.TimerHandle | None = None
        self._earlier = tuple(earlier)
        for uuid in self._earlier:
            self._remember(uuid)

    # ------------------------------------------------------------ messages

    def send(self, content: Content, uuid: str, *, session_id: str | None, fields: Mapping[str, Any]) -> None:
        """Write a message. One that was sent before is written again, and the CLI ignores it."""
        self._write(user_line(_wire_content(content), uuid=uuid, session_id=session_id or "", extra=fields))
        if uuid not in self._sent:
            self._remember(uuid)

    def begin(self, turn: Turn, content: Content, *, session_id: str | None, fields: Mapping[str, Any]) -> None:
        """Write the message of `turn` and follow what becomes of it."""
        if turn.uuid in self._sent:
            raise LocalProtocolError(f"the message {turn.uuid} was sent before: the CLI runs a uuid only once")
        self.send(content, turn.uuid, session_id=session_id, fields=fields)
        self._followed[turn.uuid] = turn

    def is_queued(self, turn: Turn) -> bool:
        """Whether the CLI has the message of `turn` but is not working on it; False where it does not say."""
        return self._tracker.is_queued(turn.uuid)

    def forget(self, turn: Turn) -> None:
        """Nobody follows `turn` any more."""
        self._followed.pop(turn.uuid, None)

    def forget_earlier(self) -> None:
        """It is a fresh CLI after all: it knows nothing of what was sent to another one."""
        for uuid in self._earlier:
            self._tracker.forget(uuid)

    def _remember(self, uuid: str) -> None:
        self._tracker.sent(uuid)
        self._sent[uuid] = None
        if len(self._sent) > REMEMBERED_MESSAGES:
            self._sent.popitem(last=False)

    # ------------------------------------------------------------ frames

    def receive(self, frames: Sequence[Frame], size: int) -> None:
        """Hand each turn its share of the frames, whose lines are about `size` bytes long."""
        start = 0
        each = size // len(frames)
        for index, frame in enumerate(frames):
            cls = frame.__class__
            if cls in TURN_FRAMES:
                ends = self._tracker.receive(frame)
                if ends or cls is Result:
                    # A result belongs to the turns it ends and to no other.
                    until = index if cls is Result else index + 1
                    self._push(frames[start:until], each)
                    self._end(ends)
                    start = index + 1
                self._watch_doubt()
        if self._followed:
            self._push(frames[start:] if start else frames, each)

    def fail(self, error: ProcessError) -> None:
        """The CLI is gone: no turn will have a result."""
        if self._doubt is not None:
            self._doubt.cancel()
        for turn in self._followed.values():
            turn.fail(error)

    def _push(self, frames: Sequence[Frame], each: int) -> None:
        for turn in self._followed.values():
            turn.push(frames, each * len(frames))

    def _end(self, ends: list[TurnEnd]) -> None:
        for end in ends:
            turn = self._followed.get(end.uuid)
            if turn is not None:
                turn.end(end)

    def _watch_doubt(self) -> None:
        if self._tracker.doubtful and self._doubt is None:
            self._doubt = asyncio.get_running_loop().call_later(NEXT_TURN_WITHIN, self._assume_idle)
        elif self._doubt is not None and not self._tracker.doubtful:
            self._doubt.cancel()
            self._doubt = None

    def _assume_idle(self) -> None:
        self._doubt = None
        self._end(self._tracker.assume_idle())


def _wire_content(content: Content) -> str | list[Any]:
    return content if isinstance(content, str) else [msgspec.to_builtins(block) for block in content]
