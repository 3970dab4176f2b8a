"""Python functions as the CLI's hooks: `@hook`, what a hook may answer, and the runner that calls it.

A hook on a guard event (`GUARDS`) fails closed: if it raises, takes too long or answers what cannot be understood,
the CLI is told no, and that the guard failed. The CLI itself would go on as if there were no hook. On every other
event a hook only observes: its failure is logged and the CLI goes on.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET

from handrail.errors import InvalidOptions
from handrail.protocol import lenient
from handrail.protocol.control import HOOK_EVENTS, HookInput, HookOutput, HookSpecificOutput

__all__ = [
    "GUARDS",
    "Hook",
    "HookAnswer",
    "HookContext",
    "HookRunner",
    "ToolDecision",
    "add_context",
    "allow_tool",
    "ask_tool",
    "block",
    "defer_tool",
    "deny_tool",
    "hook",
    "run_async",
    "run_hook",
]

logger = logging.getLogger("handrail.hooks")

DEFAULT_TIMEOUT = 60.0
CLI_PATIENCE = 5.0
"""How much longer than the hook's own timeout the CLI waits: a timeout must be ours, because the CLI's fails open."""

GUARDS: Mapping[str, tuple[str, ...]] = {
    "PreToolUse": ("tool_name", "tool_input"),
    "PermissionRequest": ("tool_name", "tool_input"),
    "UserPromptSubmit": ("prompt",),
}
"""The events whose hooks fail closed, each with the fields no guard could judge without."""

SPECIFIC_OUTPUTS: Mapping[str, type[Any]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(HookSpecificOutput)
}

DECISION_EVENTS = frozenset({"PreToolUse", "PreModelSwitch"})
"""The events answered with a `permissionDecision`."""

SIMILAR = 0.9
"""How much an unknown event's name may resemble a known one before it is taken for a slip."""


class ToolDecision(msgspec.Struct, frozen=True):
    """What a hook decided about a tool call; made by `allow_tool`, `deny_tool`, `ask_tool` and `defer_tool`."""

    behavior: Literal["allow", "deny", "ask", "defer"]
    reason: str | None = None
    updated_input: Mapping[str, Any] | None = None


HookAnswer: TypeAlias = ToolDecision | HookOutput | HookSpecificOutput | Mapping[str, Any] | None
"""What a hook may return. A mapping is sent as it is, with the event's name filled in where it is missing."""

HookFunction: TypeAlias = Callable[..., Awaitable[HookAnswer]]


class HookContext(msgspec.Struct, frozen=True):
    """What came with a hook's input. `raw` is the input as the CLI sent it, with fields nobody modelled."""

    event: str
    raw: dict[str, Any]
    tool_use_id: str | None = None


@dataclass(frozen=True, eq=False)
class Hook:
    """A function that the CLI calls on certain events. Made by `@hook`; it can still be called as a function."""

    events: tuple[str, ...]
    function: HookFunction
    matcher: str | None = None
    timeout: float = DEFAULT_TIMEOUT

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return getattr(self.function, "__name__", repr(self.function))

    def __call__(self, *args: Any) -> Awaitable[HookAnswer]:
        return self.function(*args)


def hook(*events: str, matcher: str | None = None, timeout: float = DEFAULT_TIMEOUT) -> Callable[[HookFunction], Hook]:
    """Make an async function a hook: `@hook("PreToolUse", matcher="Bash|Write", timeout=60)`.

    The function takes the event's input, and a `HookContext` if it has a second parameter. Its input is the struct
    in `handrail.protocol.control` that belongs to the event, or a plain dict for an event not modelled there.
    """
    if not events:
        raise InvalidOptions('name the event the hook is for: @hook("PreToolUse")')
    for event in events:
        _check_event(event)
    if timeout <= 0:
        raise InvalidOptions(f"the timeout of a hook must be more than 0 seconds, not {timeout}")

    def decorate(function: HookFunction) -> Hook:
        _check_function(function)
        return Hook(events, function, matcher, timeout)

    return decorate


def allow_tool(*, updated_input: Mapping[str, Any] | None = None, reason: str | None = None) -> ToolDecision:
    """Let the tool run without asking anyone, perhaps with a changed input."""
    return ToolDecision("allow", reason, updated_input)


def deny_tool(reason: str) -> ToolDecision:
    """Do not let the tool run; Claude is told the reason."""
    return ToolDecision("deny", reason)


def ask_tool(reason: str | None = None) -> ToolDecision:
    """Have the call asked, also where the CLI would have allowed it by itself."""
    return ToolDecision("ask", reason)


def defer_tool(reason: str | None = None) -> ToolDecision:
    """End the turn before the call; resuming the session calls the hook again. CLIs before 2.1.120 ask instead."""
    return ToolDecision("defer", reason)


