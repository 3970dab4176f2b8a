"""Makes a policy bind: in answers to asks, in a PreToolUse hook, and in the CLI's own settings.

What the CLI allows by itself (the user's settings, accepted edits, read-only commands) is never asked about. The hook
sees every call, so that is where deny and ask rules hold; what the CLI then asks about, the policy may answer.
"""

from __future__ import annotations

import json
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import msgspec

from handrail.errors import InvalidOptions
from handrail.policy.files import Files
from handrail.policy.grants import Grants
from handrail.policy.policy import FOR_A_PERSON, STRICTNESS, Policy, Ruling
from handrail.policy.storage.loading import PolicySource
from handrail.protocol.asks import Allow, Ask, Deny
from handrail.protocol.control import PreToolUseInput
from handrail.protocol.options import Options
from handrail.sessions.asking import PolicyAnswer
from handrail.sessions.asks import Actor
from handrail.sessions.hooks import Hook, HookAnswer, HookContext, deny_tool, hook

__all__ = ["Enforcement", "with_settings"]

logger = logging.getLogger("handrail.policy")

LISTS = ("allow", "ask", "deny")
KEEPS_HOOKS: Mapping[str, Any] = {"disableAllHooks": False, "env": {"CLAUDE_CODE_SIMPLE": "0"}}
"""Settings without which those of a user or a repository could switch our hook off: it makes the policy bind."""
REMEMBERED_CALLS = 200

LONGEST_HOLD = 20 * 24 * 3600.0
"""How long the hook may take, for CLIs where it waits for a person. More would not fit into the CLI's timer."""

HaveAsked = Callable[[PreToolUseInput, HookContext, str], Awaitable[HookAnswer]]
"""Has a person asked about a call, for a reason: returns what the hook answers."""


class _Fixed:
    """A policy that was given as a value, and what people granted during the session."""

    def __init__(self, policy: Policy, cwd: str) -> None:
        self.policy = policy
        self._cwd = cwd
        self._grants = Grants()

    def judge(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        *,
        home: str,
        mode: str,
        add_dirs: Sequence[str],
        cwd: str | None = None,
        files: Files | None = None,
    ) -> Ruling:
        return self.policy.judge(
            tool_name,
            tool_input,
            cwd=cwd or self._cwd,
            home=home,
            mode=mode,
            add_dirs=add_dirs,
            grants=self._grants.holding_in(self._cwd),
            files=files,
        )

    def with_grants(self) -> Policy:
        return self.policy.with_grants(self._grants)

    def remember(self, updates: Sequence[Any], *, actor: str, at: float) -> None:
        self._grants = self._grants.updated(updates, project=self._cwd, actor=actor, at=at)


@dataclass(frozen=True, slots=True)
class _Around:
    """What the CLI says about the surroundings of a call."""

    mode: str | None = None
    cwd: str | None = None

    @classmethod
    def of(cls, hook_input: Mapping[str, Any]) -> _Around:
        mode, cwd = hook_input.get("permission_mode"), hook_input.get("cwd")
        return cls(
            mode if isinstance(mode, str) and mode else None,
            cwd if isinstance(cwd, str) and cwd.startswith("/") else None,
        )


