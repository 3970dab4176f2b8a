"""When there is nothing more to follow in a session. Pure: events in, yes or no out."""

from __future__ import annotations

from typing import Protocol

from handrail.events import model as e

__all__ = ["Answered", "Forever", "Idle", "Pulse", "Until"]

_OVER = frozenset({"answered", "dropped", "lost"})
_UNNOTICED = frozenset({"stopped", "killed", "cancelled", "lost"})
"""Ways for a task to end after which the CLI has nothing to say to Claude."""
_FRESH_CONTEXT = "approve_in_fresh_context"


class Pulse:
    """What still goes on at some point of a session's events: a run, messages, asks, tasks, a plan that moves on."""

    def __init__(self) -> None:
        self.is_running = False
        self.is_gone = False
        """Whether the CLI process is gone."""
        self.background: set[str] = set()
        self.owes_notice = False
        """Whether a task has ended in the background of which the CLI is yet to take notice, in a run of its own."""
        self._messages: set[str] = set()
        self._asks: set[str] = set()
        self._moving = False

    def receive(self, event: e.Event) -> None:
        """Learn from an event."""
        match event:
            case e.Started():
                self.is_running, self.is_gone = True, False
            case e.Completed():
                self.is_running = self.owes_notice = False
            case e.Prompt(uuid=uuid, state=state):
                self._message(uuid, over=state in _OVER)
            case e.Task():
                self._task(event)
            case e.AskOpened(ask_id=ask_id):
                self._asks.add(ask_id)
            case e.AskClosed(ask_id=ask_id, answer=answer):
                self._asks.discard(ask_id)
                # After this answer the conversation ends, and the plan is carried out in another one.
                self._moving = self._moving or (answer or {}).get("type") == _FRESH_CONTEXT
            case e.ProcessExited():
                self.is_gone = not self._moving
                self.is_running = self.owes_notice = False
                self.background.clear()
                self._asks.clear()

    def _task(self, event: e.Task) -> None:
        if event.phase != "completed":
            if event.background:
                self.background.add(event.id)
        elif event.id in self.background:
            self.background.discard(event.id)
            self.owes_notice = not self.is_running and event.status not in _UNNOTICED

    def _message(self, uuid: str, *, over: bool) -> None:
        if over:
            self._messages.discard(uuid)
        else:
            self._messages.add(uuid)
            self._moving = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing goes on, and nothing is to come by itself."""
        goes_on = self.is_running or self.background or self._messages or self._asks
        return not (goes_on or self.owes_notice or self._moving)


class Until(Protocol):
    """Says when there is nothing more to follow."""

    def over(self, event: e.Event) -> bool:
        """Whether this event, which was just shown, was the last one to wait for. Hears of every event."""


class Idle:
    """Until nothing goes on any more."""

    def __init__(self) -> None:
        self.pulse = Pulse()

    def over(self, event: e.Event) -> bool:
        self.pulse.receive(event)
        return self.pulse.is_gone or self.pulse.is_idle


class Answered(Idle):
    """Until a message was answered, and nothing goes on that came of it."""

    def __init__(self, uuid: str) -> None:
        super().__init__()
        self._uuid = uuid
        self._answered = False

    def over(self, event: e.Event) -> bool:
        ended = super().over(event)
        if isinstance(event, e.Prompt) and event.uuid == self._uuid and event.state in _OVER:
            self._answered = True
        return self.pulse.is_gone or (self._answered and ended)


class Forever:
    """Until the person leaves, or the session ends."""

    def __init__(self) -> None:
        self.pulse = Pulse()

    def over(self, event: e.Event) -> bool:
        self.pulse.receive(event)
        return False
