"""Flags of the CLI that `extra_args` may not set, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["FLAGS_TAKEN"]

_FIELD_OF_FLAG: Final = {
    "add-dir": "add_dirs",
    "agents": "agents",
    "allow-dangerously-skip-permissions": "allow_dangerously_skip_permissions",
    "allowed-tools": "allowed_tools",
    "allowedTools": "allowed_tools",
    "append-system-prompt": "append_system_prompt",
    "betas": "betas",
    "continue": "continue_conversation",
    "dangerously-skip-permissions": "dangerously_skip_permissions",
    "disallowed-tools": "disallowed_tools",
    "disallowedTools": "disallowed_tools",
    "effort": "effort",
    "exclude-dynamic-system-prompt-sections": "system_prompt",
    "fallback-model": "fallback_model",
    "fork-session": "fork_session",
    "forward-subagent-text": "forward_subagent_text",
    "include-hook-events": "include_hook_events",
    "include-partial-messages": "include_partial_messages",
    "json-schema": "output_format",
    "max-budget-usd": "max_budget_usd",
    "max-thinking-tokens": "max_thinking_tokens",
    "max-turns": "max_turns",
    "mcp-config": "mcp_servers",
    "model": "model",
    "name": "title",
    "no-session-persistence": "no_session_persistence",
    "permission-mode": "permission_mode",
    "permission-prompt-tool": "permission_prompt_tool_name",
    "plugin-dir": "plugins",
    "prompt-suggestions": "prompt_suggestions",
    "replay-user-messages": "replay_user_messages",
    "resume": "resume",
    "resume-drops-turn": "resume_drops_turn",
    "resume-session-at": "resume_at",
    "session-id": "session_id",
    "session-mirror": "session_mirror",
    "setting-sources": "setting_sources",
    "settings": "settings",
    "strict-mcp-config": "strict_mcp_config",
    "system-prompt": "system_prompt",
    "system-prompt-file": "system_prompt",
    "system-prompt-snapshot": "system_prompt",
    "task-budget": "task_budget",
    "thinking": "thinking",
    "thinking-display": "thinking",
    "tools": "tools",
}
_FLAGS_OF_THE_CHANNEL: Final = ("print", "output-format", "input-format", "verbose")

FLAGS_TAKEN: Final[Mapping[str, str]] = {
    **{flag: f"set {field} instead" for flag, field in _FIELD_OF_FLAG.items()},
    **dict.fromkeys(_FLAGS_OF_THE_CHANNEL, "Handrail sets it, because it reads what the CLI then writes"),
    "sdk-url": "set transport instead, and Handrail serves the address that the CLI connects to",
}
"""Flags that have an option of their own, or that Handrail itself needs: what to do instead."""
