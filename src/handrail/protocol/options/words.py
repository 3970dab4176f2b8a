"""The words and paths that options are made of."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal, TypeAlias

__all__ = ["Effort", "PermissionMode", "SettingSource", "StrPath", "TokenBy", "TransportKind"]

PermissionMode: TypeAlias = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
SettingSource: TypeAlias = Literal["user", "project", "local"]
StrPath: TypeAlias = str | PurePath
TransportKind: TypeAlias = Literal["stdio", "websocket", "hybrid"]
TokenBy: TypeAlias = Literal["descriptor", "environment"]
