"""What an owner who is not at this machine may say of a session that is started here: options from an allow-list.

An owner may have Claude do anything that people can be asked about. What is refused would take the session out of that:
another program in the CLI's place, settings that switch the policy or its questions off, files outside of the roots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from handrail.errors import InvalidOptions
from handrail.protocol.options import Options
from handrail.server.roots import Roots
from handrail.sessions.launching import with_configured_prompt

__all__ = ["ALLOWED", "REFUSED", "REFUSED_VARIABLES", "checked_options", "with_wanted"]

ALLOWED: Final = frozenset(
    {
        *("cwd", "env", "model", "fallback_model", "effort", "thinking", "max_thinking_tokens", "betas"),
        *("max_turns", "max_budget_usd", "task_budget", "output_format"),
        *("system_prompt", "append_system_prompt", "append_subagent_system_prompt", "plan_mode_instructions"),
        *("agents", "skills", "permission_mode", "allowed_tools", "disallowed_tools", "tools", "add_dirs"),
        *("title", "enable_file_checkpointing", "include_partial_messages", "include_hook_events"),
        *("replay_user_messages", "forward_subagent_text", "agent_progress_summaries", "prompt_suggestions"),
        *("mcp_servers", "strict_mcp_config"),
    }
)
"""Options that may be set from elsewhere, some of them within limits."""

REFUSED: Final[Mapping[str, str]] = {
    "cli_path": "which program is Claude Code is settled on the hub's machine (`handrail config set claude.path`)",
    "extra_args": "it could pass any flag, also those that switch asking off",
    "extra_initialize": "it could take the place of the hooks that hold the session to its policy",
    "permission_prompt_tool_name": "asks would go elsewhere, and no policy and no person here would see them",
    "dangerously_skip_permissions": 'use permission_mode="bypassPermissions", which keeps the policy',
    "allow_dangerously_skip_permissions": "whether a session may be switched to that is settled by the hub",
    "settings": "settings run commands of their own and change what is asked about",
    "setting_sources": "the settings of the hub's user are part of what it relies on",
    "sandbox": "how commands are contained is settled on the hub's machine",
    "plugins": "plugins run commands of their own",
    "use_api_billing": "who pays is settled on the hub's machine",
    "no_session_persistence": "the session could not be resumed",
    "session_mirror": "the hub has the journal",
    "client_app": "the hub starts it",
}
"""Why other options are not taken from elsewhere."""

OF_ONE_LAUNCH: Final = frozenset(
    {"resume", "resume_at", "resume_drops_turn", "continue_conversation", "fork_session", "session_id"}
)

REFUSED_VARIABLES: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "ENV", "BASH_ENV", "TMPDIR", "ZDOTDIR", "IFS", "CDPATH"),
    *("HANDRAIL*", "XDG_*", "CLAUDE*", "ANTHROPIC*", "DISABLE_*", "IS_SANDBOX", "MCP_*", "AWS_*", "VERTEX_*"),
    *("LD_*", "DYLD_*", "NODE*", "BUN_*", "NPM_*", "PYTHON*", "PERL*", "RUBY*", "JAVA_TOOL_OPTIONS", "GIT_*", "SSH_*"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_*", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"),
)
"""Variables that move the policy, Claude Code's own files or its model elsewhere, or put other code into programs."""


def with_wanted(base: Options, wanted: Mapping[str, Any], roots: Roots) -> Options:
    """`base` with what somebody elsewhere wants of a new session, whose conversation may be given its id.

    Raises `InvalidOptions`, or `Problem` for what is outside of the roots.
    """
    named = {name: value for name, value in wanted.items() if name == "session_id"}
    checked = {**checked_options({name: wanted[name] for name in wanted if name not in named}, roots), **named}
    if "env" in checked:
        checked["env"] = {**base.env, **checked["env"]}
    return msgspec.structs.replace(base, **with_configured_prompt(base, checked))


def checked_options(wanted: Mapping[str, Any], roots: Roots) -> dict[str, Any]:
    """Plain options that may be set from elsewhere. Raises `InvalidOptions` or `Problem`."""
    for name in wanted:
        _check_name(name)
    checked = dict(wanted)
    for name, check in (("env", _check_env), ("system_prompt", _check_prompt), ("mcp_servers", _check_servers)):
        if name in checked:
            check(checked[name])
    if "cwd" in checked:
        checked["cwd"] = roots.check(_text("cwd", checked["cwd"]))
    if "add_dirs" in checked:
        checked["add_dirs"] = [roots.check(_text("add_dirs", each)) for each in _listed(checked["add_dirs"])]
    if "permission_mode" in checked:
        checked["dangerously_skip_permissions"] = False  # it would win over the mode
    return checked


def _check_name(name: str) -> None:
    if name in ALLOWED:
        return
    if name in OF_ONE_LAUNCH:
        raise InvalidOptions(f"the option {name} is not for a start through a hub: use resume, fork or adopt")
    if name not in Options.__struct_fields__:
        raise InvalidOptions(f"there is no option {name!r}, or the hub is too old to know it")
    why = REFUSED.get(name, "it is settled on the hub's machine")
    raise InvalidOptions(f"the option {name} cannot be set through a hub: {why}")


def _check_env(env: Any) -> None:
    if not isinstance(env, Mapping):
        raise InvalidOptions("env must be a mapping")
    for name in env:
        for refused in REFUSED_VARIABLES:
            if _is_named(str(name).upper(), refused):
                raise InvalidOptions(
                    f"the variable {name} cannot be set through a hub: it changes which programs, files or services a "
                    "session relies on. Set it where the hub runs"
                )


def _is_named(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _check_prompt(prompt: Any) -> None:
    if isinstance(prompt, Mapping) and prompt.get("type") == "file":
        raise InvalidOptions("a system prompt from a file would be read on the hub's machine: pass its text")


def _check_servers(servers: Any) -> None:
    if not isinstance(servers, Mapping):
        raise InvalidOptions("mcp_servers as a file would be read on the hub's machine: pass what it says")


def _listed(paths: Any) -> Sequence[Any]:
    if isinstance(paths, str) or not isinstance(paths, Sequence):
        raise InvalidOptions("add_dirs must be a list of paths")
    return paths


def _text(name: str, path: Any) -> str:
    if not isinstance(path, str):
        raise InvalidOptions(f"{name} must be a path, not {type(path).__name__}")
    return path
