"""Loading plugins, skills and output styles anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import Payload, Request
from handrail.protocol.control.conversation import AgentInfo, SlashCommand
from handrail.protocol.control.mcp import McpServerStatus

__all__ = [
    "CacheImpact",
    "OutputStylesReloaded",
    "PluginInfo",
    "PluginsReloaded",
    "ReloadOutputStyles",
    "ReloadPlugins",
    "ReloadSkills",
    "SkillsReloaded",
]


class PluginInfo(Payload):
    name: str = ""
    path: str = ""
    source: str | None = None
    version: str | None = None


class CacheImpact(Payload):
    mcp_servers_added: tuple[str, ...] = ()
    mcp_servers_removed: tuple[str, ...] = ()
    lsp_tool_change: Literal["adds", "may-add", "removes", "may-remove"] | str | None = None


class PluginsReloaded(Payload):
    commands: tuple[SlashCommand, ...] = ()
    agents: tuple[AgentInfo, ...] = ()
    plugins: tuple[PluginInfo, ...] = ()
    mcp_servers: tuple[McpServerStatus, ...] = field(default=(), name="mcpServers")
    error_count: int = 0
    held: bool = False
    cache_impact: CacheImpact | None = None


class ReloadPlugins(Request[PluginsReloaded], tag="reload_plugins"):
    since = "2.1.120"
    hold_on_cache_impact: bool | UnsetType = UNSET
    add_plugins: Sequence[Mapping[str, Any]] | UnsetType = UNSET
    refuse_if_busy: bool | UnsetType = UNSET


class SkillsReloaded(Payload):
    skills: tuple[SlashCommand, ...] = ()


class ReloadSkills(Request[SkillsReloaded], tag="reload_skills"):
    since = "2.1.197"


class OutputStylesReloaded(Payload):
    available_output_styles: tuple[str, ...] = ()


class ReloadOutputStyles(Request[OutputStylesReloaded], tag="reload_output_styles"):
    since = "2.1.325"
