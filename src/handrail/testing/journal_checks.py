"""What must hold for every journal, whatever happened to the process that wrote it."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.events.model import Action, AskClosed, AskOpened, Completed, Event, Started, Task

__all__ = ["journal_problems"]


def journal_problems(events: Iterable[Event], *, ended: bool = True) -> list[str]:
    """What is wrong with a session's events, in words; empty if nothing is.

    They are numbered from 1 without gaps. Each run has one `Started` and one `Completed`, which is its last event. What
    is closed was open, and what is answered by resuming was lost. An answer to what was lost decides one other ask at
    most. With `ended` (no CLI runs for the session any more) nothing is open at the end.
    """
    checker = _Checker()
    for event in events:
        checker.see(event)
    return checker.problems + (checker.left_open() if ended else [])


class _Checker:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self._seq = 0
        self._run: int | None = None
        self._last_run = 0
        self._asks: set[str] = set()
        self._lost: set[str] = set()
        self._granting: set[str] = set()
        self._actions: set[str] = set()
        self._tasks: set[str] = set()

    def see(self, event: Event) -> None:
        if event.seq != self._seq + 1:
            self._complain(f"number {event.seq} follows {self._seq}")
        self._seq = event.seq
        self._bracket(event)
        self._follow(event)

    def left_open(self) -> list[str]:
        still = [f"run {self._run}"] if self._run is not None else []
        still += [f"ask {each}" for each in sorted(self._asks)]
        still += [f"action {each}" for each in sorted(self._actions)]
        still += [f"task {each}" for each in sorted(self._tasks)]
        return [f"{each} was never closed" for each in still]

    def _bracket(self, event: Event) -> None:
        match event:
            case Started(run=run):
                if self._run is not None:
                    self._complain(f"run {run} starts inside run {self._run} ({event.seq})")
                if run is None or run <= self._last_run:
                    self._complain(f"run {run} follows run {self._last_run} ({event.seq})")
                self._run = self._last_run = run or self._last_run + 1
            case Completed(run=run):
                if run != self._run:
                    self._complain(f"run {run} is completed, but run {self._run} is open ({event.seq})")
                self._run = None
            case _ if event.run is not None and event.run != self._run:
                self._complain(f"{type(event).__name__} {event.seq} belongs to run {event.run}, which is not open")

    def _follow(self, event: Event) -> None:
        match event:
            case AskOpened():
                self._asks.add(event.ask_id)
            case AskClosed():
                self._close(event)
            case Action(phase="completed"):
                self._actions.discard(event.id)
            case Action(phase="started"):
                self._actions.add(event.id)
            case Task(phase="completed"):
                self._tasks.discard(event.id)
            case Task(phase="started"):
                self._tasks.add(event.id)

    def _close(self, event: AskClosed) -> None:
        resumes = event.outcome == "resumed"
        before = self._lost if resumes else self._asks
        if event.ask_id not in before:
            self._complain(
                f"ask {event.ask_id} is {event.outcome} and was not {'lost' if resumes else 'open'} ({event.seq})"
            )
        before.discard(event.ask_id)
        if event.granted_by and event.granted_by not in self._granting:
            self._complain(f"ask {event.ask_id} has an answer of {event.granted_by} that is not there ({event.seq})")
        self._granting.discard(event.granted_by)
        if resumes:
            self._granting.add(event.ask_id)
        elif event.outcome in ("lost", "unsent"):
            self._lost.add(event.ask_id)

    def _complain(self, problem: str) -> None:
        self.problems.append(problem)
