"""Tells people outside about asks and runs, by a command or a webhook, without ever keeping a session waiting.

    async with Notifier([Notify(kinds=("ask", "failed"), webhook="https://…")]) as notifier:
        notifier.see(event, session_id=row.id, title=row.title)      # each event once it is stored

Notices are gathered for a moment, so that a burst is one message, and an ask that is answered at once (by a policy, or
by whoever sits there) is none. What a target cannot take in time waits, up to a number; beyond it the oldest go, and
the next message says how many.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, get_args

import msgspec

from handrail.errors import ConfigError
from handrail.events.model import Action, AskClosed, AskOpened, Completed, Event
from handrail.protocol.asks import AskKind
from handrail.sessions.guards.activity import STALL_ID
from handrail.sessions.guards.notifying.command import Command
from handrail.sessions.guards.notifying.message import Message, NotDelivered, Notice, message_of, plain
from handrail.sessions.guards.notifying.webhook import Webhook

__all__ = ["KINDS", "PROBE", "Notice", "Notifier", "Notify", "notice_of"]

logger = logging.getLogger("handrail.guards")

ASK_KINDS: tuple[str, ...] = get_args(AskKind)
ANY_ASK = "ask"
FINISHED, FAILED, STALLED = "finished", "failed", "stalled"
PROBE = "probe"
KINDS = (ANY_ASK, *ASK_KINDS, FINISHED, FAILED, STALLED, PROBE)
"""What can be notified about; `ask` stands for every kind of ask."""

WAITING_AT_MOST = 100
GATHERED_FOR = 1.0
PATIENCE_AT_THE_END = 5.0


class Notify(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told of what. With `details` the whole ask or answer is sent, otherwise only what it is called."""

    kinds: tuple[str, ...]
    command: tuple[str, ...] | None = None
    webhook: str | None = None
    details: bool = False
    timeout: float = 10.0

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise ConfigError(f"nothing is notified about {unknown[0]!r}: use {', '.join(KINDS)}")
        if not self.command and not self.webhook:
            raise ConfigError("a notification needs a command or a webhook")

    def wants(self, notice: Notice) -> bool:
        return notice.kind in self.kinds or (ANY_ASK in self.kinds and notice.kind in ASK_KINDS)


class Target(Protocol):
    """What takes messages somewhere."""

    name: str

    async def deliver(self, message: Message) -> None:
        """Raises `NotDelivered`."""
        ...


class Notifier:
    """Sends what its rules want. Opened and closed with `async with`; closing waits a little for what is under way."""

    def __init__(
        self,
        rules: Sequence[Notify],
        *,
        environ: Mapping[str, str] | None = None,
        gather: float = GATHERED_FOR,
    ) -> None:
        environ = os.environ if environ is None else environ
        self._outboxes = [_Outbox(rule, target, gather=gather) for rule in rules for target in _targets(rule, environ)]

    async def __aenter__(self) -> Self:
        for outbox in self._outboxes:
            outbox.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def see(self, event: Event, *, session_id: str, title: str = "") -> None:
        """Something happened in a session. Neither waits nor raises."""
        if isinstance(event, AskClosed):
            for outbox in self._outboxes:
                outbox.take_back(session_id, event.ask_id)
            return
        notice = notice_of(event, session_id=session_id, title=title)
        if notice is not None:
            self.tell(notice)

    def tell(self, notice: Notice) -> None:
        """Send a notice to whoever wants it. Neither waits nor raises."""
        for outbox in self._outboxes:
            if outbox.rule.wants(notice):
                outbox.put(notice)

    async def close(self, patience: float = PATIENCE_AT_THE_END) -> None:
        """Send what is left, for at most so many seconds, and end. Idempotent."""
        await asyncio.gather(*(outbox.close(patience) for outbox in self._outboxes))


class _Outbox:
    """What one target has yet to be told."""

    def __init__(self, rule: Notify, target: Target, *, gather: float) -> None:
        self.rule = rule
        self._target = target
        self._gather = gather
        self._waiting: OrderedDict[tuple[str, str], Notice] = OrderedDict()
        self._dropped = 0
        self._numbered = 0
        self._something = asyncio.Event()
        self._closing = asyncio.Event()
        self._complaints: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work())

    def put(self, notice: Notice) -> None:
        if self._closing.is_set():
            return
        self._numbered += 1
        key = (notice.session_id, notice.ask_id or f"#{self._numbered}")
        self._waiting[key] = notice  # an ask that is told again takes its own place
        if len(self._waiting) > WAITING_AT_MOST:
            self._waiting.popitem(last=False)
            self._dropped += 1
            self._complain("it is slower than what there is to tell: the oldest notices are dropped")
        self._something.set()

    def take_back(self, session_id: str, ask_id: str) -> None:
        self._waiting.pop((session_id, ask_id), None)

    async def close(self, patience: float) -> None:
        self._closing.set()
        self._something.set()
        if self._task is None:
            return
        task, self._task = self._task, None
        _, late = await asyncio.wait([task], timeout=patience)
        if late:
            logger.warning("a notification to %s was still under way and is given up", self._target.name)
            task.cancel()
            await asyncio.wait([task])

    async def _work(self) -> None:
        while self._waiting or not self._closing.is_set():
            await self._something.wait()
            await self._gather_more()
            self._something.clear()
            await self._send()

    async def _gather_more(self) -> None:
        """Wait for what comes along with it, unless this is the end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._gather):
                await self._closing.wait()

    async def _send(self) -> None:
        if not self._waiting:
            return
        notices, dropped = list(self._waiting.values()), self._dropped
        self._waiting.clear()
        self._dropped = 0
        try:
            await self._target.deliver(message_of(notices, dropped=dropped, details=self.rule.details))
        except NotDelivered as error:
            self._complain(error.cause, error.detail)
        except Exception as error:  # whatever a target does, the next notice must find its way
            logger.exception("a notification failed in an unforeseen way")
            self._complain(type(error).__name__)

    def _complain(self, cause: str, detail: str = "") -> None:
        level = logging.DEBUG if cause in self._complaints else logging.WARNING
        self._complaints.add(cause)
        logger.log(level, "a notification did not reach %s: %s", self._target.name, f"{cause}{detail}")


def notice_of(event: Event, *, session_id: str, title: str = "") -> Notice | None:
    """What is worth telling of an event, if anything is."""
    name = plain(title) or f"session {session_id[:8]}"
    match event:
        case AskOpened():
            return Notice(
                kind=event.kind,
                session_id=session_id,
                text=plain(f"{name} needs you: {event.title}"),
                at=event.at,
                session_title=title,
                ask_id=event.ask_id,
                ask_title=event.title,
                digest=event.digest,
                detail=event.ask,
            )
        case Completed():
            return Notice(
                kind=FINISHED if event.ok else FAILED,
                session_id=session_id,
                text=f"{name}: the run {'is finished' if event.ok else 'failed'}",
                at=event.at,
                session_title=title,
                cost_usd=event.cost_usd,
                detail={"answer": event.answer, "error": event.error, "duration_ms": event.duration_ms},
            )
        case Action(id=id, title=words) if id.startswith(STALL_ID):
            return Notice(
                kind=STALLED, session_id=session_id, text=f"{name}: {words}", at=event.at, session_title=title
            )
    return None


def _targets(rule: Notify, environ: Mapping[str, str]) -> list[Target]:
    targets: list[Target] = []
    if rule.command:
        targets.append(Command(rule.command, environ=environ, timeout=rule.timeout))
    if rule.webhook:
        targets.append(Webhook(rule.webhook, timeout=rule.timeout))
    return targets
