"""Where and how a tool call is made: what a verdict depends on besides the rules and the call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from handrail.policy.files import Disk, Files

__all__ = ["MODES", "SOURCES", "Situation", "Source"]

Source: TypeAlias = Literal["settings", "allowedTools", "user", "project", "local"]
"""Where the rules came from: `/x` in a path rule is relative to that place."""

SOURCES: tuple[Source, ...] = ("settings", "allowedTools", "user", "project", "local")

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto")
"""The CLI's permission modes."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The session around a call. `cwd`, `home` and `add_dirs` are absolute."""

    cwd: str
    home: str
    mode: str = "default"
    add_dirs: tuple[str, ...] = ()
    source: Source = "settings"
    files: Files = field(default_factory=Disk)
