"""Brings the journal of a session to an honest end after its owner died: killed, crashed, or the machine rebooted.

Whatever was open is closed, in words that say why; nothing is sent, and nothing is guessed. A local CLI dies with its
owner, so what waited for an answer is lost; a decision that was stored but may not have reached the CLI is unsent,
unless the CLI's own transcript shows that it did. One that dialled in from elsewhere may live: what it waits for is
asked again when it comes back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import msgspec

from handrail.events.codec import decode_event
from handrail.events.model import Action, AskClosed, Compacting, Completed, Event, Hook, ProcessExited, Prompt, Task
from handrail.sessions.journal import Journal
from handrail.sessions.launching import decode_settings
from handrail.sessions.owning.witness import ends_of
from handrail.store.base import AskRow, AskRowState, EventRow, MessageRow, RunRow, SessionRow, Store

__all__ = ["recover"]

PAGE = 1_000
CRASHED = "Handrail ended before Claude Code was done, and Claude Code with it"
OUTLIVED = "Handrail ended before Claude Code was done, which goes on elsewhere and is seated when it dials in again"
WITNESSED = "Handrail ended before it heard of this, but Claude Code has it in its transcript"
OUTCOMES: Mapping[str, Literal["decided", "unsent", "lost"]] = {
    "sent": "decided",
    "unsent": "unsent",
    "lost": "lost",
}
TELLING = frozenset({"action", "task", "hook", "compacting", "completed", "process_exited"})


@dataclass(slots=True)
class _Open:
    """What has begun and not ended, and which run answered which message."""

    actions: dict[str, Action] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    hooks: dict[str, Hook] = field(default_factory=dict)
    compacting: bool = False
    answered: dict[str, int | None] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        match event:
            case Action(phase="completed"):
                self.actions.pop(event.id, None)
            case Action(phase="started"):
                self.actions[event.id] = event
            case Task(phase="completed"):
                self.tasks.pop(event.id, None)
            case Task():
                self.tasks[event.id] = event
            case Hook(phase="completed"):
                self.hooks.pop(event.id, None)
            case Hook():
                self.hooks[event.id] = event
            case Compacting(phase=phase):
                self.compacting = phase == "started"
            case Completed(subtype=subtype) if subtype:  # the CLI's own result: it was done with these
                self.answered.update(dict.fromkeys(event.messages, event.run))
            case ProcessExited():
                self.actions.clear()
                self.tasks.clear()
                self.hooks.clear()
                self.compacting = False


async def recover(
    store: Store, row: SessionRow, journal: Journal, *, environ: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Close what the last owner of `row` left open. Its processes must have ended.

    `environ` is what the session's CLI had around it, but for what its own options add to that.
    """
    settings = decode_settings(row.settings)
    dials_in = settings.dials_in
    why = OUTLIVED if dials_in else CRASHED
    runs = await store.runs(row.id)
    run = next((each for each in reversed(runs) if each.completed_seq is None), None)
    journal.reopen(run)
    found = await _left_open(store, row.id)
    asks = await store.asks(row.id, states=("pending", "decided"))
    messages = await store.messages(row.id, states=("sent", "started"))
    now = time.time()
    decided = {ask.id: call for ask in asks if ask.state == "decided" and (call := _call_of(ask)) is not None}
    ends: Mapping[str, bool] = {}
    if not dials_in:
        calls, around = {*found.actions, *decided.values()}, {**environ, **settings.options.env}
        ends = await asyncio.to_thread(ends_of, calls, row.cli_session_id, environ=around)
    closed_asks = [_closed(ask, now, was_told=decided.get(ask.id) in ends) for ask in asks]
    prompts = [_ended(message, found.answered, why) for message in messages]
    number = run.number if run else None
    events: list[Event] = [
        *(_ended_action(action, number, why, ends.get(action.id)) for action in found.actions.values()),
        *(_failed_task(task, number, why) for task in found.tasks.values()),
        *(_failed_hook(each, number, why) for each in found.hooks.values()),
        *([Compacting(run=number, phase="failed", error=why)] if found.compacting else []),
        *(_closing(ask, number, why) for ask in closed_asks),
        *_completed(run, row, why),
        *prompts,
        ProcessExited(reason=why),
    ]
    journal.add(
        events,
        asks=closed_asks,
        messages=[
            msgspec.structs.replace(message, state=prompt.state)
            for message, prompt in zip(messages, prompts, strict=True)
        ],
        session={"status": "waiting" if dials_in else "failed" if run else "stopped"},
        durable=True,
    )
    await journal.stored()


async def _left_open(store: Store, session_id: str) -> _Open:
    found = _Open()
    after = 0
    while page := await store.read(session_id, after=after, limit=PAGE):
        after = page[-1].seq
        for event in _decoded(page):
            found.see(event)
    return found


def _decoded(page: Iterable[EventRow]) -> Iterable[Event]:
    return (decode_event(row.body) for row in page if row.type in TELLING)


def _ended_action(action: Action, run: int | None, why: str, went_well: bool | None) -> Action:
    """It may have begun in an earlier run; its end belongs to the one that is open, as all that happens now does."""
    ok, reason = (False, why) if went_well is None else (went_well, WITNESSED)
    return msgspec.structs.replace(action, seq=0, at=0.0, run=run, phase="completed", ok=ok, detail={"reason": reason})


def _failed_task(task: Task, run: int | None, why: str) -> Task:
    return msgspec.structs.replace(
        task, seq=0, at=0.0, run=run, phase="completed", ok=False, status="lost", summary=why
    )


def _failed_hook(hook: Hook, run: int | None, why: str) -> Hook:
    return msgspec.structs.replace(hook, seq=0, at=0.0, run=run, phase="completed", ok=False, detail={"reason": why})


class _Asked(msgspec.Struct):
    """What counts of a stored ask."""

    tool_use_id: str | None = None


def _call_of(ask: AskRow) -> str | None:
    """The call that an ask is about."""
    return msgspec.json.decode(ask.body, type=_Asked).tool_use_id


def _closed(ask: AskRow, now: float, *, was_told: bool) -> AskRow:
    state: AskRowState = "sent" if was_told else "unsent" if ask.state == "decided" else "lost"
    return msgspec.structs.replace(ask, state=state, closed_at=now)


def _closing(ask: AskRow, run: int | None, why: str) -> AskClosed:
    return AskClosed(
        run=run,
        ask_id=ask.id,
        outcome=OUTCOMES[ask.state],
        answer=msgspec.json.decode(ask.answer) if ask.answer else None,
        by=ask.decided_by,
        surface=ask.surface,
        decided_at=ask.decided_at,
        granted_by=ask.granted_by,
        message=WITNESSED if ask.state == "sent" else why,
    )


def _completed(run: RunRow | None, row: SessionRow, why: str) -> list[Event]:
    if run is None:
        return []
    return [Completed(run=run.number, ok=False, error=why, resume=row.cli_session_id, subtype="process_lost")]


def _ended(message: MessageRow, answered: Mapping[str, int | None], why: str) -> Prompt:
    """What became of a message that was sent: it is lost, unless a result for it had arrived."""
    prompt = Prompt(uuid=message.uuid, state="lost", by=message.by, surface=message.surface, reason=why)
    if message.uuid not in answered:
        return prompt
    return msgspec.structs.replace(prompt, state="answered", reason="", answered_by=answered[message.uuid])