def block(reason: str) -> HookOutput:
    """Stop what the event announces: a prompt is not sent, a stop does not happen. Claude is told the reason."""
    return HookOutput(decision="block", reason=reason)


def add_context(text: str) -> dict[str, Any]:
    """Tell Claude something more, without deciding anything."""
    return {"hookSpecificOutput": {"additionalContext": text}}


def run_async(timeout: float | None = None) -> HookOutput:
    """Let the CLI go on without waiting any longer. `timeout` is in seconds."""
    return HookOutput(async_=True, async_timeout=UNSET if timeout is None else round(timeout * 1000))


class HookRunner:
    """The hooks of one session: what to register, and how to answer when the CLI calls."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._callbacks: dict[str, tuple[str, Hook]] = {}
        for item in hooks:
            if not isinstance(item, Hook):
                raise InvalidOptions(f"{item!r} is no hook: decorate the function with @hook(...)")
            for event in item.events:
                self._callbacks[f"{event}-{len(self._callbacks)}"] = (event, item)

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def registration(self) -> dict[str, list[dict[str, Any]]]:
        """The `hooks` of the `initialize` request."""
        registered: dict[str, list[dict[str, Any]]] = {}
        for callback_id, (event, item) in self._callbacks.items():
            entry: dict[str, Any] = {
                "hookCallbackIds": [callback_id],
                "timeout": math.ceil(item.timeout + CLI_PATIENCE),
            }
            if item.matcher is not None:
                entry["matcher"] = item.matcher
            if event in GUARDS:
                # Should we not even get to answer: newer CLIs then refuse by themselves, older ones ignore the field.
                entry["onFailure"] = "block"
            registered.setdefault(event, []).append(entry)
        return registered

    def event_of(self, body: Mapping[str, Any]) -> str:
        """The event that a `hook_callback` request is about; empty if it names none that is registered."""
        event, _ = self._callbacks.get(str(body.get("callback_id")), (body.get("hook_name"), None))
        return str(event or "")

    async def run(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the body of a `hook_callback` request. Cancelling this cancels the hook."""
        callback_id = body.get("callback_id")
        if callback_id is None:
            return await self._run_by_name(body)
        raw = _object(body.get("input"))
        found = self._callbacks.get(str(callback_id))
        if found is None:
            logger.warning("the CLI called the hook %r, which is not registered", callback_id)
            return _refusal(str(raw.get("hook_event_name")), f"there is no hook {callback_id!r}")
        event, item = found
        return await run_hook(item, HookContext(event, raw, body.get("tool_use_id")))

    async def _run_by_name(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The older form, a notification about an event: all hooks of that event see it, and a refusal goes first."""
        context = HookContext(str(body.get("hook_name")), _object(body.get("hook_data")))
        answers = [await run_hook(item, context) for event, item in self._callbacks.values() if event == context.event]
        return next(filter(_refuses, answers), next(filter(None, answers), {}))


async def run_hook(item: Hook, context: HookContext) -> dict[str, Any]:
    """Run a hook: what the CLI is told, whatever the hook does."""
    limit = asyncio.timeout(item.timeout)
    try:
        async with limit:
            output = await _call(item, context)
        return _wire_form(output, context)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled us: something the hook waited for was cancelled.
        return _give_up(item, context, "was cancelled", error)
    except Exception as error:  # noqa: BLE001  (a hook may raise anything; the CLI must have its answer)
        what = f"took more than {item.timeout:g} s" if limit.expired() else f"failed with {type(error).__name__}"
        return _give_up(item, context, what, error)


async def _call(item: Hook, context: HookContext) -> HookAnswer:
    arguments = (_typed_input(context), context)
    return await item.function(*arguments[: _arity(item.function)])


def _typed_input(context: HookContext) -> HookInput | dict[str, Any]:
    kind = HOOK_EVENTS.get(context.event)
    if kind is None:
        return context.raw
    typed, problems = lenient.convert(context.raw, kind)
    for problem in problems:
        logger.warning("the input of the %s hook has an unexpected shape: %s", context.event, problem)
    for name in GUARDS.get(context.event, ()):
        if getattr(typed, name) != context.raw.get(name):
            raise ValueError(f"the CLI sent no {name} that could be judged")
    return typed


def _wire_form(output: HookAnswer, context: HookContext) -> dict[str, Any]:
    """`output` as the CLI reads it. Raises TypeError or ValueError for what the CLI would not understand."""
    body = _body(output, context)
    specific = body.pop("hookSpecificOutput", UNSET)
    _check(body, HookOutput, context)
    if context.event == "PermissionRequest" and "decision" in body:
        raise ValueError("block() does not answer a PermissionRequest: use deny_tool()")
    if specific is not UNSET:
        body["hookSpecificOutput"] = _specific_form(specific, context)
    # What cannot be written would reach the CLI as an error, and an error counts as no answer.
    msgspec.json.encode(body)
    return body


def _specific_form(specific: Mapping[str, Any], context: HookContext) -> dict[str, Any]:
    named = {"hookEventName": context.event, **specific}
    if named["hookEventName"] != context.event:
        raise ValueError(f"an answer to {named['hookEventName']} does not answer {context.event}")
    kind = SPECIFIC_OUTPUTS.get(context.event)
    if kind is not None:
        _check(named, kind, context)
    return named


def _check(body: Mapping[str, Any], kind: type[Any], context: HookContext) -> None:
    msgspec.convert(body, kind)
    if context.event in GUARDS:
        # The CLI ignores a field it does not know, and with it what the guard meant to say.
        known = {"hookEventName", *(field.encode_name for field in msgspec.structs.fields(kind))}
        unknown = sorted(body.keys() - known)
        if unknown:
            raise ValueError(f"an answer to {context.event} has no {unknown[0]!r} there")


def _body(output: HookAnswer, context: HookContext) -> dict[str, Any]:
    if output is None:
        return {}
    if isinstance(output, ToolDecision):
        return {"hookSpecificOutput": _decision_body(output, context)}
    if isinstance(output, tuple(SPECIFIC_OUTPUTS.values())):
        return {"hookSpecificOutput": msgspec.to_builtins(output)}
    if isinstance(output, HookOutput | Mapping):
        plain = msgspec.to_builtins(dict(output) if isinstance(output, Mapping) else output)
        return msgspec.convert(plain, dict[str, Any])
    raise TypeError(f"a hook cannot answer with a {type(output).__name__}")


def _decision_body(decision: ToolDecision, context: HookContext) -> dict[str, Any]:
    if context.event == "PermissionRequest":
        return {"decision": _permission_body(decision, context)}
    if context.event not in DECISION_EVENTS:
        raise ValueError(f"{decision.behavior}_tool() does not answer {context.event}: use block() or add_context()")
    body: dict[str, Any] = {"permissionDecision": decision.behavior}
    if decision.reason is not None:
        body["permissionDecisionReason"] = decision.reason
    if decision.updated_input is not None:
        body["updatedInput"] = msgspec.to_builtins(dict(decision.updated_input))
    return body


def _permission_body(decision: ToolDecision, context: HookContext) -> dict[str, Any]:
    if decision.behavior == "deny":
        return {"behavior": "deny", "message": decision.reason or ""}
    if decision.behavior == "allow":
        changed = decision.updated_input
        return {"behavior": "allow", "updatedInput": context.raw["tool_input"] if changed is None else dict(changed)}
    raise ValueError(f"a PermissionRequest can be allowed or denied; to {decision.behavior}, return None")


def _give_up(item: Hook, context: HookContext, what: str, error: BaseException) -> dict[str, Any]:
    logger.warning("the %s hook %s %s", context.event, item.name, what, exc_info=error)
    return _refusal(context.event, f"the hook {item.name} {what}")


def _refusal(event: str, why: str) -> dict[str, Any]:
    """The answer for a hook that has none: no on a guard event, no opinion on any other."""
    reason = f"Handrail stopped this because a guard did not work, not because anyone refused it: {why}."
    match event:
        case "PreToolUse":
            decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            return {"hookSpecificOutput": {"hookEventName": event, **decision}}
        case "PermissionRequest":
            decision = {"behavior": "deny", "message": reason}
            return {"hookSpecificOutput": {"hookEventName": event, "decision": decision}}
        case "UserPromptSubmit":
            return {"decision": "block", "reason": reason}
    return {}


def _refuses(answer: Mapping[str, Any]) -> bool:
    specific = answer.get("hookSpecificOutput", {})
    return answer.get("decision") == "block" or "deny" in (
        specific.get("permissionDecision"),
        specific.get("decision", {}).get("behavior"),
    )


def _check_event(event: str) -> None:
    if event in HOOK_EVENTS:
        return
    import difflib  # costs nothing where every name is right

    similar = difflib.get_close_matches(event.lower(), {name.lower(): name for name in HOOK_EVENTS}, 1, SIMILAR)
    if similar:
        meant = next(name for name in HOOK_EVENTS if name.lower() == similar[0])
        raise InvalidOptions(f"there is no hook event {event!r}: did you mean {meant!r}?")
    logger.warning("Handrail does not know the hook event %r; a CLI that does not either never calls it", event)


def _check_function(function: HookFunction) -> None:
    if isinstance(function, Hook):
        raise InvalidOptions(f"{function.name} is a hook already: name all its events in one @hook(...)")
    if not inspect.iscoroutinefunction(function):
        raise InvalidOptions(f"a hook must be an async function, and {function!r} is not")
    _arity(function)


def _arity(function: HookFunction) -> int:
    """How many of (input, context) the function takes."""
    signature = inspect.signature(function)
    for count in (2, 1):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    raise InvalidOptions(f"a hook takes the event's input, and perhaps a context: {function!r} takes {signature}")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
