"""A project's policy may only tighten until its owner trusts that exact content."""

from __future__ import annotations

import hashlib
import posixpath
import shlex
from typing import Literal, TypeAlias

import msgspec

from handrail.policy.documents import Document, WrittenRule
from handrail.policy.profiles import stricter

__all__ = ["HeldBack", "WhyNot", "digest_of", "tighten"]

WhyNot: TypeAlias = Literal["not trusted", "changed since it was trusted", "a symbolic link"]


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """What an untrusted project's policy asked for and did not get."""

    path: str
    why: WhyNot
    allow: tuple[WrittenRule, ...] = ()
    settings: tuple[str, ...] = ()
    """The keys that would have loosened something, as they would be written, with their lines."""

    def __bool__(self) -> bool:
        return bool(self.allow or self.settings)

    @property
    def command(self) -> str:
        """What the owner runs to trust the file."""
        return f"handrail policy trust {shlex.quote(posixpath.dirname(posixpath.dirname(self.path)))}"

    def __str__(self) -> str:
        what = [f"allow {rule.text} (line {rule.line})" for rule in self.allow] + list(self.settings)
        remedy = (
            "a policy behind a link is never trusted: put a file in its place"
            if self.why == "a symbolic link"
            else f"to trust the file as it is now: {self.command}"
        )
        return f"{self.path} is {self.why}, so it only tightens. Held back: {'; '.join(what)}. {remedy}"


def digest_of(data: bytes) -> str:
    """The hash by which content is trusted."""
    return hashlib.sha256(data).hexdigest()


def tighten(
    document: Document, why: WhyNot, *, profile: str, expire_after: float | None, outline_cooldown: bool
) -> tuple[Document, HeldBack]:
    """What of an untrusted document counts beside the given policy, and what is held back."""
    loosens: list[str] = []

    def held(key: str, value: str) -> None:
        loosens.append(f"{key} = {value} (line {document.lines.get(key, 1)})")

    if document.profile not in (None, profile) and not stricter(str(document.profile), profile):
        held("profile", f'"{document.profile}"')
    sooner = document.expire_after
    if sooner is not None and expire_after is not None and sooner > expire_after:
        held("expire_after", f"{sooner:g} s")
        sooner = None
    if document.outline_cooldown is False and outline_cooldown:
        held("plan", "outline_cooldown off")
    taken = Document(
        path=document.path,
        profile=document.profile if stricter(document.profile or profile, profile) else None,
        rules=tuple(rule for rule in document.rules if rule.behavior != "allow"),
        expire_after=sooner,
        outline_cooldown=document.outline_cooldown or None,
        lines=document.lines,
    )
    allow = tuple(rule for rule in document.rules if rule.behavior == "allow")
    return taken, HeldBack(path=document.path, why=why, allow=allow, settings=tuple(loosens))
