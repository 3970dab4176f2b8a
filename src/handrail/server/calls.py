"""A call of the API: who makes it, and with what; and what it can be answered with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from handrail.server.roles import Role, check_role
from handrail.sessions.asks import Actor

__all__ = ["Body", "Call", "Caller", "Document", "Nothing", "Page", "Query", "Surface"]

Surface: TypeAlias = Literal["web", "api", "cli", "telegram"]
"""How somebody calls: with the cookie of a browser, with a token, through the hub's socket on this machine, or through
a front end that knows its people itself, and acts for them."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls."""

    name: str
    role: Role
    surface: Surface
    token_id: str | None = None
    """The token that was shown; None for a process of this machine."""
    pid: int | None = None
    """The process, if the kernel told us."""
    passed_on_by: Caller | None = None
    """Whose program it is that acts for them; None for those who call themselves."""

    @property
    def actor(self) -> Actor:
        """The caller as sessions and asks remember them."""
        return Actor(self.name, self.surface, self.pid)

    @property
    def key(self) -> str:
        """Tells callers apart who may have the same name. All for whom a program acts are that program."""
        if self.passed_on_by is not None:
            return self.passed_on_by.key
        return self.token_id or f"{self.surface}:{self.name}"

    def check(self, needed: Role, what: str = "this") -> None:
        """Raise `RoleNeeded` unless the caller has this role."""
        how = f"an owner may give you another one, in the settings of {self.surface}" if self.passed_on_by else ""
        check_role(self.role, needed, what, how=how)


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request carries, as JSON."""


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands behind the question mark of an address."""


class Nothing(Query, frozen=True):
    """No parameters, or a body without fields."""


BodyT = TypeVar("BodyT", bound=msgspec.Struct | None)
QueryT = TypeVar("QueryT", bound=msgspec.Struct)
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Call(Generic[BodyT, QueryT]):
    """One request, decoded. `origin` is the address under which the caller reaches the hub."""

    caller: Caller
    body: BodyT
    query: QueryT
    path: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    address: str = ""
    """Where the caller is, for rate limits."""
    notes: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    """What the call brought into being: as `path`, which names what was there before."""

    @property
    def id(self) -> str:
        """The session that the address names."""
        return self.path["id"]

    def note(self, *words: str | None) -> None:
        """Have this written to the audit log: which of the things that can be done this is. Never what people wrote."""
        self.notes.extend(word for word in words if word)


class Page(msgspec.Struct, Generic[ItemT], frozen=True, kw_only=True):
    """A part of a list; `next` is the `cursor` of the following one."""

    items: list[ItemT]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """An answer that is not JSON, or that needs headers of its own."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
