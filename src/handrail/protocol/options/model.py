"""The options themselves: one frozen struct, shown without its secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from handrail.protocol.options.contradictions import CONTRADICTIONS
from handrail.protocol.options.fields import FIELD_CHECKS
from handrail.protocol.options.words import Effort, PermissionMode, SettingSource, StrPath, TokenBy, TransportKind

__all__ = ["Options"]


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
        for name, check in FIELD_CHECKS.items():
            check(name, getattr(self, name))
        for contradiction in CONTRADICTIONS:
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
