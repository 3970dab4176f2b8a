"""A policy: a profile and rules, and what they say about a tool call."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.errors import InvalidRule
from handrail.places import Places
from handrail.policy.documents import BEHAVIORS, rule_problem
from handrail.policy.evaluation import evaluate
from handrail.policy.files import Disk, Files
from handrail.policy.grants import Grant
from handrail.policy.profiles import ACTORS, DEFAULT_PROFILE, HARMLESS, READERS, Otherwise, Profile, profile_named
from handrail.policy.rules.ruleset import Rules
from handrail.policy.self_approval import Own, intrusion
from handrail.policy.situation import MODES, Situation
from handrail.policy.verdict import Behavior, Verdict

__all__ = ["BUILT_IN", "FOR_A_PERSON", "Origin", "PlacedRule", "Policy", "Ruling"]

OriginKind: TypeAlias = Literal["built in", "profile", "global", "project", "program", "grant"]

FOR_A_PERSON = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
"""Tools that are a question to a person: no policy answers them."""

STRICTNESS: Mapping[Behavior, int] = {"allow": 0, "ask": 1, "deny": 2}


class Origin(msgspec.Struct, frozen=True):
    """Where a rule, or a decision without one, comes from."""

    kind: OriginKind
    where: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.where}, line {self.line}"
        return self.where or self.kind


BUILT_IN = Origin("built in")
BY_THE_PROGRAM = Origin("program", "given by the program or its settings")


class PlacedRule(msgspec.Struct, frozen=True):
    """A rule and where it comes from."""

    text: str
    behavior: Behavior
    origin: Origin


class Ruling(msgspec.Struct, frozen=True):
    """What a policy says about a call, and which part of it says so."""

    verdict: Verdict
    origin: Origin = BUILT_IN

    @property
    def behavior(self) -> Behavior:
        return self.verdict.behavior

    @property
    def reason(self) -> str:
        return self.verdict.reason

    @property
    def rule(self) -> str | None:
        return self.verdict.rule


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call and the session around it."""

    tool: str
    given: Mapping[str, Any]
    cwd: str
    home: str
    mode: str
    add_dirs: tuple[str, ...]
    files: Files

    def verdict(self, rules: Rules, mode: str) -> Verdict:
        return evaluate(
            rules,
            self.tool,
            self.given,
            cwd=self.cwd,
            home=self.home,
            mode=mode,
            add_dirs=self.add_dirs,
            files=self.files,
        )

    @property
    def only_reads(self) -> bool:
        """Whether the call changes nothing: its tool does not, or Claude Code takes the command for a read."""
        return self.tool in READERS or (
            self.tool in ("Bash", "PowerShell") and self.verdict(Rules(), "default").behavior == "allow"
        )

    @property
    def is_of_the_session(self) -> bool:
        """Whether the call touches nothing but the session: its own tasks and output, or in plan mode its plan."""
        return self.tool in HARMLESS or (self.mode == "plan" and self.tool in ("Edit", "Write") and self._is_plan)

    @property
    def _is_plan(self) -> bool:
        path = self.given.get("file_path")
        plans = posixpath.join(self.home, ".claude", "plans")
        return (
            isinstance(path, str)
            and path.endswith(".md")
            and posixpath.dirname(path) == plans
            and self.files.resolve(path) == posixpath.join(self.files.resolve(plans), posixpath.basename(path))
        )

    @property
    def situation(self) -> Situation:
        return Situation(self.cwd, self.home, self.mode, self.add_dirs, files=self.files)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a session may do unasked. Made by `Policy.of`, or from files by `load_policy`.

    `floor` is a policy that this one must not be more permissive than: of both rulings the stricter counts.
    """

    profile: Profile
    rules: tuple[PlacedRule, ...] = ()
    otherwise: Otherwise = "ask"
    expire_after: float | None = None
    outline_cooldown: bool = False
    own: Own = field(default_factory=Own)
    floor: Policy | None = None
    directories: tuple[str, ...] = ()
    _parsed: Rules = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        texts = {behavior: [rule.text for rule in self.rules if rule.behavior == behavior] for behavior in BEHAVIORS}
        object.__setattr__(self, "_parsed", Rules(**texts))

    @classmethod
    def of(
        cls,
        profile: str = DEFAULT_PROFILE,
        *,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        placed: Iterable[PlacedRule] = (),
        otherwise: Otherwise | None = None,
        expire_after: float | None = None,
        outline_cooldown: bool = False,
        own: Own | None = None,
    ) -> Policy:
        """A policy from a profile's name and rules in Claude Code's grammar.

        `expire_after` is in seconds: an ask that nobody answers expires then; None waits for ever.
        """
        chosen = profile_named(profile)
        lists: dict[Behavior, Iterable[str]] = {"allow": allow, "ask": ask, "deny": deny}
        given = [PlacedRule(text, behavior, BY_THE_PROGRAM) for behavior, texts in lists.items() for text in texts]
        _check(given)
        built_in = [PlacedRule(text, "allow", Origin("profile", f"profile {profile}")) for text in chosen.allow]
        return cls(
            profile=chosen,
            rules=(*placed, *given, *built_in),
            otherwise=otherwise or chosen.otherwise,
            expire_after=expire_after,
            outline_cooldown=outline_cooldown,
            own=own or Own.of(Places.of_user({})),
        )

    def with_grants(self, grants: Iterable[Grant]) -> Policy:
        """This policy with what people granted, which counts below every deny and ask rule."""
        given = tuple(grants)
        rules = [
            PlacedRule(grant.rule, grant.behavior, Origin("grant", str(grant)))
            for grant in given
            if grant.rule is not None
        ]
        return self.with_rules(rules, directories=[grant.directory for grant in given if grant.directory is not None])

    def with_rules(self, rules: Iterable[PlacedRule], *, directories: Iterable[str] = ()) -> Policy:
        """This policy with further rules, and further directories to work in."""
        added, places = tuple(rules), tuple(directories)
        if not (added or places):
            return self
        return replace(
            self,
            rules=(*self.rules, *added),
            directories=(*self.directories, *places),
            floor=self.floor.with_rules(added, directories=places) if self.floor else None,
        )

    def judge(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        *,
        cwd: str,
        home: str,
        mode: str = "default",
        add_dirs: Iterable[str] = (),
        grants: Iterable[Grant] = (),
        files: Files | None = None,
    ) -> Ruling:
        """What this policy says about one call: allow, deny, or ask a person. An unknown mode counts as `default`."""
        policy = self.with_grants(grants)
        directories = (*add_dirs, *policy.directories)
        call = _Call(tool_name, tool_input, cwd, home, _known(mode), directories, files or Disk())
        return policy._judge(call)

    def settings(self) -> dict[str, Any]:
        """What Claude Code's own settings can say of it, for `--settings`: a second line of defence.

        It only tightens. Allow rules stay out: what the CLI allows by itself would not be seen here.
        """
        deny = [*self._texts("deny"), *self.profile.deny_by_settings]
        ask = [*self._texts("ask"), *self.own.ask_rules()]
        return {"permissions": {"deny": _once(deny), "ask": _once(ask)}}

    def _judge(self, call: _Call) -> Ruling:
        ruling = self._rule(call)
        if self.floor is None:
            return ruling
        return _stricter(ruling, self.floor._judge(call))

    def _rule(self, call: _Call) -> Ruling:
        if call.tool in FOR_A_PERSON:
            return Ruling(Verdict("ask", f"{call.tool} is a question to a person"))
        verdict = self._verdict(call)
        if verdict.rule is None and call.is_of_the_session:
            return Ruling(Verdict("allow", "it touches nothing but the session itself"))
        if verdict.behavior == "deny":
            return self._placed(verdict)
        if self.profile.reads_only and not call.only_reads:
            reason = f"the profile {self.profile.name} denies what is not a read"
            return Ruling(Verdict("deny", reason), self._profile_origin)
        if touched := self._touches_its_own(call):
            return Ruling(Verdict("ask", f"{touched}: never allowed without a person"))
        if self._acts_unasked(call, verdict):
            verdict = Verdict("ask", f"{call.tool} does something, and no rule allows it")
        if self.otherwise == "deny" and not self.profile.reads_only and _undecided(verdict):
            return Ruling(Verdict("deny", "no rule allows it, and this policy denies the rest"), self._profile_origin)
        return self._placed(verdict)

    def _verdict(self, call: _Call) -> Verdict:
        """What the rules say. Deny and ask rules hold in every mode, also where a mode would pass them over."""
        verdict = call.verdict(self._parsed, call.mode)
        if verdict.behavior == "allow" and call.mode != "default":
            at_rest = call.verdict(self._parsed, "default")
            if at_rest.behavior != "allow" and at_rest.rule in self._texts(at_rest.behavior):
                return at_rest
        return verdict

    def _acts_unasked(self, call: _Call, verdict: Verdict) -> bool:
        """Whether the call would run only because Claude Code does not think it worth asking."""
        allowed = verdict.behavior == "allow" and call.mode != "bypassPermissions"
        return allowed and call.tool in ACTORS and call.tool not in self._texts("allow")

    def _touches_its_own(self, call: _Call) -> str | None:
        found = intrusion(self.own, call.tool, call.given, call.situation)
        if found is None or (found.reading_is_fine and call.only_reads):
            return None
        return found.reason

    def _placed(self, verdict: Verdict) -> Ruling:
        return Ruling(verdict, self._origin(verdict))

    def _origin(self, verdict: Verdict) -> Origin:
        named = [rule for rule in self.rules if rule.text == verdict.rule]
        same = [rule for rule in named if rule.behavior == verdict.behavior]
        return next((rule.origin for rule in (*same, *named)), BUILT_IN)

    @property
    def _profile_origin(self) -> Origin:
        return Origin("profile", f"profile {self.profile.name}")

    def _texts(self, behavior: Behavior) -> list[str]:
        return [rule.text for rule in self.rules if rule.behavior == behavior]


def _check(rules: Iterable[PlacedRule]) -> None:
    problems = [problem for rule in rules if (problem := rule_problem(rule.text, rule.behavior))]
    if problems:
        raise InvalidRule("\n".join(problems))


def _known(mode: str) -> str:
    """A mode that a newer CLI made up is taken for the one that allows nothing by itself."""
    return mode if mode in MODES else "default"


def _undecided(verdict: Verdict) -> bool:
    return verdict.behavior == "ask" and verdict.rule is None


def _stricter(one: Ruling, other: Ruling) -> Ruling:
    return other if STRICTNESS[other.behavior] > STRICTNESS[one.behavior] else one


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
