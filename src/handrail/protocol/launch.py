"""Options → the command line and the `initialize` request of a Claude Code process.

There are two ways to start the CLI:

- `command_line`: the control channel. The prompt, the answers to what the CLI asks and everything large travel on
  standard input. What `initialize` can carry goes there (`initialize_fields`): it does not show in the process list,
  has no length limit, and a CLI that does not know a field ignores it, while an unknown flag ends it.
- `print_command_line`: one prompt on the command line, and nobody to ask. Everything is a flag.

Every value stands behind an equals sign, so whatever it begins with, it cannot become a flag of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from handrail.errors import InvalidOptions
from handrail.protocol.environment import child_environment
from handrail.protocol.options import Effort, Options, PermissionMode, SettingSource, StrPath, is_sdk_server

__all__ = [
    "Effort",
    "Options",
    "PermissionMode",
    "SettingSource",
    "StrPath",
    "child_environment",
    "command_line",
    "initialize_fields",
    "print_command_line",
    "sdk_mcp_servers",
]

Flag: TypeAlias = tuple[str, str | None]
"""A flag's name without dashes, and its value (None: it has none)."""


def command_line(options: Options, cli: Sequence[str]) -> list[str]:
    """The arguments that start `cli` on the control channel; send `initialize_fields` once it runs."""
    channel = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]
    return _fitting(
        [
            *_program(cli),
            *channel,
            *_asked(options.permission_prompt_tool_name),
            *_permission_mode(options),
            *_arguments(_control_flags(options)),
        ],
        "write it to a file and pass the file's path",
    )


def print_command_line(options: Options, cli: Sequence[str], prompt: str) -> list[str]:
    """The arguments that make `cli` answer one prompt and exit, without a control channel.

    There is no `--input-format stream-json`: with it, every version of the CLI ignores a prompt on the command line
    and waits for one on standard input. For the same reason nobody can be asked: what would be asked is denied, unless
    `permission_prompt_tool_name` names an MCP tool.
    """
    _check_prompt(prompt)
    _check_needs_no_channel(options)
    channel = ["-p", "--output-format", "stream-json", "--verbose"]
    tool = options.permission_prompt_tool_name
    return _fitting(
        [
            *_program(cli),
            *channel,
            *_asked(tool if tool != "stdio" else None),
            *_permission_mode(options),
            *_arguments(_print_flags(options)),
            "--",
            prompt,
        ],
        "use the control channel (connect), or write it to a file",
    )


def initialize_fields(options: Options) -> dict[str, Any]:
    """What the options put into the `initialize` request, by wire name. The client adds hooks and MCP servers."""
    prompt = options.system_prompt if isinstance(options.system_prompt, Mapping) else {}
    fields = {
        "systemPrompt": _system_prompt(options),
        "appendSystemPrompt": _appended_prompt(options),
        "excludeDynamicSections": prompt.get("exclude_dynamic_sections"),
        "systemPromptSnapshot": prompt.get("snapshot"),
        "appendSubagentSystemPrompt": options.append_subagent_system_prompt,
        "planModeInstructions": options.plan_mode_instructions,
        "agents": _agents(options),
        # "all" is the CLI's own default: only a list filters.
        "skills": None if options.skills in (None, "all") else list(options.skills or ()),
        "jsonSchema": _json_schema(options),
        "title": options.title,
        "forwardSubagentText": options.forward_subagent_text or None,
        "agentProgressSummaries": options.agent_progress_summaries or None,
        "promptSuggestions": options.prompt_suggestions or None,
    }
    return {name: value for name, value in fields.items() if value is not None} | dict(options.extra_initialize)


def sdk_mcp_servers(options: Options) -> dict[str, Any]:
    """The MCP servers among the options that run in this process: `initialize` names them, `--mcp-config` does not."""
    if not isinstance(options.mcp_servers, Mapping):
        return {}
    return {name: config for name, config in options.mcp_servers.items() if is_sdk_server(config)}


# ---------------------------------------------------------------- arguments


def _program(cli: Sequence[str]) -> list[str]:
    if isinstance(cli, str) or not cli:
        raise InvalidOptions("the CLI must be a list of arguments such as ['claude'] or ['node', 'cli.js']")
    return list(cli)


def _arguments(flags: Iterable[Flag]) -> list[str]:
    return [f"--{name}" if value is None else f"--{name}={value}" for name, value in flags]


