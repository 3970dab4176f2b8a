"""The policy: what is allowed and why, what a text would change, which rules would save asks, and editing rules."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from handrail.errors import InvalidPolicy
from handrail.policy.describing.visible import one_line
from handrail.policy.documents import parse_document
from handrail.policy.grants import Grant
from handrail.policy.policy import Ruling
from handrail.policy.recordings import Difference, RecordedCall, Replayed, replay
from handrail.policy.storage.editing import PolicyEditor
from handrail.policy.storage.grant_store import GrantStore
from handrail.policy.storage.loading import Asked, Loaded, load_policy, policy_of, project_root
from handrail.policy.suggest import Suggestion, suggest
from handrail.policy.typed_call import call_words, parse_call
from handrail.policy.verdict import Behavior
from handrail.protocol.options import PermissionMode
from handrail.server.api.policy_view import PolicyView, policy_view
from handrail.server.calls import Body, Call, Nothing, Query
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.sessions.past_calls import PastCall, read_past_calls
from handrail.store.base import SessionFilter

__all__ = ["add_rule", "check", "explain", "explain_typed", "remove_rule", "show", "suggestions"]

TEXT_OF_A_POLICY = "policy.toml"
MOST_CHANGES = 200

Cwd: TypeAlias = Annotated[
    str, Meta(max_length=4096, pattern=r"^(~|~?/[^\x00]*)$", description="A project's directory: its whole path.")
]
Profile: TypeAlias = Literal["careful", "edits", "readonly", "trusted"]
RuleText: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=2000, description="In Claude Code's grammar.", examples=["Bash(git status)"])
]
Scope: TypeAlias = Annotated[Literal["user", "project"], Meta(description="For all projects, or for that of `cwd`.")]
ToolName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200, examples=["Bash"])]


class PolicyQuery(Query, frozen=True):
    """Where, and under which profile."""

    cwd: Cwd | None = None
    profile: Profile | None = None


class TypedCallQuery(PolicyQuery, frozen=True, kw_only=True):
    """A call as people type it."""

    call: Annotated[str, Meta(min_length=1, max_length=5000, examples=["Bash(git push)"])]
    mode: PermissionMode = "default"


class ExplainBody(Body, frozen=True):
    """A call of a tool."""

    tool: ToolName
    input: dict[str, Any]
    cwd: Cwd | None = None
    profile: Profile | None = None
    mode: PermissionMode = "default"


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a call, and why."""

    tool: str
    input: dict[str, Any]
    mode: str
    behavior: Behavior
    reason: str
    rule: str | None
    source: str
    path: str | None
    line: int | None
    steps: list[str]


class CheckBody(Body, frozen=True):
    """The text of a policy file."""

    text: Annotated[str, Meta(max_length=64 * 1024)]
    cwd: Cwd | None = None


class PolicyProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a policy's text."""

    line: int | None
    words: str


