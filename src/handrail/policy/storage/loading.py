"""Policies from files: which ones are looked at, how they add up, and what happens when they change."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from handrail.errors import InvalidPolicy, PolicyError
from handrail.places import PROJECT_DIRECTORY, Places, project_policy_file
from handrail.policy.documents import Document, parse_document
from handrail.policy.files import Disk, Files
from handrail.policy.grants import Grant, Grants, scope_of
from handrail.policy.policy import Origin, OriginKind, PlacedRule, Policy, Ruling
from handrail.policy.profiles import DEFAULT_PROFILE, Otherwise, stricter
from handrail.policy.self_approval import Own
from handrail.policy.storage.grant_store import GrantStore
from handrail.policy.storage.trust_store import TrustStore
from handrail.policy.trust import HeldBack, WhyNot, digest_of, tighten

__all__ = ["Asked", "Loaded", "LookedAt", "PolicySource", "load_policy", "policy_of", "project_root"]

LARGEST = 256 * 1024
"""More than anybody writes by hand; a file beyond it is refused."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the program or the command line asks of a policy, beside the files."""

    profile: str | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    otherwise: Otherwise | None = None
    expire_after: float | None = None

    def beside(self, standing: Asked) -> Asked:
        """This beside what is asked of every session: rules add up, and what this names goes before the rest."""
        return Asked(
            profile=self.profile or standing.profile,
            allow=_each_once(*standing.allow, *self.allow),
            ask=_each_once(*standing.ask, *self.ask),
            deny=_each_once(*standing.deny, *self.deny),
            otherwise=self.otherwise or standing.otherwise,
            expire_after=self.expire_after if self.expire_after is not None else standing.expire_after,
        )


def _each_once(*rules: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rules))


class LookedAt(msgspec.Struct, frozen=True):
    """A file that was looked for, and what became of it."""

    path: str
    found: bool
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class Loaded:
    """The policy that holds in a project, and how it came about."""

    policy: Policy
    root: str
    files: tuple[LookedAt, ...]
    held_back: HeldBack | None = None


def project_root(cwd: str) -> str:
    """The project that `cwd` is in: the nearest directory with a `.handrail` inside its repository, else the
    repository, else `cwd` itself. What lies above a repository, or above a directory without one, is not its own."""
    start = posixpath.normpath(cwd)
    nearest = None
    directory = start
    while True:
        if nearest is None and os.path.lexists(posixpath.join(directory, PROJECT_DIRECTORY)):
            nearest = directory
        if os.path.lexists(posixpath.join(directory, ".git")):
            return nearest or directory
        parent = posixpath.dirname(directory)
        if parent == directory:
            return start
        directory = parent


def _root_of(cwd: str, copy_of: str | None) -> str:
    """The project whose policy holds in `cwd`: a file that is not committed is in no copy of the project."""
    root = project_root(cwd)
    if copy_of is None or os.path.lexists(project_policy_file(root)):
        return root
    return project_root(copy_of)


def load_policy(cwd: str, places: Places, asked: Asked | None = None, *, root: str | None = None) -> Loaded:
    """The policy of the project at `cwd` (absolute). A file that cannot be read or understood is an error.

    `root` is that of the project, if it is known already.
    """
    asked = asked or Asked()
    root = root or project_root(cwd)
    common_file = _read(places.policy_file)
    common = common_file.document if common_file else None
    project = _read(project_policy_file(root))
    base = _base(common, asked, places)
    files = [LookedAt(places.policy_file, common is not None)]
    if project is None:
        return Loaded(base, root, (*files, LookedAt(project_policy_file(root), False)))
    why = project.why_not_trusted(TrustStore(places.trust_file))
    files.append(LookedAt(project.path, True, trusted=why is None))
    if why is None:
        return Loaded(_trusted(base, common, project.document, asked, places), root, tuple(files))
    policy, held_back = _tightened(base, common, project.document, why, asked, places)
    return Loaded(policy, root, tuple(files), held_back or None)


def policy_of(document: Document, places: Places) -> Policy:
    """The policy that would hold if `document` were the file for all projects."""
    return _base(document, Asked(), places)


