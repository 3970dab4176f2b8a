"""Which result ends which turn: results are not paired with messages one to one.

A CLI may answer several queued messages with one result, take a message into the turn that is running, or end a turn
that no message of ours caused (a background task's). Newer CLIs say which messages a result answers
(`user_message_uuid(s)`, `command_lifecycle`); for older ones messages and results are matched in order, and an idle
session has answered everything that was sent before its last result. The oldest do not say either that they are idle:
there `doubtful` tells that a message may have been taken into the turn that just ended, until the next turn begins or
the caller has waited long enough for it and says so with `assume_idle`.
"""

from __future__ import annotations

import msgspec

from handrail.protocol.frames import CommandLifecycle, Frame, Init, Result, SessionStateChanged, User

__all__ = ["TurnEnd", "TurnTracker"]

DROPPED_STATES = frozenset({"cancelled", "discarded", "refused"})


class TurnEnd(msgspec.Struct, frozen=True):
    """The turn of the message `uuid` has ended, with `result`, or without one because the CLI dropped the message."""

    uuid: str
    result: Result | None
    reason: str = ""


class _OpenTurn(msgspec.Struct, eq=False):
    uuid: str
    last_result: Result | None = None
    started: bool = False


class TurnTracker:
    """Follows the messages we sent until the CLI is done with each."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenTurn] = {}
        self._names_messages = False
        self._reports_state = False
        self.doubtful = False

    @property
    def open(self) -> tuple[str, ...]:
        """The messages whose turns have not ended, in the order they were sent."""
        return tuple(self._open)

    def sent(self, uuid: str) -> None:
        """A message went out."""
        self._open[uuid] = _OpenTurn(uuid)

    def forget(self, uuid: str) -> None:
        """Nobody will answer this message."""
        self._open.pop(uuid, None)

    def is_queued(self, uuid: str) -> bool:
        """Whether the CLI has this message but is not working on it; False where it does not say."""
        turn = self._open.get(uuid)
        return self._names_messages and turn is not None and not turn.started

    def receive(self, frame: Frame) -> list[TurnEnd]:
        """The turns that `frame` ends."""
        match frame:
            case Result():
                return self._on_result(frame)
            case CommandLifecycle():
                return self._on_lifecycle(frame)
            case SessionStateChanged(state=state):
                self._reports_state = True
                return self.assume_idle() if state == "idle" else []
            case Init():
                self.doubtful = False
            case User(is_replay=True):
                self._on_replay(frame)
        return []

    def assume_idle(self) -> list[TurnEnd]:
        """Nothing runs any more: what was sent before the last result was answered by it."""
        self.doubtful = False
        ends: list[TurnEnd] = []
        for turn in list(self._open.values()):
            if turn.last_result is not None:
                ends += self._end([turn.uuid], turn.last_result)
            elif turn.started:
                del self._open[turn.uuid]
                ends.append(TurnEnd(turn.uuid, None, "the result of the turn could not be read"))
        return ends

    def _on_result(self, result: Result) -> list[TurnEnd]:
        answered = set(result.user_message_uuids)
        if result.user_message_uuid is not None:
            answered.add(result.user_message_uuid)
        if answered:
            self._names_messages = True
            return self._end([uuid for uuid in self._open if uuid in answered], result)
        if result.from_background:
            return []
        for turn in self._open.values():
            turn.last_result = result
        if self._names_messages:
            return self._end([turn.uuid for turn in self._open.values() if turn.started], result)
        ended = self._end(list(self._open)[:1], result)
        self.doubtful = bool(self._open) and not self._reports_state
        return ended

    def _on_lifecycle(self, frame: CommandLifecycle) -> list[TurnEnd]:
        self._names_messages = True
        turn = self._open.get(frame.command_uuid)
        if turn is None:
            return []
        if frame.state == "started":
            turn.started = True
        elif frame.state == "completed" and turn.last_result is not None:
            return self._end([turn.uuid], turn.last_result)
        elif frame.state in DROPPED_STATES and not turn.started:
            # Once started, a turn has a result of its own, however it ends.
            del self._open[turn.uuid]
            return [TurnEnd(turn.uuid, None, f"the CLI {frame.state} the message")]
        return []

    def _on_replay(self, frame: User) -> None:
        turn = self._open.get(frame.uuid or "")
        if turn is not None:
            turn.started = True

    def _end(self, uuids: list[str], result: Result) -> list[TurnEnd]:
        for uuid in uuids:
            del self._open[uuid]
        return [TurnEnd(uuid, result) for uuid in uuids]
