"""The live client: one CLI process, frame by frame.

It pumps bytes from the transport through the protocol's `Connection` as they arrive, so answers to the CLI and to our
own requests never wait for anybody who reads frames.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

import msgspec

from handrail.errors import ClientClosed, ControlRefused, LocalProtocolError, ProcessError
from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import Ask
from handrail.protocol.codec import DEFAULT_MAX_LINE
from handrail.protocol.connection import (
    Answered,
    Asked,
    Cancelled,
    Connection,
    ControlEvent,
    Stray,
    environment_line,
    keep_alive_line,
)
from handrail.protocol.control import (
    CancelAsyncMessage,
    Initialized,
    Interrupt,
    Interrupted,
    Request,
    SetModel,
    SetPermissionMode,
)
from handrail.protocol.frames import Assistant, ConversationReset, Frame, Init, Malformed, Result, Status, TaskStarted
from handrail.protocol.launch import initialize_fields
from handrail.protocol.options import Options
from handrail.protocol.tasks import TASK_FRAMES, BackgroundTasks
from handrail.sessions.answering import Answering
from handrail.sessions.asking import OnAsk
from handrail.sessions.asks import Actor, AnyAnswer, AskChange, Decision
from handrail.sessions.audience import Audience, FrameSink
from handrail.sessions.budget import AnyBudget
from handrail.sessions.calls import ControlCalls, typed_answer
from handrail.sessions.cli_process import Launch, Wiring, exit_error
from handrail.sessions.cli_version import applies_environment, log_shortcomings, survives_withdrawals
from handrail.sessions.decisions import CALLBACK, Decisions, Successor
from handrail.sessions.hooks import Hook, HookRunner
from handrail.sessions.mcp import ToolServer, ToolServers, servers_among
from handrail.sessions.readers import DEFAULT_BUDGET, FrameReader
from handrail.sessions.tools import Tool
from handrail.sessions.turn import Turn
from handrail.sessions.turns import Content, Turns
from handrail.transports.base import Transport
from handrail.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import PolicySource
    from handrail.sessions.dialled_in import DialledIn
    from handrail.transports.ingress.transport import Surroundings

__all__ = ["Client"]

logger = logging.getLogger("handrail.client")

ReplyT = TypeVar("ReplyT")

ALREADY_INITIALIZED = "Already initialized"


class Client:
    """One live CLI process. Made by `connect`, opened and closed with `async with`."""

    def __init__(
        self,
        options: Options,
        *,
        on_ask: OnAsk | None = None,
        actor: Actor = CALLBACK,
        on_ask_change: Callable[[AskChange], None] = lambda change: None,
        record_decision: Callable[[Decision], Awaitable[None]] | None = None,
        policy: Policy | PolicySource | None = None,
        budget: AnyBudget | None = None,
        hooks: Sequence[Hook] = (),
        tools: Sequence[Tool[..., Any] | ToolServer] = (),
        transport: Transport | None = None,
        record: str | os.PathLike[str] | None = None,
        max_line: int = DEFAULT_MAX_LINE,
        unread_budget: int = DEFAULT_BUDGET,
        launch: Launch = StdioTransport,
        around: Surroundings | None = None,
        on_write: Callable[[bytes], None] | None = None,
        dialled_in: DialledIn | None = None,
    ) -> None:
        """`launch` starts the process, `around` is for one that is to dial in; `dialled_in` is one that has done so.

        `on_write` hears of all that is written.
        """
        ask_suffix = dialled_in.ask_suffix if dialled_in is not None else ""
        self.options = options
        self.session_id: str | None = options.session_id or options.resume
        self.cli_version: str | None = None
        self.capabilities: tuple[str, ...] = ()
        self.info = Initialized()
        """What the CLI said of itself when it started: commands, models, agents, account."""

        self._decisions = Decisions(
            self,
            options,
            on_ask=on_ask,
            actor=actor,
            policy=policy,
            budget=budget,
            on_change=on_ask_change,
            record=record_decision,
            cli_version=lambda: self.cli_version,
            files=dialled_in.files if dialled_in is not None else None,
            ask_suffix=ask_suffix,
        )
        self._hooks = HookRunner((*hooks, *self._decisions.guards))
        self._tools = ToolServers([*tools, *servers_among(options)])
        self._wiring = Wiring(
            options=options,
            given=dialled_in.transport if dialled_in is not None else transport,
            launch=launch,
            around=around,
            on_write=on_write,
            record=record,
        )
        self._transport = self._wiring.given
        self._unread_budget = unread_budget
        self._connection = Connection(max_line=max_line)
        self._calls = ControlCalls(self._connection, self._write)
        self._answering = Answering(
            self._connection,
            self._write,
            asking=self._decisions.asking,
            hooks=self._hooks,
            review=self._decisions.review,
            tools=self._tools,
            ask_suffix=ask_suffix,
        )
        self._turns = Turns(
            lambda line: self._live().write(line), earlier=dialled_in.earlier if dialled_in is not None else ()
        )
        self._audience = Audience()
        self._background = BackgroundTasks()
        self._opened = False
        self._closing = False
        self._gone: ProcessError | None = None
        self._last_error: str | None = None
        if dialled_in is not None:
            self._learn_version(dialled_in.transport.link.cli_version)

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        if self._opened:
            raise LocalProtocolError("this client was opened before: call connect() for a new one")
        self._opened = True
        self._transport = self._wiring.transport(self._decisions.launch_options)
        await self._transport.open(self)
        try:
            await self._initialize()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the CLI and everything it started. Frames that arrived before stay readable."""
        self._closing = True
        try:
            if self._transport is not None and self._opened:
                await self._transport.close()
        finally:
            self._lose(ClientClosed("the client was closed"))
            await self._tools.aclose()

    async def _initialize(self) -> None:
        fields = initialize_fields(self.options)
        if self._hooks:
            fields["hooks"] = self._hooks.registration()
        if self._tools:
            fields["sdkMcpServers"] = self._tools.names()
        try:
            reply = await self.control("initialize", **fields)
        except ControlRefused as error:
            if error.error != ALREADY_INITIALIZED or self.options.transport == "stdio":
                raise
            return  # a CLI that dialled in again: whoever had it before us initialised it, with the same hooks
        self.cli_version = None  # a fresh CLI: what was known is of another
        self._turns.forget_earlier()
        self.info = typed_answer(reply, Initialized, "initialize")
        self.capabilities = tuple(self.info.capabilities or ())
        self._learn_version(self.info.claude_code_version)

    def _learn_version(self, version: str | None) -> None:
        if not version or version == self.cli_version:
            return
        self.cli_version = version
        self._calls.may_withdraw = survives_withdrawals(version)
        log_shortcomings(version, self.options)

    @property
    def pid(self) -> int | None:
        """The CLI's process id, while it runs."""
        return self._transport.pid if self._transport is not None else None

    @property
    def stderr_tail(self) -> str:
        """The end of what the CLI wrote to standard error."""
        return self._transport.stderr_tail if self._transport is not None else ""

    @property
    def permission_mode(self) -> str:
        """The permission mode the session is in, as far as the CLI has said."""
        return self._decisions.plans.mode

    @property
    def plan_context(self) -> PlanContext:
        """What an answer to a plan depends on now, for `handrail.policy.answers.plan_choices`."""
        return self._decisions.plans.context

    @property
    def successor(self) -> Successor | None:
        """The session that is to follow this one, once a plan was approved in a fresh context."""
        return self._decisions.successor

    @property
    def background_tasks(self) -> Mapping[str, str]:
        """Background tasks that run now: id → description. They end with the client."""
        return self._background.running

    @property
    def asks(self) -> Mapping[str, Ask]:
        """What waits for an answer now, by id, oldest first."""
        return self._decisions.book.pending

    async def decide(
        self, ask_id: str, answer: AnyAnswer, *, actor: Actor | str, digest: str | None = None
    ) -> Decision:
        """Answer an ask. The first answer wins, whoever gives it; `digest` is that of the ask that was shown.

        Raises a `DecisionRefused`: `AlreadyDecided` says by whom and when, `AskClosed` that nobody can answer any
        more, `StaleDigest` that what is asked is not what was shown, `UnfitAnswer` what would fit.
        """
        by = Actor(actor) if isinstance(actor, str) else actor
        return await self._decisions.book.decide(ask_id, answer, actor=by, digest=digest)

    def abandon_asks(self) -> None:
        """Nobody will answer any more: what waits is lost, as if the CLI had ended. The CLI is not told."""
        self._decisions.asking.stop()

    # ------------------------------------------------------------ conversation

    def turn(self, prompt: Content, *, uuid: str | None = None, **fields: Any) -> Turn:
        """Send `prompt` (text, or content blocks) and follow what the CLI does with it.

        `uuid` names the message, for `rewind_files`; further keyword arguments go onto the message as they are.
        """
        return Turn(
            uuid or str(uuid4()),
            ready=self._decisions.ready_to_send,
            begin=lambda turn: self._turns.begin(turn, prompt, session_id=self.session_id, fields=fields),
            sent=self._drain,
            give_up=self._give_up,
            forget=self._turns.forget,
            unread_budget=self._unread_budget,
        )

    async def ready_to_send(self) -> None:
        """Wait until a message may be sent. Raises `BudgetSpent`, and `ProcessError` if the CLI is gone."""
        await self._decisions.ready_to_send()
        self._live()

    async def run(self, prompt: Content, *, uuid: str | None = None, **fields: Any) -> Result:
        """Send `prompt` and wait for its result, which is returned whether or not it is an error."""
        async with self.turn(prompt, uuid=uuid, **fields) as turn:
            return await turn.wait()

    async def send(self, prompt: Content, *, uuid: str | None = None, **fields: Any) -> str:
        """Send a message without waiting for anything, also during a turn; returns its uuid."""
        message = uuid or str(uuid4())
        await self._decisions.ready_to_send()
        self._turns.send(prompt, message, session_id=self.session_id, fields=fields)
        await self._drain()
        return message

    def frames(self) -> FrameReader:
        """Every frame from now on, for `async for`. Each call gives an independent reader; each sees all."""
        reader = FrameReader(self._unread_budget)
        if self._gone is not None:
            reader.close(self._gone)
        self._audience.add_reader(reader)
        return reader

    def deliver_to(self, sink: FrameSink) -> None:
        """Hand `sink` every frame as it arrives, before anybody who reads, and tell it of the end. For good."""
        self._audience.add_sink(sink)

    async def _drain(self) -> None:
        await self._live().drain()

    async def _give_up(self, turn: Turn) -> None:
        """Stop a turn; if another one is running, only take this one's message out of the queue."""
        if self._turns.is_queued(turn):
            taken_back = await self.request(CancelAsyncMessage(message_uuid=turn.uuid))
            if taken_back.cancelled:
                return
        await self.interrupt()

    # ------------------------------------------------------------ control

    async def request(self, request: Request[ReplyT], *, timeout: float | None = None) -> ReplyT:
        """Make a typed control request; `handrail.protocol.control` has all of them."""
        fields = msgspec.to_builtins(request)
        subtype = fields.pop("subtype")
        reply = await self.control(subtype, timeout=timeout, **fields)
        answer: ReplyT = typed_answer(reply, request.reply, subtype)
        return answer

    async def control(self, subtype: str, *, timeout: float | None = None, **fields: Any) -> dict[str, Any]:
        """Make any control request, by its wire name and fields; returns the answer's body.

        Without `timeout` it has the deadline of its kind: 30 seconds, or 60 for what may have to start something.

        Raises `ControlRefused` if the CLI answers with an error, `ControlExpired` if it does not answer in time, and
        `ProcessError` if it ends before.
        """
        self._live()
        return await self._calls.call(subtype, fields, timeout)

    async def interrupt(self) -> Interrupted:
        """Stop the turn that is running. The session goes on."""
        return await self.request(Interrupt())

    async def set_permission_mode(self, mode: str) -> None:
        """Change the permission mode (default, acceptEdits, plan, …)."""
        await self.request(SetPermissionMode(mode=mode))
        self._decisions.plans.mode_is(mode)

    async def set_model(self, model: str | None) -> None:
        """Change the model; None for the default one."""
        await self.request(SetModel(model=model or "default"))

    def keep_alive(self) -> None:
        """Tell the CLI that we are here; it needs no answer."""
        self._live().write(keep_alive_line())

    def update_environment_variables(self, variables: Mapping[str, str]) -> None:
        """Change the environment of the running CLI, where it still applies that (up to 2.1.150)."""
        if self.cli_version and not applies_environment(self.cli_version):
            logger.warning(
                "Claude Code %s does not apply update_environment_variables: start it with Options(env=…)",
                self.cli_version,
            )
        self._live().write(environment_line(variables))

    def _live(self) -> Transport:
        if self._gone is not None:
            raise self._gone.with_traceback(None)
        if self._transport is None or self._closing or not self._opened:
            raise ClientClosed("the client is not open: use `async with connect(...) as client`")
        return self._transport

    def _write(self, line: bytes) -> None:
        if self._transport is not None:
            self._transport.write(line)

    # ------------------------------------------------------------ the pump (called by the transport)

    def data_received(self, data: bytes) -> None:
        """Transport callback: some bytes arrived."""
        self._receive(self._connection.receive_data(data), len(data))

    def connection_lost(self, exit_code: int | None) -> None:
        """Transport callback: the CLI is gone."""
        self._receive(self._connection.receive_eof(), 0)
        self._lose(self._exit_error(exit_code))

    def _receive(self, frames: list[Frame], size: int) -> None:
        if not frames:
            return
        self._turns.receive(frames, size)
        self._observe(frames)
        for event in self._connection.events():
            self._on_control_event(event)
        self._audience.push(frames, size)

    def _observe(self, frames: list[Frame]) -> None:
        """Follow what concerns the session itself."""
        for frame in frames:
            observe = _OBSERVERS.get(frame.__class__)
            if observe is not None:
                observe(self, frame)

    def _on_work(self, frame: Assistant | Status) -> None:
        self._decisions.receive(frame)

    def _on_init(self, frame: Init) -> None:
        self._decisions.receive(frame)
        self.session_id = frame.session_id or self.session_id
        self.capabilities = frame.capabilities or self.capabilities
        self._learn_version(frame.claude_code_version)

    def _on_result(self, frame: Result) -> None:
        self.session_id = frame.session_id or self.session_id
        self._last_error = frame.error
        self._decisions.receive(frame)

    def _on_reset(self, frame: ConversationReset) -> None:
        self.session_id = frame.new_conversation_id or self.session_id

    def _on_task(self, frame: Frame) -> None:
        self._background.receive(frame)
        if isinstance(frame, TaskStarted):
            self._decisions.receive(frame)

    def _on_malformed(self, frame: Malformed) -> None:
        logger.warning("a line from the CLI could not be read: %s", frame.reason)

    def _on_control_event(self, event: ControlEvent) -> None:
        match event:
            case Answered(request, result):
                self._calls.settle(request, result)
            case Asked(request):
                self._answering.asked(request)
            case Cancelled(request):
                self._answering.cancelled(request)
            case Stray(_, reason):
                logger.debug("ignored on the control channel: %s", reason)

    # ------------------------------------------------------------ the end

    def _exit_error(self, exit_code: int | None) -> ProcessError:
        if self._closing:
            return ClientClosed("the client was closed")
        return exit_error(exit_code, last_error=self._last_error, stderr_tail=self.stderr_tail)

    def _lose(self, error: ProcessError) -> None:
        """The CLI is gone: nobody may wait for it any longer."""
        if self._gone is not None:
            return
        self._gone = error
        self._calls.lose(error)
        self._answering.stop()
        self._decisions.stop()
        self._turns.fail(error)
        self._audience.close(None if self._closing else error)


_OBSERVERS: dict[type[Frame], Any] = {
    Assistant: Client._on_work,
    Init: Client._on_init,
    Status: Client._on_work,
    Result: Client._on_result,
    ConversationReset: Client._on_reset,
    Malformed: Client._on_malformed,
    **dict.fromkeys(TASK_FRAMES, Client._on_task),
}