@dataclass(frozen=True, slots=True)
class _Read:
    """A policy file as it was at one moment: what is judged is what was hashed."""

    path: str
    digest: str
    document: Document
    is_link: bool

    def why_not_trusted(self, store: TrustStore) -> WhyNot | None:
        trusted = store.entries().get(self.path)
        if self.is_link:
            return "a symbolic link"
        if trusted is None:
            return "not trusted"
        return None if trusted == self.digest else "changed since it was trusted"


def read_policy_bytes(path: str) -> bytes | None:
    """The content of a policy file, None if there is none."""
    if not os.path.lexists(path):
        return None
    if os.path.isdir(path):
        raise InvalidPolicy(f"{path} is a directory: a policy is a file")
    data = Disk().read(path, LARGEST)
    if data is None:
        raise InvalidPolicy(
            f"{path} cannot be read: it must be an ordinary file that you may read, of at most {LARGEST // 1024} KiB"
        )
    return data


def behind_a_link(path: str) -> bool:
    """Whether a project's policy file, or the directory it is in, is a symbolic link."""
    return os.path.islink(path) or os.path.islink(posixpath.dirname(path))


def _read(path: str) -> _Read | None:
    data = read_policy_bytes(path)
    if data is None:
        return None
    return _Read(path, digest_of(data), parse_document(data, path), behind_a_link(path))


def _base(common: Document | None, asked: Asked, places: Places) -> Policy:
    """The policy without the project's."""
    said = common.profile if common else None
    return _policy([("global", common)], asked.profile or said or DEFAULT_PROFILE, asked, places)


def _trusted(base: Policy, common: Document | None, project: Document, asked: Asked, places: Places) -> Policy:
    """The project's file counts in full. What the person asked for counts more, unless the project is stricter."""
    wanted = project.profile or base.profile.name
    profile = wanted if asked.profile is None or stricter(wanted, base.profile.name) else base.profile.name
    return _policy([("global", common), ("project", project)], profile, asked, places)


def _tightened(
    base: Policy, common: Document | None, project: Document, why: WhyNot, asked: Asked, places: Places
) -> tuple[Policy, HeldBack]:
    taken, held_back = tighten(
        project,
        why,
        profile=base.profile.name,
        expire_after=base.expire_after,
        outline_cooldown=base.outline_cooldown,
    )
    layers: Layers = [("global", common), ("project", taken)]
    policy = _policy(layers, taken.profile or base.profile.name, asked, places)
    tightened = replace(
        policy,
        expire_after=taken.expire_after if taken.expire_after is not None else base.expire_after,
        outline_cooldown=base.outline_cooldown or bool(taken.outline_cooldown),
        floor=base,
    )
    return tightened, held_back


Layers = list[tuple[OriginKind, Document | None]]


def _policy(layers: Layers, profile: str, asked: Asked, places: Places) -> Policy:
    documents = [document for _, document in layers if document is not None]
    return Policy.of(
        profile,
        allow=asked.allow,
        ask=asked.ask,
        deny=asked.deny,
        placed=[rule for kind, document in layers if document is not None for rule in _placed(document, kind)],
        otherwise=asked.otherwise,
        expire_after=asked.expire_after or _last(document.expire_after for document in documents),
        outline_cooldown=bool(_last(document.outline_cooldown for document in documents)),
        own=Own.of(places),
    )


def _placed(document: Document, kind: OriginKind) -> Iterable[PlacedRule]:
    for rule in document.rules:
        yield PlacedRule(rule.text, rule.behavior, Origin(kind, document.path, rule.line))


def _last(values: Iterable[Any]) -> Any:
    """What was said last, by whoever said anything."""
    return next((value for value in reversed(list(values)) if value is not None), None)


# ---------------------------------------------------------------- while a session runs

Stamp = tuple[int, int, int, int] | None


