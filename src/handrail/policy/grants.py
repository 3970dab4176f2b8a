"""What people allowed "always": kept for the session, the project or all projects, and by whom.

The CLI keeps such rules too, in its own settings. Handrail keeps them as well, because its own policy is asked first
and would otherwise ask again about what a person has settled.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.errors import InvalidRule
from handrail.policy.documents import BEHAVIORS
from handrail.policy.rules.grammar import Problem, parse_rule
from handrail.policy.verdict import Behavior

__all__ = ["Grant", "Grants", "Scope"]

Scope: TypeAlias = Literal["session", "project", "user"]

_SCOPES: Mapping[str, Scope] = {
    "session": "session",
    "cliArg": "session",
    "localSettings": "project",
    "projectSettings": "project",
    "userSettings": "user",
}
_FROM_ONE_SLASH = re.compile(r"(Read|Edit)\(/(?!/)(.*)\)", re.S)


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, or a directory to work in, that a person added when answering an ask.

    `project` is set for the scope "project". `at` is in seconds since the epoch.
    """

    rule: str | None = None
    directory: str | None = None
    behavior: Behavior = "allow"
    scope: Scope = "session"
    project: str | None = None
    actor: str
    at: float

    @property
    def what(self) -> str:
        """The grant without who gave it: two grants of the same are one."""
        return self.rule if self.rule is not None else f"work in {self.directory}"

    def holds_in(self, project: str) -> bool:
        """Whether the grant counts in that project."""
        return self.scope != "project" or self.project == project

    def __str__(self) -> str:
        moment = datetime.datetime.fromtimestamp(self.at, datetime.UTC).astimezone()
        return f"granted by {self.actor} at {moment:%Y-%m-%d %H:%M}"


class Grants:
    """Grants, as a value: changing them makes new ones."""

    __slots__ = ("_all",)

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._all = tuple({_identity(grant): grant for grant in grants}.values())

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grants) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    def holding_in(self, project: str) -> tuple[Grant, ...]:
        """Those that count in that project."""
        return tuple(grant for grant in self._all if grant.holds_in(project))

    def updated(self, updates: Sequence[Any], *, project: str, actor: str, at: float) -> Grants:
        """With what an answer's `updatedPermissions` add, replace and remove. A malformed rule is an error."""
        grants = self
        for update in updates:
            if isinstance(update, Mapping):
                grants = grants._after(update, project, actor, at)
        return grants

    def without(self, unwanted: Iterable[Grant]) -> Grants:
        """Without these, whoever gave them."""
        gone = {_identity(grant) for grant in unwanted}
        return Grants(grant for grant in self._all if _identity(grant) not in gone)

    def of_scope(self, *scopes: Scope) -> Grants:
        """Those of these scopes."""
        return Grants(grant for grant in self._all if grant.scope in scopes)

    def _after(self, update: Mapping[str, Any], project: str, actor: str, at: float) -> Grants:
        made = _grants(update, project, actor, at)
        match update.get("type"):
            case "addRules" | "addDirectories":
                return Grants((*self._all, *made))
            case "removeRules" | "removeDirectories":
                return self.without(made)
            case "replaceRules":
                kept = [grant for grant in self._all if not _is_replaced(grant, update, project)]
                return Grants((*kept, *made))
        return self


def scope_of(update: Any) -> Scope:
    """How far a permission update reaches."""
    return _SCOPES.get(str(update.get("destination")), "session") if isinstance(update, Mapping) else "session"


def _identity(grant: Grant) -> tuple[str, Behavior, Scope, str | None]:
    return (grant.what, grant.behavior, grant.scope, grant.project)


def _grants(update: Mapping[str, Any], project: str, actor: str, at: float) -> list[Grant]:
    scope = scope_of(update)
    where = project if scope == "project" else None
    if directories := update.get("directories"):
        return [Grant(directory=str(each), scope=scope, project=where, actor=actor, at=at) for each in directories]
    behavior = _behavior(update)
    rules = update.get("rules")
    texts = [_rule(rule, behavior, project) for rule in rules] if isinstance(rules, list) else []
    return [Grant(rule=text, behavior=behavior, scope=scope, project=where, actor=actor, at=at) for text in texts]


def _is_replaced(grant: Grant, update: Mapping[str, Any], project: str) -> bool:
    return (
        grant.rule is not None
        and grant.behavior == _behavior(update)
        and grant.scope == scope_of(update)
        and grant.holds_in(project)
    )


def _behavior(update: Mapping[str, Any]) -> Behavior:
    named = update.get("behavior", "allow")
    for behavior in BEHAVIORS:
        if named == behavior:
            return behavior
    raise InvalidRule(f"a rule allows, asks or denies; {named!r} is none of these")


def _rule(rule: Any, behavior: Behavior, project: str) -> str:
    """The rule as text. A path from one slash is relative to the project in the CLI's settings: it is written out."""
    if not isinstance(rule, Mapping) or not isinstance(rule.get("toolName"), str):
        raise InvalidRule(f"{rule!r} is not a permission rule: it has no toolName")
    content = rule.get("ruleContent")
    text = rule["toolName"] if content is None else f"{rule['toolName']}({content})"
    text = _FROM_ONE_SLASH.sub(lambda found: f"{found[1]}(/{project.rstrip('/')}/{found[2]})", text)
    parsed = parse_rule(text, behavior)
    if isinstance(parsed, Problem):
        raise InvalidRule(str(parsed))
    return text
