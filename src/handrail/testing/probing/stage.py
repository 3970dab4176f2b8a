"""Where a scenario is played: a scratch home and working directory, the CLI, and a model that plays a script."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from handrail.errors import ControlExpired, ControlRefused
from handrail.policy.policy import Policy
from handrail.protocol.asks import Allow, Answer, Ask
from handrail.protocol.blocks import Text
from handrail.protocol.frames import Assistant, Frame, Result
from handrail.protocol.launch import child_environment, command_line
from handrail.protocol.options import Options
from handrail.sessions.client import Client, connect
from handrail.sessions.enforcement import with_settings
from handrail.sessions.hooks import Hook
from handrail.sessions.mcp import ToolServer
from handrail.sessions.tools import Tool
from handrail.testing.cli_sandbox import isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.probing.behaviours import Behaviour, Seen
from handrail.testing.probing.frame_log import LoggedTransport
from handrail.testing.replies import ReplyFunction, ReplyLike, ScriptEntry, ToolUse

__all__ = [
    "Asks",
    "Live",
    "Reaction",
    "Replies",
    "Stage",
    "answers_by_prompt",
    "bash",
    "listed_names",
    "never",
    "outcome_of",
    "write",
]

PATIENCE = 15.0
"""How long to wait for what every CLI does. It only decides how soon a CLI that hangs is noticed."""

DOUBT = 8.0
"""How long to wait for what some CLIs never do."""

EOF_GRACE = 3.0
ROUNDS = 200
"""More requests than any scenario makes."""

SUBAGENT_TOOLS = ("Agent", "Task")
"""The newer name first: some versions know both."""

FrameT = TypeVar("FrameT", bound=Frame)

Replies: TypeAlias = Mapping[str, Sequence[ScriptEntry]]
"""What the model says, by the prompt that it answers."""

Reaction: TypeAlias = Answer | Callable[[Ask], Answer | Awaitable[Answer]]


class Stage:
    """The scratch world of one scenario, and what was seen in it."""

    def __init__(self, argv: Sequence[str], directory: Path, *, patience: float = PATIENCE) -> None:
        self.argv = tuple(argv)
        self.patience = patience
        self.home = directory / "home"
        self.cwd = directory / "work"
        self.outside = directory / "outside"
        for path in (self.home, self.cwd, self.outside):
            path.mkdir()
        self.seen: dict[str, Seen] = {}

    def see(self, behaviour: Behaviour, works: bool, words: str) -> None:
        """Note what the CLI did, and whether that is good enough."""
        self.seen[behaviour.name] = Seen(works, self._without_places(words))

    def _without_places(self, words: str) -> str:
        """The scratch directories have another name each time."""
        for path, name in ((self.cwd, "CWD"), (self.home, "HOME"), (self.outside, "OUTSIDE")):
            words = words.replace(str(path), name)
        return words

    @asynccontextmanager
    async def live(
        self,
        replies: Replies | None = None,
        *,
        options: Options | None = None,
        on_ask: Callable[[Ask], Awaitable[Answer]] | None = None,
        hooks: Sequence[Hook] = (),
        tools: Sequence[Tool[..., Any] | ToolServer] = (),
        policy: Policy | None = None,
        conversations: Replies | None = None,
    ) -> AsyncIterator[Live]:
        """A client that is connected to the CLI, whose model answers each prompt as `replies` say."""
        chosen = msgspec.structs.replace(options or Options(), cwd=self.cwd, use_api_billing=True)
        scripts = {name: list(script) for name, script in (conversations or {}).items()}
        async with ScriptedModel(answers_by_prompt(replies or {}), conversations=scripts) as model:
            launched = chosen if policy is None else with_settings(chosen, policy)
            transport = LoggedTransport(
                command_line(launched, self.argv),
                env=self.environment(model, launched),
                cwd=self.cwd,
                eof_grace=min(EOF_GRACE, self.patience),
            )
            client = connect(chosen, on_ask=on_ask, hooks=hooks, tools=tools, policy=policy, transport=transport)
            await _opened(client, self.patience)
            try:
                yield Live(client, model, transport, self.patience)
            finally:
                await client.close()

    def environment(self, model: ScriptedModel, options: Options) -> dict[str, str]:
        """The whole environment of the CLI; nothing of this machine's but the PATH."""
        return child_environment(options, isolated_env(self.home, model))

    def has(self, name: str) -> bool:
        """Whether something of that name was made in the working directory."""
        return os.path.lexists(self.cwd / name)

    async def comes_to_have(self, name: str) -> None:
        """Wait for something to be made in the working directory."""
        async with asyncio.timeout(self.patience):
            while not self.has(name):
                await asyncio.sleep(0.02)


async def _opened(client: Client, patience: float) -> None:
    try:
        async with asyncio.timeout(patience):
            await client.__aenter__()
    except TimeoutError:
        raise TimeoutError(f"no answer to initialize within {patience:g} s") from None


