"""What a program elsewhere offers a session while it is connected: hooks, tools, and its answers to asks.

The program says what it has (`ProgramSpec`); the process that runs the session makes stand-ins of it, which call the
program through whatever connects the two (`Callbacks`). While nobody answers there, nothing is allowed in the program's
name, and nothing hangs:

    PreToolUse            a person is asked, and told why
    PermissionRequest     it is left to people
    UserPromptSubmit      the prompt is blocked, with the reason
    any other hook        nothing: it only watches
    a tool                an error as its result, which Claude reads
    an ask                waits for people
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Protocol

import msgspec

from handrail.errors import HandrailError, InvalidOptions
from handrail.policy.answers.encoding import decode_answer
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_record
from handrail.sessions.asking import OnAsk
from handrail.sessions.asks import AnyAnswer
from handrail.sessions.hooks import Hook, HookAnswer, HookContext, ask_tool, block, hook
from handrail.sessions.mcp import PassedOnServer
from handrail.sessions.sitting import Attachments

__all__ = ["ON_ITS_WAY", "PATIENCE", "Callbacks", "HookSpec", "ProgramSpec", "attachments_of"]

logger = logging.getLogger("handrail.programs")

ON_ITS_WAY = 5.0
"""How many seconds an answer may take longer than the hook itself: the program's own limit must be over first."""
PATIENCE = 24 * 3600.0
"""How long a tool or a person behind a program may take. That it is not connected is found out much sooner."""


class HookSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of a program: it is called by its name."""

    name: str
    events: tuple[str, ...]
    matcher: str | None = None
    timeout: float = 60.0


class ProgramSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a program offers to one session. `id` is its own: it shows it again when it comes back."""

    id: str
    hooks: tuple[HookSpec, ...] = ()
    servers: tuple[str, ...] = ()
    """The names of its MCP servers: what Claude Code says to one is passed on as it is."""
    answers_asks: bool = False


class Callbacks(Protocol):
    """The way to a program. Raises `HandrailError` if it does not answer in time: it may not be connected."""

    async def call(self, kind: str, name: str, payload: Any, *, timeout: float) -> Any:
        """`kind` is hook, mcp or ask; everything is plain JSON values."""


def attachments_of(spec: ProgramSpec, callbacks: Callbacks) -> Attachments:
    """Stand-ins for what a program offers. Raises `InvalidOptions` for what no program can offer."""
    if len(set(spec.servers)) < len(spec.servers):
        raise InvalidOptions("a program has two MCP servers of one name: their names must differ")
    return Attachments(
        on_ask=_answers_of(callbacks) if spec.answers_asks else None,
        hooks=[_hook(each, callbacks) for each in spec.hooks],
        tools=[PassedOnServer(name, partial(_pass_on, callbacks, name)) for name in spec.servers],
    )


# ------------------------------------------------------------ hooks


def _hook(spec: HookSpec, callbacks: Callbacks) -> Hook:
    async def stand_in(given: Any, context: HookContext) -> HookAnswer:
        payload = {"event": context.event, "input": context.raw, "tool_use_id": context.tool_use_id}
        try:
            answer = await callbacks.call("hook", spec.name, payload, timeout=spec.timeout + ON_ITS_WAY)
        except HandrailError as error:
            logger.warning("the %s hook %s of a program did not answer: %s", context.event, spec.name, error)
            return _without_it(context.event, spec.name, error)
        if not isinstance(answer, dict):
            raise TypeError("a program answered a hook with what is no object")
        return answer

    stand_in.__name__ = spec.name
    return hook(*spec.events, matcher=spec.matcher, timeout=spec.timeout + 2 * ON_ITS_WAY)(stand_in)


def _without_it(event: str, name: str, error: HandrailError) -> HookAnswer:
    """The answer of a hook that cannot be reached."""
    why = f"the hook {name} of a program that is to judge this did not answer: {error}"
    match event:
        case "PreToolUse":
            return ask_tool(f"A person has to look at this, because {why}.")
        case "UserPromptSubmit":
            return block(f"Handrail stopped this, not because anyone refused it: {why}.")
    return None


# ------------------------------------------------------------ tools and asks


async def _pass_on(callbacks: Callbacks, server: str, message: dict[str, Any]) -> dict[str, Any] | None:
    answer = await callbacks.call("mcp", server, message, timeout=PATIENCE)
    return answer if isinstance(answer, dict) else None


def _answers_of(callbacks: Callbacks) -> OnAsk:
    async def answer(ask: Ask) -> AnyAnswer | None:
        try:
            given = await callbacks.call("ask", ask.id, _plain(ask_record(ask)), timeout=PATIENCE)
        except HandrailError as error:
            logger.warning("a program did not answer an ask, which waits for people now: %s", error)
            return None
        return decode_answer(given) if given is not None else None

    return answer


def _plain(record: dict[str, Any]) -> Any:
    """As JSON values, whatever the structs in it are."""
    return msgspec.json.decode(msgspec.json.encode(record))
