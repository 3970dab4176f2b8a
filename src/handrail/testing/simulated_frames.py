"""What a given Claude Code version puts on the wire: templates and habits for the simulated CLI.

A template is a frame in which strings such as `"$uuid"` stand for values that the running simulation fills in.
A habit is a difference in behaviour between versions. Both are plain data, so that the simulation itself
(`simulated_process`) knows no version. The thresholds are the versions on which each difference was seen.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["DEFAULT_VERSION", "profile"]

DEFAULT_VERSION: Final = "2.1.325"

Version = tuple[int, ...]
Json = dict[str, Any]


def profile(version: str) -> Json:
    """Everything the simulation needs to pass for Claude Code `version`."""
    number = _parse(version)
    return {
        "version": version,
        "model": _model(number),
        "habits": _habits(number),
        "frames": _frames(number),
        "control": _control_bodies(number),
        "errors": _control_errors(number),
    }


def _parse(version: str) -> Version:
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise ValueError(f"a Claude Code version looks like {DEFAULT_VERSION}, not {version!r}") from None


def _model(version: Version) -> str:
    if version >= (2, 1, 250):
        return "claude-opus-5-5"
    if version >= (2, 1, 197):
        return "claude-opus-4-8"
    return "claude-sonnet-4-6" if version >= (2, 1, 62) else "claude-sonnet-4-5-20250929"


def _habits(version: Version) -> dict[str, bool]:
    return {
        "merges_queued_messages": version >= (2, 1, 100),
        "reports_lifecycle": version >= (2, 1, 250),
        "names_user_messages": version >= (2, 1, 250),
        "lists_still_queued": version >= (2, 1, 250),
        "answers_unknown_requests": version > (2, 1, 37),
        "codes_errors": version >= (2, 1, 325),
        "confirms_mode_twice": version <= (2, 1, 37),
        "checks_mode": version >= (2, 1, 325),
        "refuses_bypass": version >= (2, 1, 100),
        "returns_model": version >= (2, 1, 250),
        "initializes_again": version >= (2, 1, 197),
        "dies_of_unknown_types": version <= (2, 1, 37),
        "names_tools_in_asks": version >= (2, 1, 100),
        "describes_asks": version >= (2, 1, 120),
        "needs_updated_input": version < (2, 1, 250),
        "explains_tool_results": version >= (2, 1, 250),
        "rejects_in_stock_words": version >= (2, 1, 197),
        "keeps_partial_text": version >= (2, 1, 120),
        "marks_aborted_text": version >= (2, 1, 250),
        "reports_sigint": version >= (2, 1, 120),
        "keeps_bad_lines_private": version >= (2, 1, 250),
    }


# Frames


def _frames(version: Version) -> Json:
    return {
        "init": _init(version),
        "assistant": _assistant(version),
        "user": _user(version),
        "success": _success(version),
        "interrupted": _interrupted(version),
        "lifecycle": {
            "type": "command_lifecycle",
            "command_uuid": "$command_uuid",
            "state": "$state",
            "uuid": "$uuid",
            "session_id": "$session",
        },
        "status": {
            "type": "system",
            "subtype": "status",
            "status": None,
            "permissionMode": "$mode",
            "uuid": "$uuid",
            "session_id": "$session",
        },
        "requesting": {
            "type": "system",
            "subtype": "status",
            "status": "requesting",
            "session_id": "$session",
            "uuid": "$uuid",
        },
        "title": {
            "type": "system",
            "subtype": "session_title_changed",
            "title": "$title",
            "uuid": "$uuid",
            "session_id": "$session",
        },
        "stream": {
            "type": "stream_event",
            "event": "$event",
            "session_id": "$session",
            "parent_tool_use_id": None,
            "uuid": "$uuid",
        },
        "message_start": {
            "id": "$message_id",
            "type": "message",
            "role": "assistant",
            "model": "$model",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _message_usage(),
        },
    }


_OLD_TOOLS = """
    Task TaskOutput Bash Glob Grep ExitPlanMode Read Edit Write NotebookEdit WebFetch TodoWrite WebSearch TaskStop
    AskUserQuestion Skill EnterPlanMode ToolSearch
"""
_TOOLS = """
    Task AskUserQuestion Bash CronCreate CronDelete CronList Edit EnterPlanMode EnterWorktree ExitPlanMode
    ExitWorktree ListAgents Monitor NotebookEdit Read ReportFindings ScheduleWakeup SendMessage Skill TaskStop
    ToolSearch WebFetch WebSearch Workflow Write
"""
_OLD_COMMANDS = "debug compact context cost init pr-comments release-notes review security-review insights"
_COMMANDS = "update-config debug code-review simplify loop clear compact config context init model usage recap"
_CAPABILITIES = """
    interrupt_receipt_v1 interrupt_cancel_queued_v1 interrupt_send_now_v1 msg_lifecycle_v1
    request_marker_lists_v1 ask_user_question_unanswered_v1 sdk_mcp_tools_list_changed sdk_mcp_manifests
    mcp_read_resource_v1