@dataclass
class Live:
    """A connected client, and what a scenario wants to look at."""

    client: Client
    model: ScriptedModel
    transport: LoggedTransport
    patience: float = PATIENCE

    async def run(self, prompt: str, **fields: Any) -> Result:
        """Send a prompt and wait for its result. Raises `TimeoutError`."""
        try:
            async with asyncio.timeout(self.patience):
                return await self.client.run(prompt, **fields)
        except TimeoutError:
            raise TimeoutError(f"no result within {self.patience:g} s for {prompt!r}") from None

    def all(self, kind: type[FrameT]) -> list[FrameT]:
        """The frames of a kind so far."""
        return [frame for frame in self.transport.log.frames if isinstance(frame, kind)]

    async def nth(self, number: int, kind: type[FrameT], *, seconds: float | None = None) -> FrameT:
        """The `number`-th frame of a kind, counted from 1, waited for. Raises `TimeoutError`."""

        def find() -> FrameT | None:
            found = self.all(kind)
            return found[number - 1] if len(found) >= number else None

        return await self.transport.log.until(find, kind.__name__, seconds=seconds or self.patience)

    async def ended(self) -> int | None:
        """Wait for the CLI to leave by itself; its exit code. Raises `TimeoutError`."""
        log = self.transport.log
        await log.until(lambda: log.ended or None, "end of the process", seconds=self.patience)
        return log.exit_code

    async def answer_to(self, subtype: str, **fields: Any) -> str:
        """What became of a control request, in words."""
        try:
            await self.client.control(subtype, timeout=DOUBT, **fields)
        except ControlRefused as refused:
            return f"an error: {refused.error}" + (f" ({refused.code})" if refused.code else "")
        except ControlExpired:
            return "no answer"
        return "answered"

    def told(self) -> list[str]:
        """What the model was told as results of its tool calls in the main conversation, in order."""
        requests = self.model.requests_in("main")
        if not requests:
            return []
        blocks = [
            block
            for message in requests[-1].messages
            for block in (message["content"] if isinstance(message.get("content"), list) else [])
        ]
        return [_text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]

    @property
    def last_told(self) -> str:
        """The newest result of a tool call that the model was told."""
        return (self.told() or [""])[-1]

    def said(self) -> list[str]:
        """The texts of the assistant frames so far."""
        return [
            "".join(block.text for block in frame.message.content if isinstance(block, Text))
            for frame in self.all(Assistant)
        ]


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, dict))


class Asks:
    """An `on_ask` that remembers what it was asked. Answers in order; the last one answers all that follow."""

    def __init__(self, *reactions: Reaction) -> None:
        self.asked: list[Ask] = []
        self._reactions = list(reactions)
        self._changed = asyncio.Event()

    def answer_next(self, *reactions: Reaction) -> None:
        """How the next asks are to be answered, whatever was planned before."""
        self._reactions = [*[Allow()] * len(self.asked), *reactions]

    async def __call__(self, ask: Ask) -> Answer:
        reaction = self._reactions[min(len(self.asked), len(self._reactions) - 1)] if self._reactions else Allow()
        self.asked.append(ask)
        self._changed.set()
        answer = reaction(ask) if callable(reaction) else reaction
        return await answer if isinstance(answer, Awaitable) else answer

    async def wait(self, count: int, *, seconds: float) -> Ask:
        """Wait until there have been `count` asks; the last of them. Raises `TimeoutError`."""
        try:
            async with asyncio.timeout(seconds):
                while len(self.asked) < count:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"no ask within {seconds:g} s") from None
        return self.asked[count - 1]

    @property
    def tools(self) -> list[str]:
        """The tools that were asked about."""
        return [ask.tool_name for ask in self.asked]


async def never(ask: Ask) -> Answer:
    """Leaves an ask open until it is cancelled."""
    await asyncio.Event().wait()
    raise AssertionError("nothing sets this event")


def answers_by_prompt(replies: Replies) -> list[ReplyFunction]:
    """A script that finds its place in the request itself: a turn that goes otherwise does not upset the next one."""

    def choose(request: ModelRequest) -> ReplyLike | Awaitable[ReplyLike]:
        prompt, rounds = _newest_prompt(request, replies)
        if prompt is None:
            return "Nothing is planned for this."
        planned = replies[prompt]
        reply = planned[min(rounds, len(planned) - 1)]
        return reply(request) if callable(reply) else reply

    return [choose] * ROUNDS


def _newest_prompt(request: ModelRequest, known: Replies) -> tuple[str | None, int]:
    """The last of the known prompts that the conversation has, and how often the model has spoken since."""
    rounds = 0
    for message in reversed(request.messages):
        if message.get("role") == "assistant":
            rounds += 1
            continue
        text = _spoken_in(message)
        if found := [prompt for prompt in known if prompt in text]:
            return max(found, key=text.rfind), rounds
    return None, rounds


def _spoken_in(message: Mapping[str, Any]) -> str:
    """The text of a user message, without the results of tools, which may repeat anything."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or () if block.get("type") == "text")


def bash(command: str, **more: Any) -> ToolUse:
    """A call of the shell."""
    return ToolUse("Bash", {"command": command, "description": "Run a command", **more})


def write(path: Path, content: str) -> ToolUse:
    """A call that writes a file."""
    return ToolUse("Write", {"file_path": str(path), "content": content})


def subagent(prompt: str) -> Callable[[ModelRequest], ToolUse]:
    """A call that starts a subagent and waits for it, by the name that this CLI has for that."""

    def call(request: ModelRequest) -> ToolUse:
        name = next((tool for tool in SUBAGENT_TOOLS if tool in request.tools), SUBAGENT_TOOLS[0])
        given = {"description": "A job", "prompt": prompt, "subagent_type": "general-purpose"}
        return ToolUse(name, {**given, "run_in_background": False})

    return call


def outcome_of(result: Result) -> str:
    """A result in words."""
    return result.subtype + (" with is_error" if result.is_error else "")


def listed_names(names: Any) -> str:
    """Names in the form of a behaviour that is a list."""
    return ", ".join(sorted(names)) or "nothing"
