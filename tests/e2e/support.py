"""A connected client in a world of its own: real CLI, scripted model, empty home, empty working directory."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from handrail.errors import ControlExpired, ControlRefused
from handrail.events.model import Event
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import PolicySource
from handrail.protocol.asks import Allow, Answer, Ask
from handrail.protocol.blocks import Text, ToolResult
from handrail.protocol.blocks import ToolUse as ToolUseBlock
from handrail.protocol.codec import Codec
from handrail.protocol.frames import Assistant, Frame, Result, User
from handrail.protocol.launch import Options, child_environment, command_line
from handrail.sessions.asking import OnAsk
from handrail.sessions.client import Client, connect
from handrail.sessions.enforcement import with_settings
from handrail.sessions.hooks import Hook
from handrail.sessions.manager import Manager
from handrail.sessions.mcp import ToolServer
from handrail.sessions.session import Session
from handrail.sessions.tools import Tool
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.journal_checks import journal_problems
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ToolUse
from handrail.transports.base import Receiver
from handrail.transports.stdio import StdioTransport

from .behaviour import version_key

DEADLINE = 60.0
"""How long a test waits for one thing. Generous: it only decides how soon a failure is noticed."""

GUARD = 120.0
"""How long a client may live in a test: shorter than the test's own time limit, so that the traceback says where."""

PATIENCE = {"2.1.37": 4.0, "2.1.52": 30.0}
"""How long to wait for the answer to a control request: 2.1.37 gives none to those it does not know."""

T = TypeVar("T")
FrameT = TypeVar("FrameT", bound=Frame)
EventT = TypeVar("EventT", bound=Event)

Script: TypeAlias = Iterable[Any]
"""What the model says, entry by entry: see `handrail.testing.replies`."""

Observe: TypeAlias = Callable[[str, str], None]
"""The `observe` fixture: `observe("topic: behaviour", "outcome")`."""


def version_of(cli: ClaudeCLI) -> tuple[int, ...]:
    return version_key(cli.version)


def by_version(cli: ClaudeCLI, outcomes: Mapping[str, T]) -> T:
    """What holds for this CLI, where each key is the first version that its outcome holds for."""
    return outcomes[max((first for first in outcomes if version_key(first) <= version_of(cli)), key=version_key)]


