"""The events of a session as a story: calls with their results, asks with their answers, in the order they began.

An item is told once it is over, and what comes after it waits that long; a call that never ends is over with its run.
So a long session is told without being held in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from handrail.events import model as e
from handrail.events.view import content_text
from handrail.policy.describing.visible import one_line
from handrail.sessions.exporting.remarks import Tone, remark_of

__all__ = ["Asked", "Call", "Item", "Message", "Remark", "RunEnd", "RunStart", "Speech", "tell"]


@dataclass(slots=True)
class RunStart:
    """A run begins."""

    event: e.Started


@dataclass(slots=True)
class RunEnd:
    """A run is over."""

    event: e.Completed


@dataclass(slots=True)
class Message:
    """Somebody wrote to Claude."""

    event: e.Prompt


@dataclass(slots=True)
class Speech:
    """Claude wrote, or thought."""

    event: e.Text | e.Thinking
    within: str = ""
    """The title of the subagent whose words these are, where they do not stand inside of its call."""


@dataclass(slots=True)
class Remark:
    """Something worth a line."""

    at: float
    tone: Tone
    text: str
    detail: str = ""


@dataclass(slots=True)
class Asked:
    """A question to a person, and what became of it."""

    opened: e.AskOpened
    closed: e.AskClosed | None = None

    @property
    def is_over(self) -> bool:
        return self.closed is not None


CallState: TypeAlias = Literal["running", "done", "failed", "unfinished"]


@dataclass(slots=True)
class Call:
    """A tool call: how it began, how it ended, what was asked about it, and what happened inside of it."""

    started: e.Action
    ended: e.Action | None = None
    state: CallState = "running"
    asked: list[Asked] = field(default_factory=list)
    inside: list[Item] = field(default_factory=list)
    within: str = ""

    @property
    def is_over(self) -> bool:
        return self.state != "running"

    @property
    def detail(self) -> dict[str, Any]:
        """What is known of it: of its end, and of its beginning."""
        return {**self.started.detail, **(self.ended.detail if self.ended is not None else {})}


Item: TypeAlias = RunStart | RunEnd | Message | Speech | Remark | Asked | Call


def tell(events: Iterable[e.Event]) -> Iterator[Item]:
    """The story of `events`."""
    teller = _Teller()
    for event in events:
        teller.take(event)
        yield from teller.ready()
    teller.give_up()
    yield from teller.ready()


class _Teller:
    def __init__(self) -> None:
        self._waiting: deque[Item] = deque()
        self._calls: dict[str, Call] = {}
        self._asks: dict[str, Asked] = {}
        self._unanswered: dict[str, e.AskOpened] = {}
        """Asks whose session ended first: resuming it may answer them."""
        self._unread: dict[str, str] = {}
        """Messages that Claude has not seen yet, in short."""
        self._error: str | None = None
        """What the last run ended with."""
        self._ended = False
        self._subagents: dict[str, str] = {}
        """The titles of calls whose subagents may go on after the call was told."""

    def take(self, event: e.Event) -> None:
        """Hear of an event."""
        take = self._TAKE.get(type(event))
        if take is not None:
            take(self, event)
        elif (remark := remark_of(event)) is not None and remark.text != self._error:
            self._waiting.append(Remark(event.at, *remark))

    def ready(self) -> Iterator[Item]:
        """What can be told now."""
        while self._waiting and _is_over(self._waiting[0]) and not self._may_follow_a_start(self._waiting[0]):
            yield self._waiting.popleft()

    def _may_follow_a_start(self, item: Item) -> bool:
        """Whether it is a message that a run is about to answer: it is told as part of that run."""
        return isinstance(item, Message) and not self._ended and isinstance(self._waiting[-1], Message)

    def give_up(self) -> None:
        """Nothing that is still open will end any more."""
        self._ended = True
        for call in self._calls.values():
            call.state = "unfinished"
        for asked in self._asks.values():
            asked.closed = e.AskClosed(ask_id=asked.opened.ask_id, outcome="lost", at=0.0)
        self._calls.clear()
        self._asks.clear()

    def _start(self, event: e.Started) -> None:
        asked_for = []
        while self._waiting and isinstance(self._waiting[-1], Message):
            asked_for.append(self._waiting.pop())
        self._waiting.append(RunStart(event))
        self._waiting.extend(reversed(asked_for))

    def _complete(self, event: e.Completed) -> None:
        for action_id in [key for key, call in self._calls.items() if call.started.run == event.run]:
            self._calls.pop(action_id).state = "unfinished"
        self._error = event.error
        self._waiting.append(RunEnd(event))

    def _prompt(self, event: e.Prompt) -> None:
        if event.content is not None:
            self._unread[event.uuid] = one_line(content_text(event.content))
            self._waiting.append(Message(event))
        elif event.state in ("dropped", "lost") and (text := self._unread.get(event.uuid)) is not None:
            words = f"a message was {event.state} before Claude is known to have seen it: {text}"
            self._waiting.append(Remark(event.at, "failed", words))
        if event.state not in ("queued", "sent"):
            self._unread.pop(event.uuid, None)

    def _say(self, event: e.Text | e.Thinking) -> None:
        self._place(Speech(event, self._within(event.parent)), event.parent)

    def _action(self, event: e.Action) -> None:
        if event.phase == "started":
            self._begin(event)
        elif event.phase == "completed":
            self._end(event)

    def _begin(self, event: e.Action) -> None:
        call = Call(event, within=self._within(event.parent))
        if event.kind == "subagent":
            self._subagents[event.id] = event.title
        self._calls[event.id] = call
        self._place(call, event.parent)

    def _end(self, event: e.Action) -> None:
        call = self._calls.pop(event.id, None)
        if call is None and event.kind in ("note", "warning", "telemetry") and "tool_use_id" not in event.detail:
            if event.kind != "telemetry":
                self._place(_remark_of_action(event), event.parent)
            return
        if call is None:
            call = Call(event, within=self._within(event.parent))
            self._place(call, event.parent)
        call.ended = event
        call.state = "failed" if event.ok is False else "done"

    def _open(self, event: e.AskOpened) -> None:
        known = self._asks.get(event.ask_id)
        if known is not None:
            known.opened = event
            return
        asked = self._asks[event.ask_id] = Asked(event)
        call = self._calls.get(str(event.ask.get("tool_use_id")))
        if call is not None:
            call.asked.append(asked)
        else:
            self._waiting.append(asked)

    def _close(self, event: e.AskClosed) -> None:
        asked = self._asks.pop(event.ask_id, None)
        if asked is not None:
            asked.closed = event
            if event.outcome in ("lost", "unsent"):
                self._unanswered[event.ask_id] = asked.opened
        elif event.outcome == "resumed" and (opened := self._unanswered.pop(event.ask_id, None)) is not None:
            self._waiting.append(Asked(opened, event))

    def _within(self, parent: str | None) -> str:
        return "" if parent is None or parent in self._calls else self._subagents.get(parent, "")

    def _place(self, item: Item, parent: str | None) -> None:
        """Inside of the call it belongs to, while that goes on; else behind all others."""
        around = self._calls.get(parent) if parent is not None else None
        if around is not None:
            around.inside.append(item)
        else:
            self._waiting.append(item)

    _TAKE: Mapping[type[e.Event], Callable[[_Teller, Any], None]] = {
        e.Started: _start,
        e.Completed: _complete,
        e.Prompt: _prompt,
        e.Text: _say,
        e.Thinking: _say,
        e.Action: _action,
        e.AskOpened: _open,
        e.AskClosed: _close,
    }


def _is_over(item: Item) -> bool:
    if isinstance(item, Call):
        return item.is_over and all(asked.is_over for asked in item.asked) and all(map(_is_over, item.inside))
    return item.is_over if isinstance(item, Asked) else True


def _remark_of_action(event: e.Action) -> Remark:
    tone: Tone = "needs_you" if event.kind == "warning" else "quiet"
    said = [event.detail[name] for name in ("hint", "text", "message") if isinstance(event.detail.get(name), str)]
    return Remark(event.at, tone, event.title, "\n".join(text for text in said if text != event.title))
