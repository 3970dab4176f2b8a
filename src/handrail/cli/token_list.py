"""Tokens as a table for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.commands.wording import age
from handrail.cli.showing.style import FAILED, QUIET, exact
from handrail.policy.describing.visible import one_line

__all__ = ["token_table"]

COLUMNS = (
    Column("ID"),
    Column("NAME", flexible=True),
    Column("ROLE"),
    Column("KIND", optional=2),
    Column("USED", right=True, optional=1),
    Column("STATE"),
)


def token_table(tokens: Sequence[dict[str, Any]], *, now: float) -> RenderableType:
    """The tokens in columns."""
    return Table(COLUMNS, [_cells(each, now) for each in tokens])


def _cells(token: dict[str, Any], now: float) -> tuple[Text, ...]:
    used = token.get("last_used_at")
    return (
        Text(str(token["id"])),
        exact(one_line(str(token["name"])) or "(no name)"),
        Text(str(token["role"])),
        Text(str(token["kind"])),
        Text(age(now - used) if used else "never"),
        _state(token, now),
    )


def _state(token: dict[str, Any], now: float) -> Text:
    if token.get("revoked_at"):
        return Text("revoked", FAILED)
    expires = token.get("expires_at")
    if expires is None:
        return Text("valid")
    return Text("expired", FAILED) if expires <= now else Text(f"valid for {age(expires - now + 1)}", QUIET)