class FrameLog:
    """Every frame that the CLI has sent so far, the answer to `initialize` included."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._codec = Codec()
        self._changed = asyncio.Event()

    def take(self, data: bytes) -> None:
        self.frames += self._codec.feed(data)
        self._changed.set()

    async def until(self, condition: Callable[[], T | None], what: str) -> T:
        """Wait until `condition` gives something; it is asked again after every frame."""
        try:
            async with asyncio.timeout(DEADLINE):
                while (found := condition()) is None:
                    self._changed.clear()
                    await self._changed.wait()
                return found
        except TimeoutError:
            seen = [f"{frame.type}/{getattr(frame, 'subtype', '')}" for frame in self.frames]
            raise TimeoutError(f"no {what} after {DEADLINE:g} s; frames so far: {seen}") from None


class Tee:
    """Passes on what a transport reads, and keeps it."""

    def __init__(self, receiver: Receiver, log: FrameLog) -> None:
        self._receiver = receiver
        self._log = log

    def data_received(self, data: bytes) -> None:
        self._log.take(data)
        self._receiver.data_received(data)

    def connection_lost(self, exit_code: int | None) -> None:
        self._receiver.connection_lost(exit_code)


class LoggedTransport(StdioTransport):
    """The CLI as a process, with a log that is complete whenever the client has seen something."""

    log: FrameLog

    async def open(self, receiver: Receiver) -> None:
        self.log = FrameLog()
        await super().open(Tee(receiver, self.log))


class World:
    """What outlives a client in one test: the home and the working directory, so that sessions can be resumed."""

    def __init__(self, cli: ClaudeCLI, directory: Path) -> None:
        self.cli = cli
        self.home = directory / "home"
        self.cwd = directory / "work"
        self.outside = directory / "outside"
        for path in (self.home, self.cwd, self.outside):
            path.mkdir()

    @asynccontextmanager
    async def live(
        self,
        script: Script = (),
        *,
        options: Options | None = None,
        on_ask: OnAsk | None = None,
        hooks: Sequence[Hook] = (),
        tools: Sequence[Tool[..., Any] | ToolServer] = (),
        policy: Policy | PolicySource | None = None,
        conversations: Mapping[str, Script] | None = None,
        **settings: Any,
    ) -> AsyncIterator[Live]:
        """A client that is connected to the CLI, whose model plays `script`. `settings` are those of `connect`."""
        async with ScriptedModel(script, conversations=conversations) as model, cli_slot(), asyncio.timeout(GUARD):
            chosen = self.complete(options or Options())
            transport = self._transport(model, _with_policy(chosen, policy))
            async with connect(
                chosen, on_ask=on_ask, hooks=hooks, tools=tools, policy=policy, transport=transport, **settings
            ) as client:
                yield Live(client, model, transport)

    @asynccontextmanager
    async def managed(self, script: Script = ()) -> AsyncIterator[Managed]:
        """A manager of durable sessions whose CLI runs here, and whose model plays `script`."""
        places = Places(*(str(self.home.parent / name) for name in ("config", "state", "cache", "run")))
        async with (
            ScriptedModel(script) as model,
            cli_slot(),
            asyncio.timeout(GUARD),
            Manager.local(places, env=isolated_env(self.home, model)) as manager,
        ):
            yield Managed(manager, model, self.complete(Options(cli_path=str(self.cli.path))))
            await manager.stop_all()
            for row in await manager.list():
                session = await manager.get(row.id)
                assert journal_problems(await events_of(session, Event)) == []

    def complete(self, options: Options) -> Options:
        """The options with what every CLI needs here: the working directory, and leave to use the model's API key."""
        return msgspec.structs.replace(options, cwd=self.cwd, use_api_billing=True)

    def environment(self, model: ScriptedModel, options: Options) -> dict[str, str]:
        """The whole environment of the CLI; nothing of this machine's but the PATH."""
        return child_environment(options, isolated_env(self.home, model))

    def _transport(self, model: ScriptedModel, options: Options) -> LoggedTransport:
        argv = command_line(options, self.cli.argv)
        return LoggedTransport(argv, env=self.environment(model, options), cwd=self.cwd)


def _with_policy(options: Options, policy: Policy | PolicySource | None) -> Options:
    if policy is None:
        return options
    return with_settings(options, policy if isinstance(policy, Policy) else policy.loaded.policy)


@dataclass
class Managed:
    """A manager, and options for sessions of it."""

    manager: Manager
    model: ScriptedModel
    options: Options

    async def start(self, **changes: Any) -> Session:
        return await self.manager.start(msgspec.structs.replace(self.options, **changes))


async def events_of(session: Session, kind: type[EventT], after: int = 0) -> list[EventT]:
    """The events of a kind that are stored."""
    items = session.subscribe(after, deltas=False, follow=False)
    return [item async for item in items if isinstance(item, kind)]


async def next_event(session: Session, kind: type[EventT], after: int = 0) -> EventT:
    """The first event of a kind behind a number, waited for if it has not come yet."""
    async with asyncio.timeout(DEADLINE), aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind):
                return item
    raise AssertionError(f"the session ended without a {kind.__name__}")


@dataclass
class Live:
    """A connected client and what a test wants to look at."""

    client: Client
    model: ScriptedModel
    transport: LoggedTransport

    async def first(self, kind: type[FrameT], where: Callable[[FrameT], bool] = lambda frame: True) -> FrameT:
        """The first frame of this kind, waited for if it has not come yet."""
        return await self.nth(1, kind, where)

    async def nth(
        self, number: int, kind: type[FrameT], where: Callable[[FrameT], bool] = lambda frame: True
    ) -> FrameT:
        """The `number`-th frame of this kind, counted from 1."""

        def find() -> FrameT | None:
            found = [frame for frame in self.all(kind) if where(frame)]
            return found[number - 1] if len(found) >= number else None

        return await self.transport.log.until(find, f"{kind.__name__} number {number}")

    def all(self, kind: type[FrameT]) -> list[FrameT]:
        """The frames of this kind so far."""
        return [frame for frame in self.transport.log.frames if isinstance(frame, kind)]

    def tool_calls(self) -> list[ToolUseBlock]:
        """The tool calls that the CLI reported so far, as the model made them."""
        blocks = [block for frame in self.all(Assistant) for block in frame.message.content]
        return [block for block in blocks if isinstance(block, ToolUseBlock)]

    @property
    def results(self) -> list[Result]:
        return self.all(Result)

    def tool_results(self) -> list[ToolResult]:
        """The tool results that the CLI reported so far."""
        blocks = [block for frame in self.all(User) for block in frame.message.content]
        return [block for block in blocks if isinstance(block, ToolResult)]

    async def tool_result_text(self, number: int = 1) -> str:
        """What the model was told as the result of the `number`-th tool call of the main conversation."""
        await self.model.wait_for(lambda model: len(_results_told(model)) >= number)
        return _results_told(self.model)[number - 1]


