"""The live client: one CLI process, frame by frame.

`connect` starts the CLI and gives a `Client`; `query` is the one-shot form. The client pumps bytes from the transport
through the protocol's `Connection` as they arrive, so answers to the CLI and to our own requests never wait for anybody
who reads frames.
"""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from uuid import uuid4

import msgspec

from handrail.errors import (
    ClientClosed,
    ControlRefused,
    InvalidOptions,
    LocalProtocolError,
    ProcessError,
    ProcessExited,
)
from handrail.policy.answers.plan import PlanContext
from handrail.protocol import lenient
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
    user_line,
)
from handrail.protocol.control import (
    HOST_REQUESTS,
    CancelAsyncMessage,
    Initialized,
    Interrupt,
    Interrupted,
    Request,
    SetModel,
    SetPermissionMode,
)
from handrail.protocol.frames import (
    Assistant,
    CommandLifecycle,
    ConversationReset,
    Frame,
    Init,
    Malformed,
    Result,
    SessionStateChanged,
    Status,
    TaskStarted,
    User,
)
from handrail.protocol.launch import (
    Options,
    child_environment,
    command_line,
    initialize_fields,
    sdk_mcp_servers,
    too_new_for,
)
from handrail.protocol.tasks import TASK_FRAMES, BackgroundTasks
from handrail.protocol.turns import TurnEnd, TurnTracker
from handrail.sessions.answering import Answering
from handrail.sessions.asking import OnAsk
from handrail.sessions.asks import Actor, AnyAnswer, AskChange, Decision
from handrail.sessions.budget import AnyBudget
from handrail.sessions.calls import ControlCalls
from handrail.sessions.decisions import CALLBACK, Decisions, Successor
from handrail.sessions.following import Following
from handrail.sessions.hooks import Hook, HookRunner
from handrail.sessions.mcp import ToolServer, ToolServers
from handrail.sessions.readers import DEFAULT_BUDGET, FrameReader
from handrail.sessions.tools import Tool
from handrail.sessions.turn import Turn
from handrail.transports.base import Transport
from handrail.transports.discovery import find_cli, parse_version, version_warnings
from handrail.transports.recorder import RecordingTransport, WireLog
from handrail.transports.redact import Redactor, is_secret_name
from handrail.transports.stdio import StdioTransport
from handrail.transports.tapped import TappedTransport

if TYPE_CHECKING:
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import PolicySource
    from handrail.sessions.dialled_in import DialledIn
    from handrail.transports.ingress.transport import Surroundings

__all__ = ["Client", "FrameSink", "Launch", "connect", "query"]

logger = logging.getLogger("handrail.client")
wire_logger = logging.getLogger("handrail.wire")

Content = str | Iterable[Any]
ReplyT = TypeVar("ReplyT")


class FrameSink(Protocol):
    """Takes frames on the spot. Neither method may block or raise."""

    def push(self, frames: Sequence[Frame], size: int) -> None:
        """Frames arrived; their lines are about `size` bytes long."""

    def close(self, error: Exception | None) -> None:
        """Nothing more will come: the CLI is gone, because of `error`, or because it was told to go."""