"""


def _init(version: Version) -> Json:
    modern = version >= (2, 1, 120)
    frame: Json = {
        "type": "system",
        "subtype": "init",
        "cwd": "$cwd",
        "session_id": "$session",
        "tools": (_TOOLS if modern else _OLD_TOOLS).split(),
        "mcp_servers": "$mcp_servers",
        "model": "$model",
        "permissionMode": "$mode",
        "slash_commands": (_COMMANDS if modern else _OLD_COMMANDS).split(),
        "apiKeySource": "ANTHROPIC_API_KEY",
        "claude_code_version": "$version",
        "output_style": "default",
        "agents": ["general-purpose", "statusline-setup", "Explore", "Plan"],
        "skills": ["debug"],
        "plugins": [],
        "uuid": "$uuid",
    }
    if modern:
        frame |= {"analytics_disabled": True, "fast_mode_state": "off"}
    if version >= (2, 1, 250):
        frame |= {
            "capabilities": _CAPABILITIES.split(),
            "original_cwd": "$cwd",
            "additional_directories": [],
            "fast_mode_disabled_reason": "sdk_opt_in_required",
            "view_mode": "default",
        }
    return frame


def _assistant(version: Version) -> Json:
    frame: Json = {
        "type": "assistant",
        "message": {
            "id": "$message_id",
            "type": "message",
            "role": "assistant",
            "model": "$model",
            "content": "$content",
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _message_usage(),
            "context_management": None,
        },
        "parent_tool_use_id": "$parent",
        "session_id": "$session",
        "uuid": "$uuid",
    }
    return frame | {"timestamp": "$now"} if version >= (2, 1, 250) else frame


def _user(version: Version) -> Json:
    frame: Json = {
        "type": "user",
        "message": {"role": "user", "content": "$content"},
        "parent_tool_use_id": "$parent",
        "session_id": "$session",
        "uuid": "$uuid",
    }
    return frame | {"timestamp": "$now"} if version >= (2, 1, 120) else frame


def _success(version: Version) -> Json:
    frame: Json = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": "$elapsed_ms",
        "duration_api_ms": "$elapsed_ms",
        "num_turns": "$rounds",
        "result": "$said",
        "stop_reason": "end_turn" if version >= (2, 1, 100) else None,
        "session_id": "$session",
        "total_cost_usd": 0.00044,
        "usage": _usage(),
        "modelUsage": "$model_usage",
        "permission_denials": "$denials",
        "uuid": "$uuid",
    }
    if version >= (2, 1, 120):
        frame |= {"api_error_status": None, "terminal_reason": "completed", "fast_mode_state": "off"}
    return _with_type_inside(frame) if version >= (2, 1, 250) else frame


def _interrupted(version: Version) -> Json:
    frame: Json = {
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": "$elapsed_ms",
        "duration_api_ms": 0,
        "is_error": version >= (2, 1, 100),
        "num_turns": "$rounds",
        "stop_reason": "$stop_reason" if version >= (2, 1, 100) else None,
        "session_id": "$session",
        "total_cost_usd": 0,
        "usage": _usage(),
        "modelUsage": {},
        "permission_denials": "$denials",
        "uuid": "$uuid",
        "errors": ["$diagnostic"] if version >= (2, 1, 120) else [],
    }
    if version >= (2, 1, 120):
        frame |= {"terminal_reason": "$terminal_reason", "fast_mode_state": "off"}
    return _with_type_inside(frame) if version >= (2, 1, 250) else frame


def _with_type_inside(frame: Json) -> Json:
    """From 2.1.250 on, results do not start with their type, which a reader must not rely on."""
    rest = {name: value for name, value in frame.items() if name != "type"}
    return rest | {"type": frame["type"], "queued_turn_count": 0, "result_index": "$result_index"}


def _message_usage() -> Json:
    return {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def _usage() -> Json:
    return {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 20,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }


# Answers to control requests


def _control_bodies(version: Version) -> Json:
    """The body that answers each control request this version knows; None where the answer has no body."""
    return {subtype: body for subtype, (since, body) in _control_table(version).items() if version >= (2, 1, since)}


def _control_table(version: Version) -> dict[str, tuple[int, Json | None]]:
    return {
        "initialize": (0, _initialized(version)),
        "interrupt": (0, None),
        "set_permission_mode": (0, None),
        "set_model": (0, None),
        "set_max_thinking_tokens": (0, None),
        "mcp_status": (0, None),
        "mcp_set_servers": (0, None),
        "mcp_toggle": (0, None),
        "mcp_reconnect": (0, None),
        "mcp_message": (0, None),
        "rewind_files": (0, {"canRewind": False, "error": "File rewinding is not enabled."}),
        "apply_flag_settings": (62, None),
        "stop_task": (62, {}),
        "end_session": (100, None),
        "get_context_usage": (120, _context_usage()),
        "get_settings": (
            120,
            {"effective": {}, "sources": [], "applied": {"model": "$model", "effort": "medium"}},
        ),
        "get_binary_version": (120, {"version": "$version", "buildTime": "2026-01-01T00:00:00Z"}),
        "get_session_cost": (120, {"text": "Total cost:            $0.0004"}),
        "cancel_async_message": (120, None),
        "seed_read_state": (120, None),
        "reload_plugins": (
            120,
            {"commands": [], "agents": [], "plugins": [], "mcpServers": [], "error_count": 0},
        ),
        "generate_session_title": (120, {"title": None}),
        "side_question": (120, {"response": "From the simulated CLI.", "synthetic": False}),
        "get_usage": (197, _session_usage()),
        "file_suggestions": (197, {"suggestions": [], "cwd": "$cwd"}),
        "rename_session": (197, None),
        "reload_skills": (197, {"skills": []}),
        "background_tasks": (197, {}),
        "list_models": (325, {"models": _models()}),
        "list_permission_rules": (
            325,
            {"state": {"rules": [], "workspaceDirectories": [], "originalCwd": "$cwd", "managedOnly": False}},
        ),
        "get_hooks_listing": (325, {"events": [], "hooks": [], "eventCatalog": [], "policy": _hook_policy()}),
        "register_repo_root": (325, {"directory": "$cwd"}),
        "reload_output_styles": (325, {"available_output_styles": ["default"]}),
        "set_color": (325, None),
        "set_has_subscribers": (325, None),
        "update_settings": (325, None),
    }


def _control_errors(version: Version) -> dict[str, str]:
    """Requests this version knows and refuses, because what they ask for does not exist in a simulation."""
    errors: dict[str, tuple[int, str]] = {
        "read_file": (120, "read denied: no such file"),
        "mcp_call": (120, "Not a fully-qualified MCP tool name"),
        "get_task_output": (
            325,
            "get_task_output: no shell or Monitor task with that task_id in this session",
        ),
        "mcp_read_resource": (325, "Server not found"),
    }
    known = {subtype: text for subtype, (since, text) in errors.items() if version >= (2, 1, since)}
    if (2, 1, 62) <= version < (2, 1, 197):
        known["stop_task"] = "No task found"
    return known


def _initialized(version: Version) -> Json:
    body: Json = {
        "commands": [
            {"name": name, "description": f"The {name} command", "argumentHint": ""} for name in _COMMANDS.split()[:4]
        ],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": _models(),
        "account": {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"},
    }
    if version >= (2, 1, 62):
        body |= {"pid": "$pid"}
    if version >= (2, 1, 120):
        body |= {"agents": [{"name": "general-purpose", "description": "General-purpose agent"}]}
    if version >= (2, 1, 250):
        body |= {
            "claude_code_version": "$version",
            "current_permission_mode": "$mode",
            "hooks_applied": True,
            "fast_mode_state": "off",
            "session_state": "idle",
            "capabilities": ["mcp_call_check_permissions_v1"],
        }
    return body


def _models() -> list[Json]:
    return [
        {"value": "default", "displayName": "Default (recommended)", "description": "Use the default model"},
        {"value": "opus", "displayName": "Opus", "description": "For complex work"},
        {"value": "haiku", "displayName": "Haiku", "description": "For quick answers"},
    ]


def _context_usage() -> Json:
    return {
        "categories": [
            {
                "id": "system_prompt",
                "name": "System prompt",
                "tokens": 900,
                "color": "promptBorder",
                "kind": "used",
            },
            {
                "id": "free_space",
                "name": "Free space",
                "tokens": 999100,
                "color": "promptBorder",
                "kind": "free",
            },
        ],
        "totalTokens": 900,
        "maxTokens": 1000000,
        "rawMaxTokens": 1000000,
        "percentage": 0,
        "gridRows": [],
        "model": "$model",
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "isAutoCompactEnabled": True,
        "apiUsage": _message_usage(),
    }


def _session_usage() -> Json:
    return {
        "session": {
            "total_cost_usd": 0.00044,
            "total_api_duration_ms": 41,
            "total_duration_ms": 1412,
            "total_lines_added": 0,
            "total_lines_removed": 0,
            "model_usage": "$model_usage",
        },
        "subscription_type": None,
        "rate_limits_available": False,
        "rate_limits": None,
        "behaviors": None,
    }


def _hook_policy() -> Json:
    return {
        "disabledByPolicy": False,
        "managedOnly": False,
        "pluginOnly": False,
        "allDisabled": False,
        "policyHookCount": 0,
    }
