"""A policy as the API shows it: each rule with its place, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from handrail.places import Places
from handrail.policy.grants import Grant
from handrail.policy.policy import FOR_A_PERSON, PlacedRule
from handrail.policy.profiles import DEFAULT_PROFILE, PROFILES, Otherwise
from handrail.policy.storage.loading import Loaded
from handrail.policy.verdict import Behavior

__all__ = ["PolicyView", "policy_view"]

IN_FILES = {"global": "user", "project": "project"}


class ProfileView(msgspec.Struct, frozen=True, kw_only=True):
    """A built-in profile; `points` say in full what it allows."""

    name: str
    description: str
    default: bool
    points: tuple[str, ...]


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A rule and where it comes from. One with a `scope` can be taken out."""

    behavior: Behavior
    rule: str
    source: str
    scope: str | None = None
    granted: bool = False
    path: str | None = None
    line: int | None = None
    by: str | None = None
    at: float | None = None
    removable: bool = False


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was looked for."""

    path: str
    scope: Literal["user", "project"]
    found: bool
    trusted: bool


class HeldBackView(msgspec.Struct, frozen=True, kw_only=True):
    """What an untrusted project's policy asked for and did not get; `command` trusts it."""

    path: str
    why: str
    rules: list[str]
    settings: list[str]
    command: str


class PolicyView(msgspec.Struct, frozen=True, kw_only=True):
    """The policy of a project. `expire_after` is in seconds; None: asks wait for ever."""

    root: str
    profile: str
    profiles: list[ProfileView]
    rules: list[RuleView]
    files: list[FileView]
    held_back: HeldBackView | None
    otherwise: Otherwise
    expire_after: float | None
    outline_cooldown: bool
    notes: list[str]


def policy_view(loaded: Loaded, grants: Sequence[Grant], places: Places) -> PolicyView:
    """Everything about a policy that was loaded."""
    policy = loaded.policy
    return PolicyView(
        root=loaded.root,
        profile=policy.profile.name,
        profiles=[
            ProfileView(
                name=each.name, description=each.summary, default=each.name == DEFAULT_PROFILE, points=each.explained
            )
            for each in PROFILES.values()
        ],
        rules=[*map(_rule, policy.rules), *map(_grant, grants)],
        files=[
            FileView(path=file.path, scope=_scope(file.path, places), found=file.found, trusted=file.trusted)
            for file in loaded.files
        ],
        held_back=_held_back(loaded),
        otherwise=policy.otherwise,
        expire_after=policy.expire_after,
        outline_cooldown=policy.outline_cooldown,
        notes=list(_notes(loaded)),
    )


def _rule(rule: PlacedRule) -> RuleView:
    origin = rule.origin
    scope = IN_FILES.get(origin.kind)
    return RuleView(
        behavior=rule.behavior,
        rule=rule.text,
        source=origin.kind,
        scope=scope,
        path=origin.where if scope else None,
        line=origin.line,
        removable=scope is not None,
    )


def _grant(grant: Grant) -> RuleView:
    return RuleView(
        behavior=grant.behavior,
        rule=grant.what,
        source="grant",
        scope=grant.scope,
        granted=True,
        path=grant.project,
        by=grant.actor,
        at=grant.at,
        removable=True,
    )


def _scope(path: str, places: Places) -> Literal["user", "project"]:
    return "user" if path == places.policy_file else "project"


def _held_back(loaded: Loaded) -> HeldBackView | None:
    held = loaded.held_back
    if held is None:
        return None
    return HeldBackView(
        path=held.path,
        why=held.why,
        rules=[rule.text for rule in held.allow],
        settings=list(held.settings),
        command=held.command,
    )


def _notes(loaded: Loaded) -> Iterator[str]:
    yield f"Whatever the rules say, a person is asked about {', '.join(sorted(FOR_A_PERSON))}"
    yield "Handrail's own files and commands are never allowed without a person"
    if loaded.held_back is not None:
        yield str(loaded.held_back)
