"""Says to a hub for whom something is done, in the header that it believes owners."""

from __future__ import annotations

from typing import Literal, TypeAlias
from urllib.parse import quote

__all__ = ["ActingSurface", "Role", "acting_header"]

Role: TypeAlias = Literal["viewer", "approver", "owner"]
"""What a hub lets somebody do."""
ActingSurface: TypeAlias = Literal["telegram"]
"""Front ends that know their people themselves."""


def acting_header(name: str, surface: ActingSurface, role: Role) -> str:
    """Who does it, through what, and what they may do."""
    return f"{quote(name, safe='')}; surface={surface}; role={role}"