class CallChange(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the past that would go otherwise."""

    tool: str
    words: str
    at: float
    then: str
    now: Behavior
    difference: Difference


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a text is a policy, and what it would have changed in `calls` asks of the past."""

    ok: bool
    problems: list[PolicyProblem]
    calls: int
    changes: list[CallChange]


class SuggestedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that would have saved asks."""

    rule: str
    behavior: Behavior
    words: str
    times: int
    last_at: float | None


class LeftCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call for which there is no rule that allows no more than it."""

    tool: str
    words: str
    why: str


class Suggestions(msgspec.Struct, frozen=True, kw_only=True):
    """Rules to add, those that save most first, and what stays an ask."""

    items: list[SuggestedRule]
    left: list[LeftCall]


class NewRule(Body, frozen=True):
    """A rule to write down."""

    behavior: Behavior
    rule: RuleText
    scope: Scope = "user"
    cwd: Cwd | None = None


class OldRule(Query, frozen=True):
    """A rule to take out."""

    behavior: Behavior
    rule: RuleText
    scope: Scope = "user"
    granted: Annotated[bool, Meta(description="Whether it was granted with an answer, and stands in no file.")] = False
    cwd: Cwd | None = None


# ---------------------------------------------------------------- looking


async def show(hub: Hub, call: Call[None, PolicyQuery]) -> PolicyView:
    """The policy of a project, or of none: each rule, and where it comes from."""
    cwd = await _directory(hub, call.query.cwd)
    return await asyncio.to_thread(_view, hub, cwd, call.query.profile)


async def explain(hub: Hub, call: Call[ExplainBody, Nothing]) -> Explained:
    """Say what becomes of a call, which rule decides, and why."""
    asked = call.body
    cwd = await _directory(hub, asked.cwd)
    return await asyncio.to_thread(_explained, hub, asked.tool, asked.input, asked.mode, cwd, asked.profile)


async def explain_typed(hub: Hub, call: Call[None, TypedCallQuery]) -> Explained:
    """The same for a call as people type it, such as `Bash(git push)`."""
    asked = call.query
    cwd = await _directory(hub, asked.cwd)
    tool, given = parse_call(asked.call, None, None, cwd)
    return await asyncio.to_thread(_explained, hub, tool, given, asked.mode, cwd, asked.profile)


async def check(hub: Hub, call: Call[CheckBody, Nothing]) -> Checked:
    """Whether a text can be a policy, and what it would have changed if it had been that of all projects."""
    cwd = None if call.body.cwd is None else await _directory(hub, call.body.cwd)
    past = await read_past_calls(hub.store, cwd=cwd)
    return await asyncio.to_thread(_checked, hub, call.body.text, past)


async def suggestions(hub: Hub, call: Call[None, PolicyQuery]) -> Suggestions:
    """Rules that would have saved asks. None is wider than what people approved."""
    cwd = await _directory(hub, call.query.cwd)
    past = await read_past_calls(hub.store, cwd=None if call.query.cwd is None else cwd)
    return await asyncio.to_thread(_suggested, hub, cwd, call.query.profile, past)


# ---------------------------------------------------------------- changing


async def add_rule(hub: Hub, call: Call[NewRule, Nothing]) -> PolicyView:
    """Write a rule down, for all projects or for one. It holds at once, also in sessions that run."""
    wanted = call.body
    call.note(wanted.behavior, wanted.rule, f"({wanted.scope})")
    cwd = await _directory(hub, wanted.cwd)
    project = _project(wanted.scope, wanted.cwd, cwd)
    editor = PolicyEditor(hub.manager.places)
    await asyncio.to_thread(editor.add, wanted.rule, wanted.behavior, project=project)
    return await asyncio.to_thread(_view, hub, cwd, None)


async def remove_rule(hub: Hub, call: Call[None, OldRule]) -> PolicyView:
    """Take a rule out of its file, or take back what was granted with an answer."""
    unwanted = call.query
    call.note(unwanted.behavior, unwanted.rule, f"({unwanted.scope})")
    cwd = await _directory(hub, unwanted.cwd)
    project = _project(unwanted.scope, unwanted.cwd, cwd)
    if unwanted.granted:
        await asyncio.to_thread(_revoke, hub, unwanted.rule, unwanted.behavior, project)
    else:
        editor = PolicyEditor(hub.manager.places)
        await asyncio.to_thread(editor.remove, unwanted.rule, unwanted.behavior, project=project)
    return await asyncio.to_thread(_view, hub, cwd, None)


def _project(scope: str, given: str | None, cwd: str) -> str | None:
    if scope == "user":
        return None
    if given is None:
        raise Problem("invalid", "say which project: give its directory as `cwd`")
    return project_root(cwd)


def _revoke(hub: Hub, rule: str, behavior: Behavior, project: str | None) -> None:
    store = GrantStore(hub.manager.places.grants_file)
    unwanted = [
        grant
        for grant in store.read()
        if (grant.what, grant.behavior) == (rule, behavior)
        and (grant.scope == "user" if project is None else grant.project == project)
    ]
    if not unwanted:
        raise InvalidPolicy(f"nobody granted {rule} here")
    store.revoke(unwanted)


# ---------------------------------------------------------------- the work


async def _directory(hub: Hub, cwd: str | None) -> str:
    """The directory to look from: inside the roots, or that of a session; the user's own if none is named."""
    if cwd is None:
        return hub.roots.home
    if not hub.roots.contain(cwd) and await hub.store.list_sessions(SessionFilter(archived=None, cwd=cwd), limit=1):
        return cwd
    return await asyncio.to_thread(hub.roots.check, cwd)


def _load(hub: Hub, cwd: str, profile: str | None) -> tuple[Loaded, tuple[Grant, ...]]:
    places = hub.manager.places
    asked = Asked(profile=profile).beside(hub.settings.defaults.policy)
    loaded = load_policy(cwd, places, asked)
    return loaded, GrantStore(places.grants_file).read().holding_in(loaded.root)


def _view(hub: Hub, cwd: str, profile: str | None) -> PolicyView:
    loaded, grants = _load(hub, cwd, profile)
    return policy_view(loaded, grants, hub.manager.places)


def _explained(hub: Hub, tool: str, given: dict[str, Any], mode: str, cwd: str, profile: str | None) -> Explained:
    loaded, grants = _load(hub, cwd, profile)
    ruling = loaded.policy.judge(tool, given, cwd=cwd, home=hub.roots.home, mode=mode, grants=grants)
    origin = ruling.origin
    return Explained(
        tool=tool,
        input=given,
        mode=mode,
        behavior=ruling.behavior,
        reason=ruling.reason,
        rule=ruling.rule,
        source=origin.kind,
        path=origin.where if origin.line is not None else None,
        line=origin.line,
        steps=_steps(ruling, loaded, mode),
    )


def _steps(ruling: Ruling, loaded: Loaded, mode: str) -> list[str]:
    profile = loaded.policy.profile
    decided = f"the rule {ruling.rule} ({ruling.origin})" if ruling.rule else f"no rule: {ruling.origin}"
    return [
        f"The profile is {profile.name}: {profile.summary}",
        f"The mode is {mode}; {len(loaded.policy.rules)} rules were looked at.",
        f"What decides is {decided}.",
        f"So it is {_SO[ruling.behavior]}: {ruling.reason}",
    ]


_SO: dict[Behavior, str] = {"allow": "allowed", "ask": "asked", "deny": "denied"}


def _checked(hub: Hub, text: str, past: Sequence[PastCall]) -> Checked:
    try:
        document = parse_document(text.encode(), TEXT_OF_A_POLICY)
    except InvalidPolicy as error:
        return Checked(ok=False, problems=list(_problems(str(error))), calls=0, changes=[])
    replayed = replay(policy_of(document, hub.manager.places), [each.call for each in past], home=hub.roots.home)
    changes = [_change(each, was) for each, was in zip(replayed, past, strict=True) if each.difference != "same"]
    return Checked(ok=True, problems=[], calls=len(past), changes=changes[-MOST_CHANGES:])


def _problems(message: str) -> Iterable[PolicyProblem]:
    for each in message.splitlines():
        found = re.fullmatch(rf"{re.escape(TEXT_OF_A_POLICY)}, line (\d+)[,:] (.*)", each)
        yield PolicyProblem(line=int(found[1]), words=found[2]) if found else PolicyProblem(line=None, words=each)


def _change(each: Replayed, past: PastCall) -> CallChange:
    call = each.call
    return CallChange(
        tool=call.tool,
        words=_words(call),
        at=past.at,
        then=call.then,
        now=each.ruling.behavior,
        difference=each.difference,
    )


def _suggested(hub: Hub, cwd: str, profile: str | None, past: Sequence[PastCall]) -> Suggestions:
    loaded, grants = _load(hub, cwd, profile)
    policy = loaded.policy.with_grants(grants)
    suggested = suggest(policy, replay(policy, [each.call for each in past], home=hub.roots.home), home=hub.roots.home)
    moments = {id(each.call): each.at for each in past}
    return Suggestions(
        items=[_rule(each, max(moments[id(call)] for call in each.calls)) for each in suggested.rules],
        left=[
            LeftCall(tool=left.call.tool, words=_words(left.call), why=left.why)
            for left in suggested.left[:MOST_CHANGES]
        ],
    )


def _rule(each: Suggestion, last_at: float) -> SuggestedRule:
    examples = list(dict.fromkeys(_words(call) for call in each.calls))
    more = f" and {len(examples) - 3} more" if len(examples) > 3 else ""
    return SuggestedRule(
        rule=each.rule, behavior="allow", words=", ".join(examples[:3]) + more, times=each.saved, last_at=last_at
    )


def _words(call: RecordedCall) -> str:
    return one_line(call_words(call.tool, call.input))[:300]