LONGEST_ARGUMENT: Final = 128 * 1024 - 1
"""What Linux allows for one argument in bytes, without the terminating NUL."""


def _fitting(arguments: list[str], advice: str) -> list[str]:
    for argument in arguments:
        # A character takes up to four bytes: short arguments need no encoding.
        if len(argument) * 4 > LONGEST_ARGUMENT:
            size = len(argument.encode("utf-8", "surrogateescape"))
            if size > LONGEST_ARGUMENT:
                flag = argument.partition("=")[0] if argument.startswith("--") else "the prompt"
                raise InvalidOptions(
                    f"{flag} is {size} bytes long, and an argument takes at most {LONGEST_ARGUMENT}: {advice}"
                )
    return arguments


def _asked(tool: str | None) -> list[str]:
    """Who is asked for permission. `stdio`: whoever holds the other end of the control channel."""
    return [] if tool is None else ["--permission-prompt-tool", tool]


def _permission_mode(options: Options) -> list[str]:
    """Always passed: what a CLI starts in without it differs by version."""
    mode = "bypassPermissions" if options.dangerously_skip_permissions else options.permission_mode
    return ["--permission-mode", mode]


def _control_flags(options: Options) -> Iterator[Flag]:
    yield from _common_flags(options)
    yield from _switched({"replay-user-messages": options.replay_user_messages})
    yield from options.extra_args.items()


def _print_flags(options: Options) -> Iterator[Flag]:
    prompt = options.system_prompt if isinstance(options.system_prompt, Mapping) else {}
    yield from _common_flags(options)
    yield from _valued(
        {
            "system-prompt": _system_prompt(options),
            "append-system-prompt": _appended_prompt(options),
            "system-prompt-snapshot": _on_or_off(prompt.get("snapshot")),
            "agents": _json(_agents(options)),
            "json-schema": _json(_json_schema(options)),
            "name": options.title,
            "prompt-suggestions": "true" if options.prompt_suggestions else None,
        }
    )
    yield from _switched(
        {
            "exclude-dynamic-system-prompt-sections": prompt.get("exclude_dynamic_sections") is True,
            "forward-subagent-text": options.forward_subagent_text,
        }
    )
    yield from options.extra_args.items()


def _common_flags(options: Options) -> Iterator[Flag]:
    """What both ways to start the CLI pass as flags."""
    yield from _model_flags(options)
    yield from _tool_flags(options)
    yield from _conversation_flags(options)
    yield from _configuration_flags(options)
    yield from _switched(
        {
            "include-partial-messages": options.include_partial_messages,
            "include-hook-events": options.include_hook_events,
            "session-mirror": options.session_mirror,
        }
    )


def _model_flags(options: Options) -> Iterator[Flag]:
    thinking = options.thinking or {}
    yield from _valued(
        {
            "model": options.model,
            "fallback-model": options.fallback_model,
            "effort": options.effort,
            "thinking": thinking.get("type") if thinking.get("type") != "enabled" else None,
            "max-thinking-tokens": thinking.get("budget_tokens", options.max_thinking_tokens),
            "thinking-display": thinking.get("display"),
            "betas": ",".join(options.betas) or None,
            "max-turns": options.max_turns,
            "max-budget-usd": options.max_budget_usd,
            "task-budget": options.task_budget["total"] if options.task_budget is not None else None,
            "system-prompt-file": _system_prompt_file(options),
        }
    )


def _tool_flags(options: Options) -> Iterator[Flag]:
    yield from _valued(
        {
            "allowedTools": ",".join(_allowed_tools(options)) or None,
            "disallowedTools": ",".join(options.disallowed_tools) or None,
            "tools": _tools(options),
        }
    )
    yield from _repeated("add-dir", options.add_dirs)
    yield from _switched(
        {
            "dangerously-skip-permissions": options.dangerously_skip_permissions,
            "allow-dangerously-skip-permissions": options.allow_dangerously_skip_permissions,
        }
    )


def _conversation_flags(options: Options) -> Iterator[Flag]:
    yield from _valued(
        {
            "resume": options.resume,
            "resume-session-at": options.resume_at,
            "resume-drops-turn": options.resume_drops_turn,
            "session-id": options.session_id,
        }
    )
    yield from _switched(
        {
            "continue": options.continue_conversation,
            "fork-session": options.fork_session,
            "no-session-persistence": options.no_session_persistence,
        }
    )