class PolicySource:
    """The policy of one session, kept up to date. Owned by the session.

    Making one loads the policy, and raises if that fails: a session does not start without a good one. Each `judge`
    looks whether a file has changed. If what it holds now cannot be used, the last good policy stays, and `on_error`
    hears why; `error` keeps it.
    """

    def __init__(
        self,
        cwd: str,
        places: Places,
        asked: Asked | None = None,
        *,
        copy_of: str | None = None,
        on_error: Callable[[PolicyError], None] | None = None,
        on_change: Callable[[Loaded], None] | None = None,
    ) -> None:
        """`copy_of` is the directory that `cwd` is a worktree's copy of: if that has no policy, its project's holds."""
        self._cwd = cwd
        # Fixed for the session: a repository that appears below must not take the project's rules out of force.
        self._root = _root_of(cwd, copy_of)
        self._places = places
        self._asked = asked
        self._on_error = on_error
        self._on_change = on_change
        self._store = GrantStore(places.grants_file)
        self._of_session = Grants()
        self._of_store = Grants()
        self.error: PolicyError | None = None
        self._stamps = self._look()
        self._loaded = load_policy(cwd, places, asked, root=self._root)
        self._granted_stamp: Stamp = None
        self._effective = self._loaded.policy
        self._read_grants()

    @property
    def loaded(self) -> Loaded:
        """The policy in force, what it was made of, and what was held back."""
        self._refresh()
        return self._loaded

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What people granted that counts here."""
        self._refresh()
        return self._granted()

    def judge(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        *,
        home: str,
        mode: str,
        add_dirs: Iterable[str] = (),
        cwd: str | None = None,
        files: Files | None = None,
    ) -> Ruling:
        """What the policy in force says about a call of this session; `cwd` is where it is made, if elsewhere."""
        self._refresh()
        where = cwd or self._cwd
        return self._effective.judge(
            tool_name, tool_input, cwd=where, home=home, mode=mode, add_dirs=add_dirs, files=files
        )

    def remember(self, updates: Sequence[Any], *, actor: str, at: float) -> None:
        """Take over the `updatedPermissions` of an answer. A malformed rule is an `InvalidRule`: nothing changes."""
        root = self._loaded.root
        of_session = self._of_session.updated(updates, project=root, actor=actor, at=at).of_scope("session")
        if any(scope_of(update) != "session" for update in updates):
            self._of_store = self._store.update(updates, project=root, actor=actor, at=at)
            self._granted_stamp = _stamp(self._store.path)
        self._of_session = of_session
        self._combine()

    def _refresh(self) -> None:
        stamps = self._look()
        if stamps != self._stamps:
            self._stamps = stamps
            self._attempt(self._reload)
        if _stamp(self._store.path) != self._granted_stamp:
            self._read_grants()

    def _reload(self) -> None:
        self._refuse_lost_files()
        before = self._loaded
        self._loaded = load_policy(self._cwd, self._places, self._asked, root=self._root)
        self.error = None
        self._combine()
        if self._on_change is not None and self._loaded != before:
            self._on_change(self._loaded)

    def _refuse_lost_files(self) -> None:
        """A file that vanishes takes nothing back: it may be in the middle of being saved, or be out of the way."""
        for file in self._loaded.files:
            if file.found and not os.path.lexists(file.path):
                raise InvalidPolicy(
                    f"{file.path} is gone. What it said stays in force until the session ends; to drop it, leave an "
                    "empty file in its place"
                )

    def _read_grants(self) -> None:
        self._granted_stamp = _stamp(self._store.path)
        self._of_store = Grants()
        self._combine()
        self._attempt(self._take_stored)

    def _take_stored(self) -> None:
        self._of_store = self._store.read()
        self._combine()

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except PolicyError as error:
            self.error = error
            if self._on_error is not None:
                self._on_error(error)

    def _combine(self) -> None:
        self._effective = self._loaded.policy.with_grants(self._granted())

    def _granted(self) -> tuple[Grant, ...]:
        root = self._loaded.root
        return (*self._of_store.holding_in(root), *self._of_session.holding_in(root))

    def _look(self) -> dict[str, Stamp]:
        project = project_policy_file(self._root)
        return {path: _stamp(path) for path in (self._places.policy_file, project, self._places.trust_file)}


def _stamp(path: str) -> Stamp:
    """What changes when a file is written or put in place of another."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
