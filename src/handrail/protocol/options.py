"""What a Claude Code process is started with, as one frozen struct that refuses contradictions.

Names follow `ClaudeAgentOptions` of claude-agent-sdk where it has one. `handrail.protocol.launch` says what each
option becomes. Whatever is wrong with the options is said when they are made (`InvalidOptions`), because the CLI
itself ignores some contradictions in silence and answers others with a bare exit code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec

from handrail.errors import InvalidOptions

__all__ = ["Effort", "Options", "PermissionMode", "SettingSource", "StrPath", "TokenBy", "TransportKind"]

PermissionMode: TypeAlias = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
SettingSource: TypeAlias = Literal["user", "project", "local"]
StrPath: TypeAlias = str | PurePath
TransportKind: TypeAlias = Literal["stdio", "websocket", "hybrid"]
TokenBy: TypeAlias = Literal["descriptor", "environment"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to start Claude Code. Everything has a default, and what is left out produces no flag.

    Use `msgspec.structs.replace(options, model=...)` for a copy with changes.
    """

    # The process
    cwd: StrPath | None = None
    cli_path: StrPath | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    use_api_billing: bool = False
    client_app: str | None = None
    extra_args: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    extra_initialize: Mapping[str, Any] = msgspec.field(default_factory=dict)

    # How it is reached
    transport: TransportKind = "stdio"
    access_token_by: TokenBy = "descriptor"  # noqa: S105  how it is given, not the token
    runner_version: str | None = None
    remote_session_id: str | None = None
    container_id: str | None = None

    # The model
    model: str | None = None
    fallback_model: str | None = None
    effort: Effort | None = None
    thinking: Mapping[str, Any] | None = None
    max_thinking_tokens: int | None = None
    betas: Sequence[str] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    task_budget: Mapping[str, int] | None = None
    output_format: Mapping[str, Any] | None = None

    # What Claude is told
    system_prompt: str | Mapping[str, Any] | None = None
    append_system_prompt: str | None = None
    append_subagent_system_prompt: str | None = None
    plan_mode_instructions: str | None = None
    agents: Mapping[str, Any] | None = None
    skills: Sequence[str] | Literal["all"] | None = None

    # What Claude may do
    permission_mode: PermissionMode = "default"
    permission_prompt_tool_name: str | None = "stdio"
    dangerously_skip_permissions: bool = False
    allow_dangerously_skip_permissions: bool = False
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    tools: Sequence[str] | Mapping[str, Any] | None = None
    add_dirs: Sequence[StrPath] = ()
    sandbox: Mapping[str, Any] | None = None

    # The conversation
    continue_conversation: bool = False
    resume: str | None = None
    resume_at: str | None = None
    resume_drops_turn: str | None = None
    fork_session: bool = False
    session_id: str | None = None
    title: str | None = None
    no_session_persistence: bool = False
    enable_file_checkpointing: bool = False

    # What is reported
    include_partial_messages: bool = False
    include_hook_events: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    agent_progress_summaries: bool = False
    prompt_suggestions: bool = False
    session_mirror: bool = False

    # Settings and extensions
    settings: StrPath | Mapping[str, Any] | None = None
    setting_sources: Sequence[SettingSource] | None = None
    mcp_servers: Mapping[str, Any] | StrPath = msgspec.field(default_factory=dict)
    strict_mcp_config: bool = False
    plugins: Sequence[StrPath | Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        for name, check in _FIELD_CHECKS.items():
            check(name, getattr(self, name))
        for contradiction in _CONTRADICTIONS:
            contradiction(self)

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}={value!r}' for name, value in self._shown())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return list(self._shown())

    def _shown(self) -> Iterator[tuple[str, Any]]:
        """What was set. Options end up in logs, so the values of what may carry secrets stay out."""
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if value != _default(field):
                yield field.name, _hide(value) if field.name in _SECRETIVE else value


_SECRETIVE: Final = frozenset({"env", "extra_args", "extra_initialize", "mcp_servers", "settings", "sandbox"})


def _hide(value: Any) -> Any:
    return dict.fromkeys(value, "…") if isinstance(value, Mapping) else "…"


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


# ---------------------------------------------------------------- one field at a time

Check: TypeAlias = Callable[[str, Any], None]


def _wrong_type(name: str, expected: str, value: object) -> InvalidOptions:
    # The type and not the value: the value may be a secret in the wrong place.
    return InvalidOptions(f"{name} must be {expected}, not {type(value).__name__}")


def _optional(check: Check) -> Check:
    def check_unless_none(name: str, value: Any) -> None:
        if value is not None:
            check(name, value)

    return check_unless_none