class Launch(Protocol):
    """Makes the transport that starts a CLI process, which inherits the descriptors that it `holds`."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None,
        holds: Sequence[int] = (),
    ) -> Transport: ...


TURN_FRAMES = frozenset({Result, CommandLifecycle, SessionStateChanged, Init, User})
NEXT_TURN_WITHIN = 2.0
"""How long after a result the oldest CLIs, which do not say that they are idle, may take to begin a queued turn."""

REMEMBERED_MESSAGES = 10_000
ALREADY_INITIALIZED = "Already initialized"
DIES_OF_CANCELLATIONS = (2, 1, 37)
LAST_TO_APPLY_ENVIRONMENT = (2, 1, 150)


def connect(
    options: Options | None = None,
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
) -> Client:
    """A client for one CLI process, to be opened with `async with`.

    `on_ask` answers what the CLI asks, in the name of `actor`; where it returns None, the ask stays open for
    `Client.decide`. Without it every ask is denied, with a message that says so. `on_ask_change` hears of every ask
    that opens, changes or closes; `record_decision` is awaited with each decision before the CLI is told. `policy`
    judges every tool call, also those that the CLI would allow by itself, before anybody is asked. Once the session has
    cost `budget` US dollars, an ask of the kind "budget" decides whether it goes on.

    `record` writes both directions of the traffic to a file, without secrets; so does the logger `handrail.wire` at
    DEBUG. `transport` replaces the process, for tests and other links. Frames that nobody has read yet take about
    `unread_budget` bytes of memory for each reader, the rest waits on disk; a line longer than `max_line` bytes is
    skipped with a warning.
    """
    return Client(
        options or Options(),
        on_ask=on_ask,
        actor=actor,
        on_ask_change=on_ask_change,
        record_decision=record_decision,
        policy=policy,
        budget=budget,
        hooks=hooks,
        tools=tools,
        transport=transport,
        record=record,
        max_line=max_line,
        unread_budget=unread_budget,
    )


async def query(
    prompt: Content,
    options: Options | None = None,
    *,
    on_ask: OnAsk | None = None,
    hooks: Sequence[Hook] = (),
    tools: Sequence[Tool[..., Any] | ToolServer] = (),
) -> AsyncGenerator[Frame, None]:
    """Run one prompt in a CLI of its own and yield every frame, a result last.

    If the turn leaves background tasks behind, the CLI is kept until they are done, and their frames are yielded too.
    """
    async with connect(options, on_ask=on_ask, hooks=hooks, tools=tools) as client:
        frames = client.frames()
        async with client.turn(prompt) as turn:
            turn.discard()  # `frames` has them all, and goes on after the turn
            following = Following(turn)
            async for frame in frames:
                following.receive(frame)
                yield frame
                if following.over():
                    return


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
        self._tools = ToolServers([*tools, *_servers_among(options)])
        self._transport = dialled_in.transport if dialled_in is not None else transport
        self._launch = launch
        self._around = around
        self._on_write = on_write
        self._record = record
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
        self._tracker = TurnTracker()
        self._doubt: asyncio.TimerHandle | None = None
        self._turns: dict[str, Turn] = {}
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._earlier = dialled_in.earlier if dialled_in is not None else ()
        self._readers: list[weakref.ref[FrameReader]] = []
        self._sinks: list[FrameSink] = []
        self._background = BackgroundTasks()
        self._opened = False
        self._closing = False
        self._gone: ProcessError | None = None
        self._last_error: str | None = None
        if dialled_in is not None:
            self._assume_earlier(dialled_in.transport.link.cli_version)

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        if self._opened:
            raise LocalProtocolError("this client was opened before: call connect() for a new one")
        self._opened = True
        self._transport = self._recorded(self._transport or self._process())
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

    def _process(self) -> Transport:
        location = find_cli(self.options.cli_path)
        options = self._decisions.launch_options()
        env = child_environment(self.options, os.environ)
        if options.transport == "stdio":
            return self._launch(command_line(options, location.argv), env=env, cwd=options.cwd)
        from handrail.sessions.dialling import dialled
        from handrail.transports.ingress.transport import Surroundings

        around = self._around or Surroundings()
        return dialled(options, location.argv, env=env, launch=self._launch, around=around)

    def _recorded(self, transport: Transport) -> Transport:
        if self._on_write is not None:
            transport = TappedTransport(transport, on_write=self._on_write)
        redactor = Redactor(value for name, value in self.options.env.items() if is_secret_name(name))
        if wire_logger.isEnabledFor(logging.DEBUG):
            transport = RecordingTransport(transport, WireLog(wire_logger, redactor=redactor))
        if self._record is not None:
            transport = RecordingTransport(transport, self._record, redact=redactor)
        return transport

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
        self._forget_earlier()
        self.info = _typed(reply, Initialized, "initialize")
        self.capabilities = tuple(self.info.capabilities or ())
        self._learn_version(self.info.claude_code_version)

    def _learn_version(self, version: str | None) -> None:
        if not version or version == self.cli_version:
            return
        self.cli_version = version
        self._calls.may_withdraw = _newer(version, DIES_OF_CANCELLATIONS)
        parsed = parse_version(version)
        shortcomings = [*version_warnings(version), *(too_new_for(self.options, parsed) if parsed else ())]
        if shortcomings:
            logger.warning(
                "not everything works with Claude Code %s (%d things): `handrail doctor` lists them",
                version,
                len(shortcomings),
            )
            logger.info("what does not work with Claude Code %s:\n- %s", version, "\n- ".join(shortcomings))

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
            begin=lambda turn: self._begin(turn, prompt, fields),
            sent=self._drain,
            give_up=self._give_up,
            forget=self._forget,
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
        self._write_message(prompt, message, fields)
        await self._drain()
        return message

    def frames(self) -> FrameReader:
        """Every frame from now on, for `async for`. Each call gives an independent reader; each sees all."""
        reader = FrameReader(self._unread_budget)
        if self._gone is not None:
            reader.close(self._gone)
        self._readers.append(weakref.ref(reader, self._readers.remove))
        return reader

    def _assume_earlier(self, version: str | None) -> None:
        """Expect what an earlier owner of the same CLI has sent to be answered as well."""
        self._learn_version(version)
        for uuid in self._earlier:
            self._sent[uuid] = None
            self._tracker.sent(uuid)

    def _forget_earlier(self) -> None:
        """It is a fresh CLI after all."""
        self.cli_version = None
        for uuid in self._earlier:
            self._tracker.forget(uuid)

    def deliver_to(self, sink: FrameSink) -> None:
        """Hand `sink` every frame as it arrives, before anybody who reads, and tell it of the end. For good."""
        self._sinks.append(sink)

    def _begin(self, turn: Turn, content: Content, fields: Mapping[str, Any]) -> None:
        if turn.uuid in self._sent:
            raise LocalProtocolError(f"the message {turn.uuid} was sent before: the CLI runs a uuid only once")
        self._write_message(content, turn.uuid, fields)
        self._turns[turn.uuid] = turn

    async def _drain(self) -> None:
        await self._live().drain()

    async def _give_up(self, turn: Turn) -> None:
        """Stop a turn; if another one is running, only take this one's message out of the queue."""
        if self._tracker.is_queued(turn.uuid):
            taken_back = await self.request(CancelAsyncMessage(message_uuid=turn.uuid))
            if taken_back.cancelled:
                return
        await self.interrupt()

    def _forget(self, turn: Turn) -> None:
        self._turns.pop(turn.uuid, None)

    def _write_message(self, content: Content, uuid: str, fields: Mapping[str, Any]) -> None:
        line = user_line(_wire_content(content), uuid=uuid, session_id=self.session_id or "", extra=fields)
        self._live().write(line)
        if uuid not in self._sent:  # the CLI ignores a message that it has seen
            self._tracker.sent(uuid)
            self._sent[uuid] = None
            if len(self._sent) > REMEMBERED_MESSAGES:
                self._sent.popitem(last=False)

    # ------------------------------------------------------------ control

    async def request(self, request: Request[ReplyT], *, timeout: float | None = None) -> ReplyT:
        """Make a typed control request; `handrail.protocol.control` has all of them."""
        fields = msgspec.to_builtins(request)
        subtype = fields.pop("subtype")
        reply = await self.control(subtype, timeout=timeout, **fields)
        answer: ReplyT = _typed(reply, request.reply, subtype)
        return answer

    async def control(self, subtype: str, *, timeout: float | None = None, **fields: Any) -> dict[str, Any]:
        """Make any control request, by its wire name and fields; returns the answer's body.

        Without `timeout` it has the deadline of its kind: 30 seconds, or 60 for what may have to start something.

        Raises `ControlRefused` if the CLI answers with an error, `ControlExpired` if it does not answer in time, and
        `ProcessError` if it ends before.
        """
        self._live()
        if timeout is None:
            timeout = HOST_REQUESTS.get(subtype, Request).timeout
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
        if self.cli_version and _newer(self.cli_version, LAST_TO_APPLY_ENVIRONMENT):
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
        self._look_at(frames, size)
        for event in self._connection.events():
            self._on_control_event(event)
        for sink in self._sinks:
            sink.push(frames, size)
        for reader in self._living_readers():
            reader.push(frames, size)

    def _living_readers(self) -> list[FrameReader]:
        """The readers somebody still holds. A list of its own: the garbage collector may take one at any time."""
        return [reader for reference in tuple(self._readers) if (reader := reference()) is not None]

    def _look_at(self, frames: list[Frame], size: int) -> None:
        """Follow what concerns the session itself, and hand each turn its share of the frames."""
        start = 0
        each = size // len(frames)
        for index, frame in enumerate(frames):
            cls = frame.__class__
            if cls in TURN_FRAMES:
                ends = self._tracker.receive(frame)
                if ends or cls is Result:
                    # A result belongs to the turns it ends and to no other.
                    until = index if cls is Result else index + 1
                    self._push_to_turns(frames[start:until], each)
                    self._end_turns(ends)
                    start = index + 1
                self._watch_doubt()
            observe = _OBSERVERS.get(cls)
            if observe is not None:
                observe(self, frame)
        if self._turns:
            self._push_to_turns(frames[start:] if start else frames, each)

    def _watch_doubt(self) -> None:
        if self._tracker.doubtful and self._doubt is None:
            self._doubt = asyncio.get_running_loop().call_later(NEXT_TURN_WITHIN, self._assume_idle)
        elif self._doubt is not None and not self._tracker.doubtful:
            self._doubt.cancel()
            self._doubt = None

    def _assume_idle(self) -> None:
        self._doubt = None
        self._end_turns(self._tracker.assume_idle())

    def _push_to_turns(self, frames: Sequence[Frame], each: int) -> None:
        for turn in self._turns.values():
            turn.push(frames, each * len(frames))

    def _end_turns(self, ends: list[TurnEnd]) -> None:
        for end in ends:
            turn = self._turns.get(end.uuid)
            if turn is not None:
                turn.end(end)

    def _on_assistant(self, frame: Assistant) -> None:
        self._decisions.receive(frame)

    def _on_status(self, frame: Status) -> None:
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
        parts = [f"Claude Code {_how_it_ended(exit_code)}"]
        if self._last_error:
            parts.append(f"its last result was an error: {self._last_error}")
        tail = self.stderr_tail.strip()
        if tail:
            parts.append(f"its standard error ends with:\n{tail}")
        return ProcessExited("; ".join(parts), exit_code=exit_code, stderr_tail=tail)

    def _lose(self, error: ProcessError) -> None:
        """The CLI is gone: nobody may wait for it any longer."""
        if self._gone is not None:
            return
        self._gone = error
        if self._doubt is not None:
            self._doubt.cancel()
        self._calls.lose(error)
        self._answering.stop()
        self._decisions.stop()
        for turn in self._turns.values():
            turn.fail(error)
        for sink in self._sinks:
            sink.close(None if self._closing else error)
        for reader in self._living_readers():
            reader.close(None if self._closing else error)


