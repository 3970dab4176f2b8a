"""One CLI process of a session, from its start to its end: every frame goes into the session's journal."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from handrail.errors import ProcessExited
from handrail.events.model import Completed
from handrail.events.translate import Translator
from handrail.protocol.asks import Ask
from handrail.protocol.frames import Assistant, Frame, Result, StreamEvent, TaskProgress, ToolProgress, User
from handrail.protocol.options import Options
from handrail.sessions.ask_journal import AskJournal
from handrail.sessions.asking import OnAsk
from handrail.sessions.asks import AskChange, Decision
from handrail.sessions.budget import Purse
from handrail.sessions.client import Client, Launch
from handrail.sessions.decisions import CALLBACK
from handrail.sessions.feed import Item
from handrail.sessions.hooks import Hook
from handrail.sessions.journal import Journal
from handrail.sessions.outbox import Outbox
from handrail.sessions.unjudged import UnjudgedCalls
from handrail.store.base import Store
from handrail.transports.redact import Redactor

if TYPE_CHECKING:
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import PolicySource
    from handrail.sessions.dialled_in import DialledIn
    from handrail.sessions.mcp import ToolServer
    from handrail.sessions.tools import Tool
    from handrail.transports.ingress.transport import Surroundings

__all__ = ["Attachments", "Listener", "Sitting"]

REMEMBERED_RESULTS = 100
CONVERSATION: frozenset[type[Frame]] = frozenset({Assistant, User, Result, ToolProgress, TaskProgress})


class Listener(Protocol):
    """Whoever has a sitting: told what happened, behind the journal. Neither method may block or raise."""

    def happened(self, items: Sequence[Item]) -> None:
        """These were added to the journal."""

    def asked(self, ask: Ask) -> None:
        """Something waits for an answer."""

    def gone(self, error: Exception | None) -> None:
        """The CLI is gone: because of `error`, or because it was told to go."""


@dataclass(frozen=True, slots=True)
class Attachments:
    """What a program gives a session while it runs, and what is not remembered: callbacks, hooks, tools."""

    on_ask: OnAsk | None = None
    hooks: Sequence[Hook] = ()
    tools: Sequence[Tool[..., Any] | ToolServer] = ()
    record: str | None = None

    def __bool__(self) -> bool:
        """Whether the session would be another one without them."""
        return self.on_ask is not None or bool(self.hooks) or bool(self.tools)

    def again(self) -> Attachments:
        """For another CLI of the same session. The recording of the first one is complete."""
        return replace(self, record=None)


async def leave_open(ask: Ask) -> None:
    """Nobody answers at once: whoever wants to, decides."""


class Sitting:
    """The client of a session, the translator of its frames, and the messages and asks that go through them."""

    def __init__(
        self,
        session_id: str,
        options: Options,
        *,
        store: Store,
        journal: Journal,
        listener: Listener,
        launch: Launch,
        around: Surroundings,
        dialled_in: DialledIn | None = None,
        redactor: Redactor,
        policy: Policy | PolicySource | None = None,
        budget: Sequence[Purse] = (),
        attachments: Attachments,
    ) -> None:
        self.options = options
        self.translator = Translator(
            resume=options.resume,
            fork=options.fork_session,
            first_run=journal.runs + 1,
            mode=options.permission_mode,
            model=options.model,
        )
        self.asks = AskJournal(
            session_id,
            store,
            journal,
            run=lambda: self.translator.run,
            plan_context=lambda: self.client.plan_context,
            on_open=listener.asked,
        )
        self.client = Client(
            options,
            on_ask=attachments.on_ask or leave_open,
            actor=CALLBACK,
            on_ask_change=self._ask_changed,
            record_decision=self._record_decision,
            policy=policy,
            budget=budget or None,
            hooks=attachments.hooks,
            tools=attachments.tools,
            record=attachments.record,
            launch=launch,
            around=around,
            on_write=self.wrote,
            dialled_in=dialled_in,
        )
        self.outbox = Outbox(
            journal,
            ready=self.client.ready_to_send,
            turn=lambda content, uuid: self.client.turn(content, uuid=uuid),
            written=self.translator.expect,
            run_of=lambda result: self._run_of.get(result.raw),
        )
        self._journal = journal
        self._listener = listener
        self._redactor = redactor
        self._run_of: OrderedDict[bytes, int | None] = OrderedDict()
        self._unjudged = UnjudgedCalls(around.notice) if dialled_in is not None and policy is not None else None
        self.parting_words = ""
        """Why the CLI is left, where it is not told to go."""
        self.client.deliver_to(self)

    async def open(self) -> None:
        """Start the CLI."""
        await self.client.__aenter__()

    async def end(self) -> None:
        """End the CLI and everything it started, and see every message and ask through to its end."""
        await self.client.close()
        await self.outbox.settle()
        self.asks.flush()

    def wrote(self, data: bytes) -> None:
        """Lines went out to the CLI."""
        for line in data.splitlines():
            self._journal.keep("out", self._redactor.line(line))

    # ------------------------------------------------------------ called by the client

    def push(self, frames: Sequence[Frame], size: int) -> None:
        """Frames arrived."""
        items: list[Item] = []
        for frame in frames:
            if type(frame) is not StreamEvent:
                self._journal.keep("in", self._clean(frame))
                if self._unjudged is not None:
                    self._unjudged.receive(frame)
            said = self.translator.receive(frame)
            if isinstance(frame, Result):
                self._remember_run(frame, said)
            items += said
        self._add(items)

    def _clean(self, frame: Frame) -> bytes:
        """The line of a frame without secrets.

        The conversation is in the events as well, so its lines are cleaned as those are. The control channel, where
        credentials travel, is searched for whatever looks like one.
        """
        clean = self._redactor.known if type(frame) in CONVERSATION else self._redactor.line
        return clean(frame.raw)

    def close(self, error: Exception | None) -> None:
        """The CLI is gone."""
        self.asks.flush()
        gone = error if isinstance(error, ProcessExited) else None
        self._add(
            self.translator.exited(
                exit_code=gone.exit_code if gone else None,
                reason=str(error) if error is not None else self.parting_words,
                stderr=gone.stderr_tail if gone else "",
                expected=error is None,
            )
        )
        self._listener.gone(error)

    def _add(self, items: Sequence[Item]) -> None:
        if items:
            self._journal.add(items)
            self._listener.happened(items)

    def _remember_run(self, result: Result, said: Sequence[Item]) -> None:
        completed = next((item for item in said if isinstance(item, Completed)), None)
        self._run_of[result.raw] = completed.run if completed is not None else None
        if len(self._run_of) > REMEMBERED_RESULTS:
            self._run_of.popitem(last=False)

    def _ask_changed(self, change: AskChange) -> None:
        self.asks.changed(change)

    async def _record_decision(self, decision: Decision) -> None:
        await self.asks.record(decision)
