"""What fills the context window."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from handrail.protocol.control.base import Payload, Request

__all__ = [
    "ApiUsage",
    "ColdResumeQuota",
    "ContextAgent",
    "ContextCategory",
    "ContextGridSquare",
    "ContextItem",
    "ContextMcpInstructions",
    "ContextMcpTool",
    "ContextSkill",
    "ContextSkills",
    "ContextSlashCommands",
    "ContextUsage",
    "GetContextUsage",
    "MemoryFile",
    "MessageBreakdown",
    "ToolCallTokens",
]


class ContextCategory(Payload, rename="camel"):
    id: str | None = None
    name: str = ""
    tokens: int = 0
    color: str = ""
    is_deferred: bool = False
    kind: Literal["used", "free", "buffer", "deferred"] | str | None = None


class ContextGridSquare(Payload, rename="camel"):
    color: str = ""
    is_filled: bool = False
    category_name: str = ""
    tokens: int = 0
    percentage: float = 0.0
    square_fullness: float = 0.0


class MemoryFile(Payload):
    path: str = ""
    type: str = ""
    tokens: int = 0


class ContextMcpTool(Payload, rename="camel"):
    name: str = ""
    server_name: str = ""
    tokens: int = 0
    is_loaded: bool | None = None


class ContextMcpInstructions(Payload, rename="camel"):
    server_name: str = ""
    tokens: int = 0


class ContextItem(Payload, rename="camel"):
    name: str = ""
    tokens: int = 0
    is_loaded: bool | None = None


class ContextAgent(Payload, rename="camel"):
    agent_type: str = ""
    source: str = ""
    plugin_id: str | None = None
    path: str | None = None
    tokens: int = 0


class ContextSlashCommands(Payload, rename="camel"):
    total_commands: int = 0
    included_commands: int = 0
    tokens: int = 0


class ContextSkill(Payload, rename="camel"):
    name: str = ""
    source: str = ""
    plugin_name: str | None = None
    plugin_id: str | None = None
    path: str | None = None
    tokens: int = 0


class ContextSkills(Payload, rename="camel"):
    total_skills: int = 0
    included_skills: int = 0
    tokens: int = 0
    skill_frontmatter: tuple[ContextSkill, ...] = ()


class ToolCallTokens(Payload, rename="camel"):
    name: str = ""
    call_tokens: int = 0
    result_tokens: int = 0


class MessageBreakdown(Payload, rename="camel"):
    tool_call_tokens: int = 0
    tool_result_tokens: int = 0
    attachment_tokens: int = 0
    assistant_message_tokens: int = 0
    user_message_tokens: int = 0
    redirected_context_tokens: int = 0
    unattributed_tokens: int = 0
    tool_calls_by_type: tuple[ToolCallTokens, ...] = ()
    attachments_by_type: tuple[ContextItem, ...] = ()


class ApiUsage(Payload):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class ColdResumeQuota(Payload, rename="camel"):
    percent_per_million_tokens: float = 0.0
    min_percent: float = 0.0


class ContextUsage(Payload, rename="camel"):
    categories: tuple[ContextCategory, ...] = ()
    total_tokens: int = 0
    max_tokens: int = 0
    raw_max_tokens: int = 0
    percentage: float = 0.0
    grid_rows: tuple[tuple[ContextGridSquare, ...], ...] = ()
    model: str = ""
    memory_files: tuple[MemoryFile, ...] = ()
    mcp_tools: tuple[ContextMcpTool, ...] = ()
    mcp_instructions: tuple[ContextMcpInstructions, ...] = ()
    deferred_builtin_tools: tuple[ContextItem, ...] = ()
    system_tools: tuple[ContextItem, ...] = ()
    system_prompt_sections: tuple[ContextItem, ...] = ()
    agents: tuple[ContextAgent, ...] = ()
    slash_commands: ContextSlashCommands | None = None
    skills: ContextSkills | None = None
    auto_compact_threshold: int | None = None
    autocompact_source: str | None = None
    is_auto_compact_enabled: bool = False
    message_breakdown: MessageBreakdown | None = None
    api_usage: ApiUsage | None = None
    cold_resume_quota: ColdResumeQuota | None = None


class GetContextUsage(Request[ContextUsage], tag="get_context_usage"):
    since = "2.1.120"
    detail: Literal["summary", "full"] | UnsetType = UNSET
