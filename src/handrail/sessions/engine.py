"""A live session: its CLI runs in this process, which owns its journal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from handrail.errors import HandrailError, SessionNotLive, StoreError
from handrail.events.endings import was_interrupted
from handrail.events.model import Completed, Event, ModelChanged, SessionRekeyed, Started, Titled
from handrail.policy.files import Disk, Elsewhere
from handrail.protocol.asks import Ask
from handrail.protocol.control import Interrupt
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor, AnyAnswer, Decision
from handrail.sessions.conversation_id import ConversationId
from handrail.sessions.decisions import PLAN_APPROVED, Successor
from handrail.sessions.dialled_in import DialledIn
from handrail.sessions.feed import Item
from handrail.sessions.guards.activity import Idle, Stalled, duration
from handrail.sessions.guards.watch import SessionGuards
from handrail.sessions.launching import SessionSettings, encode_settings, for_new
from handrail.sessions.lost_asks import LostAsks
from handrail.sessions.once import OnceGrant
from handrail.sessions.outbox import message_row, queued
from handrail.sessions.owning.ownership import Owned
from handrail.sessions.sitting import Attachments, Sitting
from handrail.sessions.starts import Starts
from handrail.sessions.titles import title_from
from handrail.store.base import AskRow, MessageRow, SessionRow
from handrail.transports.ingress.sockets import RETRY
from handrail.transports.ingress.transport import IngressTransport, Surroundings
from handrail.transports.redact import Redactor, is_secret_name

if TYPE_CHECKING:
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import PolicySource

__all__ = ["Engine"]

logger = logging.getLogger("handrail.session")

INTERRUPT_PATIENCE = 3.0
AT_REST = ("idle", "failed")
PARTING = "the connection to Claude Code was given up: it goes on where it runs, and is seated when it dials in again"
NO_FRESH_CONTEXT = (
    "the plan cannot be carried out in a fresh context, because Claude Code was not started by Handrail: "
    "send a message to have it carried out in this one"
)


class Engine:
    """The owner's side of one live session. Made by the manager, which has taken the lock and the lease for it."""

    def __init__(
        self,
        row: SessionRow,
        *,
        owned: Owned,
        settings: SessionSettings,
        guards: SessionGuards,
        attachments: Attachments,
        dialled_in: IngressTransport | None = None,
        on_end: Callable[[Engine], None] = lambda engine: None,
    ) -> None:
        """`dialled_in` is the way to a CLI that somebody else has started: it is here already, and is not started."""
        self.session_id = row.id
        self.settings = settings
        self.journal = owned.journal
        self.over = asyncio.Event()
        """Set once the CLI is gone and the session was given up."""
        self.died = False
        """Whether the CLI ended by itself."""
        self._title = row.title
        self._owned = owned
        self._store = owned.store
        self._lock = owned.lock
        self._starts = Starts(owned.journal, owned.lock)
        self.policy: Policy | PolicySource | None = None
        self._guards = guards
        self.journal.on_add = guards.see
        self.attachments = attachments
        self._on_end = on_end
        self._dialled_in = dialled_in
        self._conversation = ConversationId(
            row.cli_session_id, owned.journal, owned.lock, dials_in=dialled_in is not None
        )
        self._around = Surroundings(self._warn, self._presence, owned.journal.stored)
        self._declined: Successor | None = None
        self._is_away = False
        """Whether the CLI has lost its connection, and is waited for."""
        self._sitting: Sitting | None = None
        self._status = row.status
        self._last_ok: bool | None = None
        self._stopping = False
        self._succeeding = False
        self._ending: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        """Brings a CLI up: the first one, or one that follows another."""
        self._death: Exception | None = None
        self._early: dict[str, MessageRow] = {}
        """Messages that came before there was a CLI to take them."""
        self._seated = asyncio.Event()
        """Not set while one CLI of the session follows another."""
        self._seated.set()
        self._lost_asks = LostAsks(
            row.id,
            owned.store,
            owned.journal,
            take=self._take_answer,
            waiting=self._waiting,
            files=Disk() if dialled_in is None else Elsewhere(),
        )
        self._work: set[asyncio.Task[Any]] = set()

    # ------------------------------------------------------------ life

    async def start(self, options: Options, *, why: str) -> None:
        """Start the CLI. Raises what keeps it from starting; the session is then over for this process."""
        self._beginning = beginning = asyncio.get_running_loop().create_task(self._begin(options, why))
        try:
            await asyncio.wait([beginning])
        finally:
            if not beginning.done() or beginning.cancelled() or beginning.exception() is not None:
                await self._leave()
        if beginning.cancelled():
            stopped = SessionNotLive(f"session {self.session_id[:8]} was stopped before it had started")
            raise self._death or stopped
        await beginning

    async def _begin(self, options: Options, why: str) -> None:
        await self._guards.admit(self._wait_in_queue)
        self._guards.watch(self._stalled, self._idled)
        await self._lost_asks.recall()
        await self._sit_down(options, why)
        await self._send_what_waits()
        self._guards.count_afresh()

    async def _begin_no_more(self) -> None:
        beginning = self._beginning
        if beginning is not None and not beginning.done():
            beginning.cancel()
            await asyncio.wait([beginning])

    def _wait_in_queue(self, ahead: int) -> None:
        if self._status != "queued":
            self._status = "queued"
            self.note("as many sessions run as may: this one waits for its turn")
            self.journal.add(session={"status": "queued"})

    async def stop(self) -> None:
        """End the CLI and everything it started, and give the session up.

        What waits for an answer is lost, and can be answered by resuming. What runs is interrupted first: told only
        that nobody answers any more, Claude would go on without what it asked for.
        """
        self._stopping = True
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        # Seen through also if whoever asked for it goes away: a session that is half stopped is of no use to anybody.
        await asyncio.shield(self._ending)

    async def part(self) -> None:
        """Give the session up because this process ends: a CLI that was started elsewhere goes on without us."""
        if self._dialled_in is None:
            await self.stop()
            return
        self._stopping = True
        self._dialled_in.parting = RETRY
        if self._sitting is not None:
            self._sitting.parting_words = PARTING
            self._sitting.client.abandon_asks()
            self._sitting.asks.flush()
        await self._leave()

    async def _end(self) -> None:
        sitting = self._sitting
        if sitting is not None and sitting.translator.run is not None:
            sitting.client.abandon_asks()
            sitting.asks.flush()
            with suppress(HandrailError):
                await sitting.client.request(Interrupt(), timeout=INTERRUPT_PATIENCE)
        await self._leave()

    async def _sit_down(self, options: Options, why: str) -> None:
        redactor = Redactor(value for name, value in options.env.items() if is_secret_name(name))
        self.journal.redact = redactor.known
        self._sitting = Sitting(
            self.session_id,
            options,
            store=self._store,
            journal=self.journal,
            listener=self,
            launch=partial(self._starts.launch, why=why),
            around=self._around,
            dialled_in=await self._seat_of_its_own(),
            redactor=redactor,
            policy=self.policy,
            budget=self._guards.purses(self.settings.budget, spent=self.journal.cost_usd, on_raise=self._budget_raised),
            attachments=self.attachments,
        )
        if self._dialled_in is not None:
            await self._starts.note("", why)
            self._dialled_in.around = self._around
        await self._sitting.open()
        await self._starts.note_running(self._sitting.client.pid)
        self._update()

    async def _seat_of_its_own(self) -> DialledIn | None:
        if self._dialled_in is None:
            return None
        return await DialledIn.of(self._dialled_in, self._store, self.journal.lease)

    def _presence(self, here: bool) -> None:
        self._is_away = not here
        self._update()

    def _warn(self, text: str) -> None:
        self.note(text, warning=True)

    async def _leave(self) -> None:
        """End what runs, store what is left, and let go of the session. Idempotent."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(self._let_go())
        await asyncio.shield(self._leaving)

    async def _let_go(self) -> None:
        try:
            await self._begin_no_more()
            if self._sitting is not None:
                await self._sitting.end()
            self._sitting = None
            await self._guards.close()
            self._remember_last_seen()
            self._update()
            await self._owned.give_up()
        except StoreError as error:
            logger.warning("the end of session %s could not be stored: %s", self.session_id, error)
        finally:
            self._lock.release()  # whatever went wrong: nothing of the session runs any more
            self.over.set()
            self._on_end(self)

    def _remember_last_seen(self) -> None:
        if self._dialled_in is not None:
            link = self._dialled_in.link
            self.settings = msgspec.structs.replace(
                self.settings, last_seen=link.last_seen, undelivered=tuple(link.unproved_answers)
            )
            self.journal.add(session={"settings": encode_settings(self.settings)})

    def failed(self, error: HandrailError) -> None:
        """The journal cannot be written any more: nothing may run that nobody could read about."""
        logger.error("session %s stops: its journal cannot be written: %s", self.session_id, error)
        self._stop_soon()

    # ------------------------------------------------------------ what people do

    async def send(self, content: Any, *, actor: Actor, uuid: str | None = None) -> str:
        """Take a message; it is stored when this returns, and sent as soon as it may be.

        One with a `uuid` that was sent before is the same message, and is not sent again.
        """
        await self._seated.wait()
        row = message_row(content, actor, uuid=uuid, at=time.time())
        if uuid is None or not await self._is_known(uuid):
            self._check_not_leaving()
            self._give_title(content)
            self._take(row)
        await self.journal.stored()
        return row.uuid

    async def _is_known(self, uuid: str) -> bool:
        await self.journal.stored()
        return any(row.uuid == uuid for row in await self._store.messages(self.session_id))

    def _take(
        self, row: MessageRow, *, after: Sequence[Event] = (), asks: Sequence[AskRow] = (), durable: bool = False
    ) -> None:
        """Put a message into the journal, together with what it follows from, and have it sent once it is stored."""
        self.journal.add([*after, queued(row)], messages=[row], asks=asks, durable=durable)
        if self._sitting is None or (self._beginning is not None and not self._beginning.done()):
            self._early[row.uuid] = row
        else:
            self._sitting.outbox.carry([row])

    def _take_answer(self, row: MessageRow | None, closed: Event, ask: AskRow) -> None:
        self._check_not_leaving()
        if row is None:
            self.journal.add([closed], asks=[ask], durable=True)
        else:
            self._take(row, after=[closed], asks=[ask], durable=True)

    async def _send_what_waits(self) -> None:
        """Send the messages that were stored before, and never sent."""
        stored = await self._store.messages(self.session_id, states=("queued",))
        waiting = {row.uuid: row for row in stored} | self._early
        self._early.clear()
        self._live().outbox.carry(waiting.values())

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> Decision:
        """Answer an ask. Raises a `DecisionRefused`. The journal says what was decided when this returns."""
        sitting = self._live()
        decision = await sitting.client.decide(ask_id, answer, actor=actor, digest=digest)
        sitting.asks.flush()
        self._update()
        await self.journal.stored()
        return decision

    async def interrupt(self) -> None:
        """Stop what runs now; the session goes on."""
        await self._live().client.interrupt()

    async def control(self, subtype: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Make any control request.

        The CLI is initialised once: another time would take away the hooks that hold it to its policy. What it said of
        itself then is the answer.
        """
        client = self._live().client
        if subtype == "initialize":
            return dict(msgspec.json.decode(msgspec.json.encode(client.info)))  # as a CLI would have answered it
        return await client.control(subtype, **fields)

    async def set_permission_mode(self, mode: str) -> None:
        await self._live().client.set_permission_mode(mode)

    async def set_model(self, model: str | None) -> None:
        await self._live().client.set_model(model)

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        """Answer an ask whose process has ended. Raises `AskClosed` or `StaleDigest`."""
        try:
            await self._lost_asks.answer(ask_id, answer, actor=actor, digest=digest)
        finally:  # also if whoever answered has gone away: it holds from the moment that it is in the journal
            for ask in self._waiting():  # the same may wait for an answer by now
                self._let_pass(ask)

    def rename(self, title: str, *, by: str = "") -> None:
        """Give the session another title."""
        self._title = title
        self.journal.add([Titled(title=title, by=by)], session={"title": title})

    def note(self, text: str, *, warning: bool = False) -> None:
        """Put a remark of Handrail's own into the journal."""
        self.journal.remark(text, warning=warning)

    def begins_anew(self, why: str) -> None:
        """Say that the CLI does not know the conversation any more, and began another."""
        self.note(why, warning=True)
        self._conversation.begin_anew()

    @property
    def title(self) -> str:
        return self._title

    @property
    def leaving(self) -> bool:
        """Whether the CLI is gone, or about to be: nothing more can be done with it."""
        return self._stopping or self._leaving is not None

    def _live(self) -> Sitting:
        if self._sitting is None or self._stopping:
            raise self._not_live()
        return self._sitting

    def _check_not_leaving(self) -> None:
        if self.leaving:
            raise self._not_live()

    def _not_live(self) -> SessionNotLive:
        return SessionNotLive(f"no CLI runs for session {self.session_id[:8]}: resume it first")

    def _give_title(self, content: Any) -> None:
        if not self._title:
            title = title_from(content)
            if title:
                self.rename(title)

    # ------------------------------------------------------------ what happens (called by the sitting)

    def happened(self, items: Sequence[Item]) -> None:
        """These are in the journal."""
        for item in items:
            match item:
                case Started(resume=resume, meta=meta):
                    if meta is not None and meta.model:
                        self.journal.add(session={"model": meta.model})
                    self._rekey(resume)
                case SessionRekeyed(resume=resume):
                    self._rekey(resume)
                case ModelChanged(model=model):
                    self.journal.add(session={"model": model})
                case Completed():
                    self._last_ok = item.ok or was_interrupted(item)
        self._follow_up()
        self._update()

    def asked(self, ask: Ask) -> None:
        """Something waits for an answer: perhaps one that was given before the process ended."""
        if self._dialled_in is not None and self._sitting is not None:
            self.journal.add(self._sitting.translator.goes_on())  # it may have asked somebody who had it before us
        self._let_pass(ask)
        self._update()

    def gone(self, error: Exception | None) -> None:
        """The CLI is gone."""
        self.died = error is not None
        self._death = error
        if not self._succeeding:
            self._stopping = True
            self._start_work(self._leave())

    def _waiting(self) -> Sequence[Ask]:
        return tuple(self._sitting.client.asks.values()) if self._sitting is not None else ()

    def _let_pass(self, ask: Ask) -> None:
        """Use what was allowed before the process ended, if this is it."""
        grant = self._lost_asks.grant_for(ask)
        if grant is not None:
            self._start_work(self._use(grant, ask))

    async def _use(self, grant: OnceGrant, ask: Ask) -> None:
        try:
            if await self._lost_asks.holds(grant):
                await self.decide(ask.id, grant.answer, actor=grant.actor, digest=ask.digest)
        except HandrailError as error:
            logger.info("what was allowed before the process ended was not used: %s", error)

    def _rekey(self, cli_session_id: str | None) -> None:
        if cli_session_id is not None and self._conversation.heard(cli_session_id):
            self._start_work(self._conversation.lock(cli_session_id))

    def _follow_up(self) -> None:
        sitting = self._sitting
        if sitting is None or self._stopping or self._succeeding:
            return
        if sitting.translator.fatal:
            self._stop_soon()
        elif sitting.client.successor is not None and sitting.translator.run is None:
            if self._dialled_in is not None:
                self._decline(sitting.client.successor)
                return
            self._succeeding = True
            self._beginning = self._start_work(self._succeed(sitting, sitting.client.successor))

    def _decline(self, successor: Successor) -> None:
        if successor is not self._declined:
            self._declined = successor
            self.note(NO_FRESH_CONTEXT, warning=True)

    async def _succeed(self, sitting: Sitting, successor: Successor) -> None:
        """Carry an approved plan out in a conversation that knows nothing else: another CLI, the same session."""
        self._seated.clear()
        try:
            await sitting.end()
            cli_session_id = await self._conversation.begin_another()
            self.policy = successor.policy or self.policy
            self.attachments = self.attachments.again()
            await self._sit_down(for_new(successor.options, cli_session_id), "fresh context")
            self._succeeding = False
            row = message_row(successor.prompt, PLAN_APPROVED, uuid=None, at=time.time())
            self.journal.add([queued(row)], messages=[row])
            self._live().outbox.carry([row])
            await self._send_what_waits()
        except HandrailError as error:
            self.note(f"the plan could not be carried out in a fresh context: {error}", warning=True)
            self._start_work(self._leave())
        finally:
            self._succeeding = False
            self._seated.set()

    # ------------------------------------------------------------ guards

    def _budget_raised(self, limit: float) -> None:
        """A person allowed more, which is to hold after a resume as well."""
        self.settings = msgspec.structs.replace(self.settings, budget=limit)
        self.journal.add(session={"settings": encode_settings(self.settings)})

    def _stalled(self, stall: Stalled) -> None:
        self.journal.add([stall.warning()])
        if self._guards.limits.on_stall == "interrupt":
            self._start_work(self.interrupt())
        elif self._guards.limits.on_stall == "stop":
            self._stop_soon()

    def _idled(self, idle: Idle) -> None:
        """Nobody has used the session for long: its CLI ends, and a message starts it again just as it was."""
        can_come_back = self._dialled_in is None and not self.attachments
        if can_come_back and self._is_at_rest():
            self.note(f"nothing went on for {duration(idle.seconds)}: Claude Code ends, and a message starts it again")
            self._stop_soon()

    def _is_at_rest(self) -> bool:
        """Whether nothing is under way: no start, no run, no ask, no message that the CLI is to begin with."""
        has_begun = self._beginning is None or self._beginning.done()
        messages = len(self._early) + (self._sitting.outbox.busy if self._sitting is not None else 0)
        # What is asked is in the status only once it is in the journal, a moment later.
        return has_begun and not messages and not self._waiting() and self._status in AT_REST

    # ------------------------------------------------------------ status

    def _update(self) -> None:
        status = self._current_status()
        if status != self._status:
            self._status = status
            self.journal.add(session={"status": status})

    def _current_status(self) -> str:
        sitting = self._sitting
        if sitting is None:
            return self._status_at_the_end()
        if sitting.asks.waiting:
            return "needs_you"
        if self._is_away:
            return "waiting"
        if sitting.translator.run is not None:
            return "running"
        return "failed" if self._last_ok is False else "idle"

    def _status_at_the_end(self) -> str:
        if self._dialled_in is not None and (self.died or self._dialled_in.parting == RETRY):
            return "waiting"
        return "failed" if self.died else "stopped"

    def _stop_soon(self) -> None:
        """Stop without waiting for it. From here on no message is taken that nothing would be left to send."""
        self._stopping = True
        self._start_work(self.stop())

    def _start_work(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._worked)
        return task

    def _worked(self, task: asyncio.Task[Any]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("session %s: something failed that nobody waits for", self.session_id, exc_info=error)
