"""For whom a program acts: a front end that knows its people itself says in a header who does what they do.

    Handrail-Acting-For: Ann%20Lee; surface=telegram; role=approver

Only an owner's program is believed, and only ever less is allowed than it may do itself. A process that a session has
started is no owner, so Claude cannot answer in anybody's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import unquote

import msgspec

from handrail.server.auth.requests import Headers
from handrail.server.calls import Caller
from handrail.server.problems import Problem
from handrail.server.roles import Role, check_role

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["HEADER", "LONGEST_NAME", "acting"]

HEADER: Final = "handrail-acting-for"
LONGEST_NAME: Final = 100
JOINERS: Final = {0x200C: None, 0x200D: None}
"""Unseen characters that names in some scripts, and some emoji, are written with."""
FORM: Final = "NAME; surface=telegram; role=viewer|approver|owner, with the name percent-encoded"

ActingSurface: TypeAlias = Literal["telegram"]
"""Front ends that know their people themselves."""


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands behind the name."""

    surface: ActingSurface
    role: Role


def acting(caller: Caller, scope: Scope) -> Caller:
    """Who does it: the caller, or whom they act for. Raises `Problem`, or `RoleNeeded` if they may not say so."""
    given = Headers(scope).one(HEADER)
    if given is None:
        return caller
    check_role(caller.role, "owner", "acting for somebody else")
    name, said = _understood(given)
    # An owner may do everything, so whatever role is named is the lesser one.
    return Caller(
        name=name, role=said.role, surface=said.surface, token_id=caller.token_id, pid=caller.pid, passed_on_by=caller
    )


def _understood(header: str) -> tuple[str, _Said]:
    encoded, *pairs = (part.strip() for part in header.split(";"))
    said = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    try:
        name = unquote(encoded, errors="strict")
        words = msgspec.convert(said, _Said)
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise Problem("bad_request", f"the header Handrail-Acting-For is {FORM}: {error}") from None
    if len(said) < len(pairs):
        raise Problem("bad_request", f"the header Handrail-Acting-For is {FORM}: something is there twice")
    if not 0 < len(name) <= LONGEST_NAME or name != name.strip() or not name.translate(JOINERS).isprintable():
        raise Problem("bad_request", f"a name has 1 to {LONGEST_NAME} printable characters, and no spaces around it")
    return name, words