def _results_told(model: ScriptedModel) -> list[str]:
    """The texts of all tool results that the newest request of the main conversation carries, in order."""
    requests = model.requests_in("main")
    if not requests:
        return []
    return [
        _text_of(block.get("content"))
        for message in requests[-1].messages
        for block in (message["content"] if isinstance(message.get("content"), list) else [])
        if block.get("type") == "tool_result"
    ]


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, dict))


def said(frame: Frame) -> str:
    """The text of an assistant frame."""
    if not isinstance(frame, Assistant):
        return ""
    return "".join(block.text for block in frame.message.content if isinstance(block, Text))


Reaction: TypeAlias = Answer | Callable[[Ask], Answer | Awaitable[Answer]]


class Asks:
    """An `on_ask` that remembers what it was asked. Answers in order; the last one answers all that follow."""

    def __init__(self, *reactions: Reaction) -> None:
        self.asked: list[Ask] = []
        self._reactions = reactions or (Allow(),)
        self._changed = asyncio.Event()

    async def __call__(self, ask: Ask) -> Answer:
        reaction = self._reactions[min(len(self.asked), len(self._reactions) - 1)]
        self.asked.append(ask)
        self._changed.set()
        answer = reaction(ask) if callable(reaction) else reaction
        return await answer if inspect.isawaitable(answer) else answer

    async def wait(self, count: int) -> list[Ask]:
        """Wait until there have been `count` asks."""
        async with asyncio.timeout(DEADLINE):
            while len(self.asked) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.asked

    @property
    def tools(self) -> list[str]:
        return [ask.tool_name for ask in self.asked]


class HeldAsks(Asks):
    """Asks that stay open until the test answers them."""

    def __init__(self) -> None:
        super().__init__(self._hold)
        self._answers: dict[str, asyncio.Future[Answer]] = {}

    def answer(self, ask: Ask, answer: Answer) -> None:
        self._answers[ask.id].set_result(answer)

    def _hold(self, ask: Ask) -> Awaitable[Answer]:
        self._answers[ask.id] = asyncio.get_running_loop().create_future()
        return self._answers[ask.id]


def bash(command: str, **more: Any) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": "Run a command", **more})


def write(path: Path, content: str) -> ToolUse:
    return ToolUse("Write", {"file_path": str(path), "content": content})


def subagent(cli: ClaudeCLI, prompt: str, **more: Any) -> ToolUse:
    name = by_version(cli, {"2.1.37": "Task", "2.1.120": "Agent"})
    return ToolUse(name, {"description": "A job", "prompt": prompt, "subagent_type": "general-purpose", **more})


async def answer_to(live: Live, cli: ClaudeCLI, subtype: str, **fields: object) -> str:
    """What became of a control request, in the words of the table."""
    try:
        await live.client.control(subtype, timeout=by_version(cli, PATIENCE), **fields)
    except ControlRefused as refused:
        return f"error: {refused.error}" + (f" (error_code {refused.code})" if refused.code else "")
    except ControlExpired:
        return "no answer"
    return "success"


async def eventually(condition: Callable[[], T | None]) -> T:
    """Wait for something outside the CLI's frames, such as a file: polls until `condition` gives something true."""
    async with asyncio.timeout(DEADLINE):
        while not (found := condition()):
            await asyncio.sleep(0.02)
        return found


def outcome_of(result: Result) -> str:
    """A result in the words of the table."""
    return f"{result.subtype}, is_error {str(result.is_error).lower()}"