_OBSERVERS: dict[type[Frame], Any] = {
    Assistant: Client._on_assistant,
    Init: Client._on_init,
    Status: Client._on_status,
    Result: Client._on_result,
    ConversationReset: Client._on_reset,
    Malformed: Client._on_malformed,
    **dict.fromkeys(TASK_FRAMES, Client._on_task),
}


def _servers_among(options: Options) -> Iterator[ToolServer]:
    """The in-process servers of `mcp_servers`, as claude-agent-sdk gives them: `{"type": "sdk", "instance": …}`."""
    for name, config in sdk_mcp_servers(options).items():
        instance = config.get("instance") if isinstance(config, Mapping) else getattr(config, "instance", None)
        if instance is None:
            raise InvalidOptions(
                f"mcp_servers[{name!r}] is of type sdk but has no `instance`: pass tools=[…] to connect"
            )
        yield ToolServer.from_server(name, instance)


def _typed(reply: dict[str, Any], into: Any, subtype: str) -> Any:
    answer, problems = lenient.convert(reply, into)
    for problem in problems:
        logger.warning("the answer to %s has an unexpected shape: %s", subtype, problem)
    return answer


def _newer(version: str, than: tuple[int, int, int]) -> bool:
    parsed = parse_version(version)
    return parsed is not None and parsed > than


def _wire_content(content: Content) -> str | list[Any]:
    return content if isinstance(content, str) else [msgspec.to_builtins(block) for block in content]


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is None:
        return "ended"
    return f"exited with code {exit_code}" if exit_code >= 0 else f"was killed by signal {-exit_code}"
