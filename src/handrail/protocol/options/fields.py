"""What each option may be, one at a time: `FIELD_CHECKS` has a check for every one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final, get_args

import msgspec

from handrail.errors import InvalidOptions
from handrail.protocol.options.checks import (
    Check,
    amount,
    checked_kind,
    header,
    json_object,
    mapping,
    needs,
    one_of,
    optional,
    path,
    prose,
    sequence,
    switch,
    text,
    uuid,
    whole_number,
    wrong_type,
)
from handrail.protocol.options.flags import FLAGS_TAKEN
from handrail.protocol.options.words import Effort, PermissionMode, SettingSource, TokenBy, TransportKind

__all__ = ["FIELD_CHECKS", "is_sdk_server"]


def _tool_name(name: str, value: Any) -> None:
    text(name, value)
    if value.startswith("-"):
        raise InvalidOptions(f"{name} must be the name of a tool, not {value!r}")


def _rule(name: str, value: Any) -> None:
    """A permission rule such as `Read` or `Bash(git log *)`.

    The CLI splits its list of rules at commas outside parentheses, so a rule that ends inside one swallows those
    that follow it: with `Bash(rm` and `WebFetch` both disallowed, both are allowed.
    """
    text(name, value)
    if value.rfind("(") > value.rfind(")"):
        raise InvalidOptions(f"{name} opens a parenthesis and does not close it: {value!r}")


def _skill(name: str, value: Any) -> None:
    """The exact name of a skill: it becomes the rule `Skill(name)`, where some characters would mean something else."""
    text(name, value)
    if not re.fullmatch(r"[^\s(),*\\/\x00-\x1f\x7f-\x9f\ufeff]([^(),*\\\x00-\x1f\x7f-\x9f\ufeff]*\S)?", value):
        raise InvalidOptions(
            f"{name} must be the exact name of a skill, `name` or `plugin:name`, not {value!r}; "
            'for every skill, write skills="all"'
        )


def _skills(name: str, value: Any) -> None:
    if value != "all":
        sequence(_skill, 'skill names, or "all"')(name, value)


def _tools(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        sequence(text, "tool names, or the preset claude_code")(name, value)
    elif value != {"type": "preset", "preset": "claude_code"}:
        raise InvalidOptions(f'{name} must be a list of tool names or {{"type": "preset", "preset": "claude_code"}}')


_PROMPT_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "preset": {
        "preset": one_of("claude_code"),
        "append": prose,
        "exclude_dynamic_sections": switch,
        "snapshot": switch,
    },
    "custom": {"prompt": prose, "snapshot": switch},
    "file": {"path": path},
}
_PROMPT_NEEDS: Final = {"preset": "preset", "custom": "prompt", "file": "path"}


def _system_prompt(name: str, value: Any) -> None:
    if isinstance(value, str):
        prose(name, value)
        return
    if not isinstance(value, Mapping):
        raise wrong_type(name, "a string or a mapping", value)
    needs(name, value, _PROMPT_NEEDS[checked_kind(name, value, _PROMPT_KINDS)])


_DISPLAY: Final = one_of("summarized", "omitted")
_THINKING_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "adaptive": {"display": _DISPLAY},
    "enabled": {"budget_tokens": whole_number(1), "display": _DISPLAY},
    "disabled": {},
}


def _thinking(name: str, value: Any) -> None:
    mapping(name, value)
    if checked_kind(name, value, _THINKING_KINDS) == "enabled":
        needs(name, value, "budget_tokens")


def _output_format(name: str, value: Any) -> None:
    json_object(name, value)
    checked_kind(name, value, {"json_schema": {"schema": json_object}})
    needs(name, value, "schema")


def _task_budget(name: str, value: Any) -> None:
    mapping(name, value)
    needs(name, value, "total")
    whole_number(1)(f"{name}['total']", value["total"])


def _agents(name: str, value: Any) -> None:
    mapping(name, value)
    for agent, definition in value.items():
        where = f"{name}[{agent!r}]"
        try:
            fields = msgspec.to_builtins(definition)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidOptions(f"{where} cannot be written as JSON: {error}") from error
        mapping(where, fields)
        needs(where, fields, "description", "prompt")


def _mcp_servers(name: str, value: Any) -> None:
    if isinstance(value, (str, PurePath)):
        path(name, value)
        return
    mapping(name, value)
    for server, config in value.items():
        if not is_sdk_server(config):
            json_object(f"{name}[{server!r}]", config)


def is_sdk_server(config: object) -> bool:
    """Whether an entry of `mcp_servers` runs in this process: a mapping or an object whose `type` is "sdk"."""
    kind = config.get("type") if isinstance(config, Mapping) else getattr(config, "type", None)
    return kind == "sdk"


def _plugin(name: str, value: Any) -> None:
    if isinstance(value, Mapping):
        checked_kind(name, value, {"local": {"path": path}})
        needs(name, value, "path")
    else:
        path(name, value)


def _settings(name: str, value: Any) -> None:
    (json_object if isinstance(value, Mapping) else path)(name, value)


def _environment(name: str, value: Any) -> None:
    mapping(name, value)
    for variable, setting in value.items():
        text(f"each name in {name}", variable)
        if "=" in variable:
            raise InvalidOptions(f"{name} has a name with an equals sign: {variable!r}")
        prose(f"{name}[{variable!r}]", setting)


def _extra_args(name: str, value: Any) -> None:
    mapping(name, value)
    for flag, argument in value.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", flag):
            raise InvalidOptions(f"{name} takes names of flags without dashes in front, such as 'debug', not {flag!r}")
        if flag in FLAGS_TAKEN:
            raise InvalidOptions(f"{name} must not set {flag!r}: {FLAGS_TAKEN[flag]}")
        if argument is not None:
            prose(f"{name}[{flag!r}]", argument)


def _extra_initialize(name: str, value: Any) -> None:
    json_object(name, value)
    for key in ("subtype", "hooks", "sdkMcpServers"):
        if key in value:
            raise InvalidOptions(f"{name} must not set {key!r}: pass hooks and tools to connect() instead")


FIELD_CHECKS: Final[Mapping[str, Check]] = {
    "cwd": optional(path),
    "cli_path": optional(path),
    "env": _environment,
    "use_api_billing": switch,
    "client_app": optional(prose),
    "extra_args": _extra_args,
    "extra_initialize": _extra_initialize,
    "transport": one_of(*get_args(TransportKind)),
    "access_token_by": one_of(*get_args(TokenBy)),
    "runner_version": optional(header),
    "remote_session_id": optional(header),
    "container_id": optional(header),
    "model": optional(text),
    "fallback_model": optional(text),
    "effort": optional(one_of(*get_args(Effort))),
    "thinking": optional(_thinking),
    "max_thinking_tokens": optional(whole_number(0)),
    "betas": sequence(text, "names of betas"),
    "max_turns": optional(whole_number(1)),
    "max_budget_usd": optional(amount),
    "task_budget": optional(_task_budget),
    "output_format": optional(_output_format),
    "system_prompt": optional(_system_prompt),
    "append_system_prompt": optional(prose),
    "append_subagent_system_prompt": optional(prose),
    "plan_mode_instructions": optional(prose),
    "agents": optional(_agents),
    "skills": optional(_skills),
    "permission_mode": one_of(*get_args(PermissionMode)),
    "permission_prompt_tool_name": optional(_tool_name),
    "dangerously_skip_permissions": switch,
    "allow_dangerously_skip_permissions": switch,
    "allowed_tools": sequence(_rule, "tools and rules"),
    "disallowed_tools": sequence(_rule, "tools and rules"),
    "tools": optional(_tools),
    "add_dirs": sequence(path, "paths"),
    "sandbox": optional(json_object),
    "continue_conversation": switch,
    "resume": optional(text),
    "resume_at": optional(text),
    "resume_drops_turn": optional(text),
    "fork_session": switch,
    "session_id": optional(uuid),
    "title": optional(text),
    "no_session_persistence": switch,
    "enable_file_checkpointing": switch,
    "include_partial_messages": switch,
    "include_hook_events": switch,
    "replay_user_messages": switch,
    "forward_subagent_text": switch,
    "agent_progress_summaries": switch,
    "prompt_suggestions": switch,
    "session_mirror": switch,
    "settings": optional(_settings),
    "setting_sources": optional(sequence(one_of(*get_args(SettingSource)), "user, project, local")),
    "mcp_servers": _mcp_servers,
    "strict_mcp_config": switch,
    "plugins": sequence(_plugin, "paths of plugins"),
}