@dataclass(frozen=True, slots=True)
class Enforcement:
    """One session's policy, where it binds.

    `mode` tells the permission mode the session is in; `have_asked` is how a call comes before a person.
    """

    source: PolicySource | _Fixed
    cwd: str
    home: str
    add_dirs: tuple[str, ...]
    mode: Callable[[], str]
    have_asked: HaveAsked
    files: Files | None = None
    """The files where the CLI runs; None for those of this machine."""
    around: OrderedDict[str, _Around] = field(default_factory=OrderedDict)
    """By tool call: what the hook was told, for when the CLI asks about the call without saying so."""
    for_people: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """Tool calls that a hook wants a person to look at, whatever the policy allows."""

    @classmethod
    def of(
        cls,
        policy: Policy | PolicySource,
        *,
        cwd: str,
        home: str,
        add_dirs: Sequence[str],
        mode: Callable[[], str],
        have_asked: HaveAsked,
        files: Files | None = None,
    ) -> Enforcement:
        source = _Fixed(policy, cwd) if isinstance(policy, Policy) else policy
        return cls(source, cwd, home, tuple(add_dirs), mode, have_asked, files)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.source.policy if isinstance(self.source, _Fixed) else self.source.loaded.policy

    def for_successor(self) -> Policy | PolicySource:
        """The policy for the session that follows this one, with what was granted so far."""
        return self.source.with_grants() if isinstance(self.source, _Fixed) else self.source

    def answer(self, ask: Ask) -> PolicyAnswer | None:
        """What the policy answers to an ask; None leaves it to a person."""
        if ask.kind != "permission" or _is_for_a_person(ask):
            return None
        around = self.around.pop(ask.tool_use_id or "", _Around())
        ruling = self._judge(ask.tool_name, ask.input, around)
        actor = Actor(f"policy: {ruling.rule or ruling.origin}", "policy")
        match ruling.behavior:
            case "allow" if ask.tool_use_id not in self.for_people:
                return PolicyAnswer(Allow(), actor)
            case "deny":
                return PolicyAnswer(Deny(_denial(ruling)), actor)
        return None

    def denial(self, ask: Ask, changed: Mapping[str, Any]) -> str | None:
        """Why the call may not be what an answer would make of it; None if it may: a person has seen it."""
        ruling = self._judge(ask.tool_name, changed, _Around())
        if ruling.behavior != "deny":
            return None
        return f"Handrail's policy denies what the answer makes of this ({_source(ruling)}): {ruling.reason}"

    def guard(self) -> Hook:
        """The hook that sees every call before the CLI decides about it."""

        @hook("PreToolUse", timeout=LONGEST_HOLD)
        async def policy(call: PreToolUseInput, context: HookContext) -> HookAnswer:
            if call.tool_name in FOR_A_PERSON:
                return None
            around = self._remembered(context)
            ruling = self._judge(call.tool_name, call.tool_input, around)
            match ruling.behavior:
                case "deny":
                    return deny_tool(_denial(ruling))
                case "ask":
                    return await self.have_asked(call, context, ruling.reason)
            # The CLI may still ask: then the policy's answer is a decision like any other, and is recorded.
            return None

        return policy

    def review(self, call: Mapping[str, Any], output: dict[str, Any]) -> dict[str, Any]:
        """What another hook answered to a call; if it changes the input, the policy has the last word on that."""
        specific = output.get("hookSpecificOutput") or {}
        if specific.get("permissionDecision") == "ask":
            self._leave_to_people(call.get("tool_use_id"))
        changed = specific.get("updatedInput")
        tool = call.get("tool_name")
        if (
            not isinstance(changed, Mapping)
            or not isinstance(tool, str)
            or specific.get("permissionDecision") == "deny"
        ):
            return output
        ruling = self._judge(tool, changed, _Around.of(call))
        if ruling.behavior == "allow":
            return output
        decision = {"permissionDecision": ruling.behavior, "permissionDecisionReason": _denial(ruling)}
        return {**output, "hookSpecificOutput": {**specific, **decision}}

    def _leave_to_people(self, tool_use_id: Any) -> None:
        if isinstance(tool_use_id, str) and tool_use_id:
            self.for_people[tool_use_id] = None
            if len(self.for_people) > REMEMBERED_CALLS:
                self.for_people.popitem(last=False)

    def remember(self, updates: Sequence[Any], *, actor: Actor, at: float) -> None:
        """A person changed the rules with an answer: the same call is not asked about again."""
        try:
            self.source.remember(updates, actor=str(actor), at=at)
        except Exception:  # the answer is on its way: whatever is wrong with the rule, it must not be held up
            logger.exception("the CLI has the new rule, but Handrail's own policy could not take it over")

    def _remembered(self, context: HookContext) -> _Around:
        around = _Around.of(context.raw)
        if context.tool_use_id:
            self.around[context.tool_use_id] = around
            if len(self.around) > REMEMBERED_CALLS:
                self.around.popitem(last=False)
        return around

    def _judge(self, tool: str, given: Mapping[str, Any], around: _Around) -> Ruling:
        """The strictest ruling there is for the call.

        A subagent's mode is chosen by its definition, which a repository can bring along: it may tighten, not widen
        what holds for the session. (2.1.37 does not even say that a call is a subagent's.) And a call is judged both
        where the session was started and where the shell has moved: a path can mean either.
        """
        modes = {self.mode(), around.mode or self.mode()}
        places = [(self.cwd, self.add_dirs)]
        if around.cwd is not None and around.cwd != self.cwd:
            places.append((around.cwd, (*self.add_dirs, self.cwd)))
        rulings = [
            self.source.judge(tool, given, home=self.home, mode=mode, add_dirs=add_dirs, cwd=cwd, files=self.files)
            for mode in sorted(modes)
            for cwd, add_dirs in places
        ]
        return max(rulings, key=lambda ruling: STRICTNESS[ruling.behavior])


def with_settings(options: Options, policy: Policy) -> Options:
    """`options` with what the CLI's own settings can say of the policy: it holds even where our hook is not called.

    They count more than the user's and the project's, and so they also say that our hook is called.
    """
    settings = _merged(_settings_of(options), policy.settings())
    env = {**_section(settings, "env"), **KEEPS_HOOKS["env"]}
    return msgspec.structs.replace(options, settings={**settings, **KEEPS_HOOKS, "env": env})


def _settings_of(options: Options) -> dict[str, Any]:
    match options.settings:
        case None:
            return {}
        case Mapping() as settings:
            return dict(settings)
        case str() | PurePath() as named:
            return _parsed(str(named), options.cwd)


def _parsed(named: str, cwd: str | PurePath | None) -> dict[str, Any]:
    """Settings given as JSON, or as the path of a file with them."""
    try:
        if not named.lstrip().startswith("{"):
            with open(os.path.join(cwd or "", os.path.expanduser(named)), encoding="utf-8") as file:
                named = file.read()
        settings = json.loads(named)
    except (OSError, ValueError) as error:
        raise InvalidOptions(f"the settings cannot be read, so no policy can be added to them: {error}") from None
    if not isinstance(settings, dict):
        raise InvalidOptions("the settings are no JSON object, so no policy can be added to them")
    return settings


def _merged(settings: dict[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    permissions = _section(settings, "permissions")
    merged = dict(permissions)
    for name in LISTS:
        rules = [*(permissions.get(name) or ()), *added["permissions"].get(name, ())]
        if rules:
            merged[name] = list(dict.fromkeys(rules))
    return {**settings, "permissions": merged}


def _section(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = settings.get(name) or {}
    if not isinstance(section, Mapping):
        raise InvalidOptions(f"settings[{name!r}] is no object, so no policy can be added to it")
    return section


def _is_for_a_person(ask: Ask) -> bool:
    """Whether the CLI itself wants a person here: by an ask rule of the user's, or because the tool does."""
    return bool(ask.request.get("matched_ask_rule") or ask.request.get("requires_user_interaction"))


def _denial(ruling: Ruling) -> str:
    return f"Handrail's policy denies this ({_source(ruling)}): {ruling.reason}. Nobody was asked."


def _source(ruling: Ruling) -> str:
    return f"rule {ruling.rule}, {ruling.origin}" if ruling.rule else str(ruling.origin)