def _switch(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise _wrong_type(name, "True or False", value)


def _prose(name: str, value: Any) -> None:
    """Text that may be empty."""
    if not isinstance(value, str):
        raise _wrong_type(name, "a string", value)
    if "\0" in value:
        raise InvalidOptions(f"{name} contains a NUL character, which no argument can carry: remove it")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidOptions(f"{name} contains half of a surrogate pair: it is not valid text") from None


def _text(name: str, value: Any) -> None:
    _prose(name, value)
    if not value:
        raise InvalidOptions(f"{name} is empty: give a value, or leave {name} out")


def _header(name: str, value: Any) -> None:
    """Text that the CLI sends as the value of an HTTP header."""
    _text(name, value)
    if not (value.isascii() and value.isprintable()):
        raise InvalidOptions(f"{name} is sent as an HTTP header: use printable ASCII characters only, in one line")


def _path(name: str, value: Any) -> None:
    if not isinstance(value, (str, PurePath)):
        raise _wrong_type(name, "a path", value)
    _text(name, str(value))


def _sequence(item: Check, expected: str) -> Check:
    def check(name: str, value: Any) -> None:
        # A string is a sequence of strings too: without this, "Bash" would become four tools.
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise _wrong_type(name, f"a list of {expected}", value)
        for position, each in enumerate(value):
            item(f"{name}[{position}]", each)

    return check


def _one_of(*choices: str) -> Check:
    def check(name: str, value: Any) -> None:
        if value not in choices:
            raise InvalidOptions(f"{name} must be one of {', '.join(choices)}, not {value!r}")

    return check


def _whole_number(minimum: int) -> Check:
    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong_type(name, "a whole number", value)
        if value < minimum:
            raise InvalidOptions(f"{name} must be at least {minimum}, not {value}")

    return check


def _amount(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(name, "a number", value)
    if not math.isfinite(value) or value <= 0:
        raise InvalidOptions(f"{name} must be more than 0, not {value}")


def _mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise _wrong_type(name, "a mapping", value)
    for key in value:
        if not isinstance(key, str):
            raise _wrong_type(f"each key of {name}", "a string", key)


def _json_object(name: str, value: Any) -> None:
    _mapping(name, value)
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptions(f"{name} cannot be written as JSON: {error}") from error


def _uuid(name: str, value: Any) -> None:
    _text(name, value)
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value):
        raise InvalidOptions(f"{name} must be a UUID such as str(uuid.uuid4()), not {value!r}")


def _tool_name(name: str, value: Any) -> None:
    _text(name, value)
    if value.startswith("-"):
        raise InvalidOptions(f"{name} must be the name of a tool, not {value!r}")


def _rule(name: str, value: Any) -> None:
    """A permission rule such as `Read` or `Bash(git log *)`.

    The CLI splits its list of rules at commas outside parentheses, so a rule that ends inside one swallows those
    that follow it: with `Bash(rm` and `WebFetch` both disallowed, both are allowed.
    """
    _text(name, value)
    if value.rfind("(") > value.rfind(")"):
        raise InvalidOptions(f"{name} opens a parenthesis and does not close it: {value!r}")


def _skill(name: str, value: Any) -> None:
    """The exact name of a skill: it becomes the rule `Skill(name)`, where some characters would mean something else."""
    _text(name, value)
    if not re.fullmatch(r"[^\s(),*\\/\x00-\x1f\x7f-\x9f\ufeff]([^(),*\\\x00-\x1f\x7f-\x9f\ufeff]*\S)?", value):
        raise InvalidOptions(
            f"{name} must be the exact name of a skill, `name` or `plugin:name`, not {value!r}; "
            'for every skill, write skills="all"'
        )


def _skills(name: str, value: Any) -> None:
    if value != "all":
        _sequence(_skill, 'skill names, or "all"')(name, value)


def _tools(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        _sequence(_text, "tool names, or the preset claude_code")(name, value)
    elif value != {"type": "preset", "preset": "claude_code"}:
        raise InvalidOptions(f'{name} must be a list of tool names or {{"type": "preset", "preset": "claude_code"}}')


def _kind(name: str, value: Mapping[str, Any], allowed: Mapping[str, Mapping[str, Check]]) -> str:
    """Check a mapping that has a `type`, whose other keys and their checks `allowed` lists. Returns the type."""
    kind = value.get("type")
    if kind not in allowed:
        raise InvalidOptions(f'{name} needs a "type", one of {", ".join(allowed)}, not {kind!r}')
    checks = allowed[cast(str, kind)]
    for key, each in value.items():
        if key != "type" and key not in checks:
            raise InvalidOptions(
                f"{name} of type {kind} has no {key!r}: it takes {', '.join(checks) or 'nothing else'}"
            )
        if key != "type":
            checks[key](f"{name}[{key!r}]", each)
    return cast(str, kind)


def _needs(name: str, value: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if key not in value:
            raise InvalidOptions(f"{name} needs {key!r}")


_PROMPT_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "preset": {
        "preset": _one_of("claude_code"),
        "append": _prose,
        "exclude_dynamic_sections": _switch,
        "snapshot": _switch,
    },
    "custom": {"prompt": _prose, "snapshot": _switch},
    "file": {"path": _path},
}
_PROMPT_NEEDS: Final = {"preset": "preset", "custom": "prompt", "file": "path"}


def _system_prompt(name: str, value: Any) -> None:
    if isinstance(value, str):
        _prose(name, value)
        return
    if not isinstance(value, Mapping):
        raise _wrong_type(name, "a string or a mapping", value)
    _needs(name, value, _PROMPT_NEEDS[_kind(name, value, _PROMPT_KINDS)])


_DISPLAY: Final = _one_of("summarized", "omitted")
_THINKING_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "adaptive": {"display": _DISPLAY},
    "enabled": {"budget_tokens": _whole_number(1), "display": _DISPLAY},
    "disabled": {},
}


def _thinking(name: str, value: Any) -> None:
    _mapping(name, value)
    if _kind(name, value, _THINKING_KINDS) == "enabled":
        _needs(name, value, "budget_tokens")


def _output_format(name: str, value: Any) -> None:
    _json_object(name, value)
    _kind(name, value, {"json_schema": {"schema": _json_object}})
    _needs(name, value, "schema")


def _task_budget(name: str, value: Any) -> None:
    _mapping(name, value)
    _needs(name, value, "total")
    _whole_number(1)(f"{name}['total']", value["total"])


def _agents(name: str, value: Any) -> None:
    _mapping(name, value)
    for agent, definition in value.items():
        where = f"{name}[{agent!r}]"
        try:
            fields = msgspec.to_builtins(definition)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidOptions(f"{where} cannot be written as JSON: {error}") from error
        _mapping(where, fields)
        _needs(where, fields, "description", "prompt")


def _mcp_servers(name: str, value: Any) -> None:
    if isinstance(value, (str, PurePath)):
        _path(name, value)
        return
    _mapping(name, value)
    for server, config in value.items():
        if not is_sdk_server(config):
            _json_object(f"{name}[{server!r}]", config)


def is_sdk_server(config: object) -> bool:
    """Whether an entry of `mcp_servers` runs in this process: a mapping or an object whose `type` is "sdk"."""
    kind = config.get("type") if isinstance(config, Mapping) else getattr(config, "type", None)
    return kind == "sdk"


def _plugin(name: str, value: Any) -> None:
    if isinstance(value, Mapping):
        _kind(name, value, {"local": {"path": _path}})
        _needs(name, value, "path")
    else:
        _path(name, value)


def _settings(name: str, value: Any) -> None:
    (_json_object if isinstance(value, Mapping) else _path)(name, value)


def _environment(name: str, value: Any) -> None:
    _mapping(name, value)
    for variable, setting in value.items():
        _text(f"each name in {name}", variable)
        if "=" in variable:
            raise InvalidOptions(f"{name} has a name with an equals sign: {variable!r}")
        _prose(f"{name}[{variable!r}]", setting)


def _extra_args(name: str, value: Any) -> None:
    _mapping(name, value)
    for flag, argument in value.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", flag):
            raise InvalidOptions(f"{name} takes names of flags without dashes in front, such as 'debug', not {flag!r}")
        if flag in FLAGS_TAKEN:
            raise InvalidOptions(f"{name} must not set {flag!r}: {FLAGS_TAKEN[flag]}")
        if argument is not None:
            _prose(f"{name}[{flag!r}]", argument)


def _extra_initialize(name: str, value: Any) -> None:
    _json_object(name, value)
    for key in ("subtype", "hooks", "sdkMcpServers"):
        if key in value:
            raise InvalidOptions(f"{name} must not set {key!r}: pass hooks and tools to connect() instead")


_FIELD_CHECKS: Final[Mapping[str, Check]] = {
    "cwd": _optional(_path),
    "cli_path": _optional(_path),
    "env": _environment,
    "use_api_billing": _switch,
    "client_app": _optional(_prose),
    "extra_args": _extra_args,
    "extra_initialize": _extra_initialize,
    "transport": _one_of(*get_args(TransportKind)),
    "access_token_by": _one_of(*get_args(TokenBy)),
    "runner_version": _optional(_header),
    "remote_session_id": _optional(_header),
    "container_id": _optional(_header),
    "model": _optional(_text),
    "fallback_model": _optional(_text),
    "effort": _optional(_one_of(*get_args(Effort))),
    "thinking": _optional(_thinking),
    "max_thinking_tokens": _optional(_whole_number(0)),
    "betas": _sequence(_text, "names of betas"),
    "max_turns": _optional(_whole_number(1)),
    "max_budget_usd": _optional(_amount),
    "task_budget": _optional(_task_budget),
    "output_format": _optional(_output_format),
    "system_prompt": _optional(_system_prompt),
    "append_system_prompt": _optional(_prose),
    "append_subagent_system_prompt": _optional(_prose),
    "plan_mode_instructions": _optional(_prose),
    "agents": _optional(_agents),
    "skills": _optional(_skills),
    "permission_mode": _one_of(*get_args(PermissionMode)),
    "permission_prompt_tool_name": _optional(_tool_name),
    "dangerously_skip_permissions": _switch,
    "allow_dangerously_skip_permissions": _switch,
    "allowed_tools": _sequence(_rule, "tools and rules"),
    "disallowed_tools": _sequence(_rule, "tools and rules"),
    "tools": _optional(_tools),
    "add_dirs": _sequence(_path, "paths"),
    "sandbox": _optional(_json_object),
    "continue_conversation": _switch,
    "resume": _optional(_text),
    "resume_at": _optional(_text),
    "resume_drops_turn": _optional(_text),
    "fork_session": _switch,
    "session_id": _optional(_uuid),
    "title": _optional(_text),
    "no_session_persistence": _switch,
    "enable_file_checkpointing": _switch,
    "include_partial_messages": _switch,
    "include_hook_events": _switch,
    "replay_user_messages": _switch,
    "forward_subagent_text": _switch,
    "agent_progress_summaries": _switch,
    "prompt_suggestions": _switch,
    "session_mirror": _switch,
    "settings": _optional(_settings),
    "setting_sources": _optional(_sequence(_one_of(*get_args(SettingSource)), "user, project, local")),
    "mcp_servers": _mcp_servers,
    "strict_mcp_config": _switch,
    "plugins": _sequence(_plugin, "paths of plugins"),
}

# ---------------------------------------------------------------- contradictions


def _session_contradictions(options: Options) -> None:
    continues = options.continue_conversation or options.resume is not None
    if options.continue_conversation and options.resume is not None:
        raise InvalidOptions(
            "continue_conversation and resume name two conversations: leave out resume for the latest one in cwd, "
            "or continue_conversation for the one that resume names"
        )
    if options.fork_session and not continues:
        raise InvalidOptions("fork_session needs a conversation to fork: set resume or continue_conversation")
    if options.session_id is not None and continues and not options.fork_session:
        raise InvalidOptions(
            "session_id names a new conversation, but an old one is resumed: set fork_session to fork it under "
            "the new id, or leave session_id out"
        )
    if options.resume_at is not None and options.resume is None:
        raise InvalidOptions("resume_at needs resume: it says up to which message that conversation is loaded")
    if options.resume_drops_turn is not None and options.resume_at is None:
        raise InvalidOptions("resume_drops_turn needs resume_at: it says which turn that point cuts off")


def _permission_contradictions(options: Options) -> None:
    # The CLI's flag wins over every mode without a word: a session meant to plan would run everything.
    if options.dangerously_skip_permissions and options.permission_mode not in ("default", "bypassPermissions"):
        raise InvalidOptions(
            f"dangerously_skip_permissions starts the session in bypassPermissions, not in {options.permission_mode}: "
            "leave permission_mode out, or set allow_dangerously_skip_permissions instead to be able to switch later"
        )


def _model_contradictions(options: Options) -> None:
    if options.fallback_model is not None and options.fallback_model == options.model:
        raise InvalidOptions("fallback_model must be another model than model: older CLIs refuse to start")
    if options.thinking is not None and options.max_thinking_tokens is not None:
        raise InvalidOptions("thinking and max_thinking_tokens say the same twice: leave max_thinking_tokens out")


def _prompt_contradictions(options: Options) -> None:
    prompt = options.system_prompt
    if options.append_system_prompt is not None and isinstance(prompt, Mapping) and "append" in prompt:
        raise InvalidOptions("append_system_prompt and system_prompt['append'] say the same twice: leave one out")


def _settings_contradictions(options: Options) -> None:
    if options.sandbox is not None and isinstance(options.settings, (str, PurePath)):
        raise InvalidOptions(
            "sandbox becomes part of settings, and settings is a file or a string: write the sandbox key there, or "
            "give settings as a mapping"
        )
    if options.sandbox is not None and isinstance(options.settings, Mapping) and "sandbox" in options.settings:
        raise InvalidOptions("sandbox and settings['sandbox'] say the same twice: leave one out")


_CONTRADICTIONS: Final = (
    _session_contradictions,
    _permission_contradictions,
    _model_contradictions,
    _prompt_contradictions,
    _settings_contradictions,
)

# ---------------------------------------------------------------- flags that extra_args may not set

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
