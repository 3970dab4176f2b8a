"""Who may do what: three roles, each of which may do all that the one before it may."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from handrail.errors import HandrailError

__all__ = ["ROLES", "Role", "RoleNeeded", "check_role", "suffices"]

Role: TypeAlias = Literal["viewer", "approver", "owner"]

ROLES: Final[dict[Role, str]] = {
    "viewer": "reads everything",
    "approver": "also answers what is asked, as it is asked; sends messages and interrupts",
    "owner": "also starts, stops and deletes sessions, adds rules, edits inputs, changes modes, policies and tokens",
}
"""Every role, the least first, and what it may do."""

_RANKS: Final = {role: rank for rank, role in enumerate(ROLES)}


class RoleNeeded(HandrailError):
    """Whoever called may not do this: `needed` is the least role that may."""

    def __init__(self, message: str, *, needed: Role) -> None:
        super().__init__(message)
        self.needed = needed


def suffices(role: Role, needed: Role) -> bool:
    """Whether `role` may do what needs `needed`."""
    return _RANKS[role] >= _RANKS[needed]


def check_role(role: Role, needed: Role, what: str = "this", *, how: str = "") -> None:
    """Raise `RoleNeeded` unless `role` may do what needs `needed`; `how` says where another role is to be had."""
    if not suffices(role, needed):
        how = how or f"`handrail token new NAME --role {needed}` makes a token that has it"
        raise RoleNeeded(f"{what} needs the role {needed}, and yours is {role}: {how}", needed=needed)