def _configuration_flags(options: Options) -> Iterator[Flag]:
    sources = options.setting_sources
    yield from _valued(
        {
            "settings": _settings(options),
            "setting-sources": ",".join(sources) if sources is not None else None,
            "mcp-config": _mcp_config(options),
        }
    )
    yield from _switched({"strict-mcp-config": options.strict_mcp_config})
    yield from _repeated("plugin-dir", [p["path"] if isinstance(p, Mapping) else p for p in options.plugins])


def _valued(flags: Mapping[str, object]) -> Iterator[Flag]:
    for name, value in flags.items():
        if value is not None:
            yield name, str(value)


def _switched(flags: Mapping[str, bool]) -> Iterator[Flag]:
    for name, on in flags.items():
        if on:
            yield name, None


def _repeated(name: str, values: Iterable[StrPath]) -> Iterator[Flag]:
    for value in values:
        yield name, str(value)


# ---------------------------------------------------------------- values


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _on_or_off(switch: bool | None) -> str | None:
    return None if switch is None else "on" if switch else "off"


def _system_prompt(options: Options) -> str | None:
    prompt = options.system_prompt
    if isinstance(prompt, Mapping):
        return prompt["prompt"] if prompt["type"] == "custom" else None
    return prompt


def _system_prompt_file(options: Options) -> str | None:
    prompt = options.system_prompt
    return str(prompt["path"]) if isinstance(prompt, Mapping) and prompt["type"] == "file" else None


def _appended_prompt(options: Options) -> str | None:
    prompt = options.system_prompt
    if isinstance(prompt, Mapping) and "append" in prompt:
        appended: str = prompt["append"]
        return appended
    return options.append_system_prompt


def _agents(options: Options) -> dict[str, Any] | None:
    """Agent definitions as the wire has them; dataclasses such as the SDK's `AgentDefinition` are welcome."""
    if options.agents is None:
        return None
    definitions = {name: msgspec.to_builtins(agent) for name, agent in options.agents.items()}
    return {name: {key: v for key, v in agent.items() if v is not None} for name, agent in definitions.items()}


def _json_schema(options: Options) -> dict[str, Any] | None:
    return dict(options.output_format["schema"]) if options.output_format is not None else None


def _allowed_tools(options: Options) -> list[str]:
    """The allow rules, with one for each skill that is switched on: a skill that must be asked for is not on."""
    skills: Sequence[str] = ()
    if options.skills == "all":
        skills = ("Skill",)
    elif options.skills is not None:
        skills = [f"Skill({name})" for name in options.skills]
    return [*options.allowed_tools, *(rule for rule in skills if rule not in options.allowed_tools)]


def _tools(options: Options) -> str | None:
    if options.tools is None:
        return None
    return "default" if isinstance(options.tools, Mapping) else ",".join(options.tools)


def _settings(options: Options) -> str | None:
    settings = options.settings
    if isinstance(settings, Mapping) or options.sandbox is not None:
        merged = dict(settings) if isinstance(settings, Mapping) else {}
        return _json(merged if options.sandbox is None else {**merged, "sandbox": options.sandbox})
    return None if settings is None else str(settings)


def _mcp_config(options: Options) -> str | None:
    servers = options.mcp_servers
    if not isinstance(servers, Mapping):
        return str(servers)
    external = {name: config for name, config in servers.items() if not is_sdk_server(config)}
    return _json({"mcpServers": external}) if external else None


# ---------------------------------------------------------------- what printing cannot do


def _check_prompt(prompt: str) -> None:
    if not isinstance(prompt, str) or not prompt:
        raise InvalidOptions("the prompt must be text, and not empty")
    if "\0" in prompt:
        raise InvalidOptions("the prompt contains a NUL character, which no argument can carry: remove it")


def _check_needs_no_channel(options: Options) -> None:
    needing = {
        "skills": options.skills not in (None, "all"),
        "append_subagent_system_prompt": options.append_subagent_system_prompt is not None,
        "plan_mode_instructions": options.plan_mode_instructions is not None,
        "agent_progress_summaries": options.agent_progress_summaries,
        "replay_user_messages": options.replay_user_messages,
        "extra_initialize": bool(options.extra_initialize),
        "mcp_servers of type sdk": bool(sdk_mcp_servers(options)),
        f"transport={options.transport!r}": options.transport != "stdio",
    }
    if names := ", ".join(name for name, needed in needing.items() if needed):
        raise InvalidOptions(f"{names} can only be had on the control channel: use connect(), or leave it out")
