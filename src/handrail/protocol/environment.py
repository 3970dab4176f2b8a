"""Options → the environment of a Claude Code process: what it inherits, what is kept from it, what is added."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from handrail.protocol.options import Options

__all__ = ["WITHHELD_NAMES", "WITHHELD_PREFIXES", "child_environment"]


def child_environment(options: Options, inherited: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of the CLI: what it inherits, without what it must not see, then ours, then `env`."""
    kept = {name: value for name, value in inherited.items() if not _is_withheld(name, options)}
    return {**kept, **_own_variables(options), **options.env}


# What a CLI sets for the programs it starts (seen on 2.1.37 to 2.1.325), and hooks, IDEs, the vendor's remote workers
# and the official SDK set in the same way. They say who the session around us is, and ours is another one: with
# CLAUDECODE some versions refuse to start, with CLAUDE_CODE_REMOTE they offer other tools, the entry point mislabels
# every request, and the messaging token opens the other session's socket.
_OUTER_SESSION: Final = frozenset(
    {
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
        "CLAUDE_AGENT_SDK_VERSION",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_CONTAINER_ID",
        "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_ENVIRONMENT_RUNNER_VERSION",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_HOST_SESSION_ID",
        "CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2",
        "CLAUDE_CODE_RESUME_FROM_SESSION",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_TASK_LIST_ID",
        "CLAUDE_CODE_TOOL_USE_ID",
        "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR",
        "CLAUDE_EFFORT",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PID",
        "CLAUDE_PROJECT_DIR",
    }
)
_OUTER_SESSION_PREFIXES: Final = (
    "CLAUDE_BG_",
    "CLAUDE_BRIDGE_",
    "CLAUDE_CODE_BRIDGE_",
    "CLAUDE_CODE_MESSAGING_",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_SESSION_",
    "CLAUDE_PLUGIN_",
    "CLAUDE_RUNNER_",
)

# They change how the CLI's own JavaScript engine starts (debuggers, preloaded modules, a parent's message channel); an
# IDE's terminal sets them for the programs of its user, not for ours.
_ENGINE: Final = frozenset(
    {
        "BUN_INSPECT",
        "BUN_OPTIONS",
        "NODE_CHANNEL_FD",
        "NODE_CHANNEL_SERIALIZATION_MODE",
        "NODE_OPTIONS",
        "VSCODE_INSPECTOR_OPTIONS",
    }
)

WITHHELD_NAMES: Final = _OUTER_SESSION | _ENGINE
"""What the CLI never inherits, whatever the options."""

# Handrail's own settings, its tokens among them, are for Handrail: nothing that Claude runs needs them.
WITHHELD_PREFIXES: Final = (*_OUTER_SESSION_PREFIXES, "HANDRAIL_")


def _is_withheld(name: str, options: Options) -> bool:
    if name == "ANTHROPIC_API_KEY":
        return not options.use_api_billing
    # A working directory of our own makes the inherited name of the old one wrong.
    if name == "PWD":
        return options.cwd is not None
    return name in WITHHELD_NAMES or name.startswith(WITHHELD_PREFIXES)


def _own_variables(options: Options) -> dict[str, str]:
    # Both ask for `session_state_changed`, which tells a turn that has ended from a session that is idle: background
    # work may go on after a result. The first does it from 2.1.120 on; the second is what the official SDK sets, and
    # newer CLIs read it.
    variables = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
    # CLAUDE_CODE_ENTRYPOINT stays unset: the CLI then calls itself sdk-cli, while for a name it does not know some
    # versions leave out tools (2.1.120: Grep and Glob).
    if options.enable_file_checkpointing:
        variables["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "true"
    if options.client_app is not None:
        variables["CLAUDE_AGENT_SDK_CLIENT_APP"] = options.client_app
    if options.cwd is not None and PurePosixPath(options.cwd).is_absolute():
        variables["PWD"] = str(options.cwd)
    return variables | _sent_as_headers(options)


def _sent_as_headers(options: Options) -> dict[str, str]:
    """What says where the CLI runs: it sends the first to the server it connects to, the others to the API."""
    variables = {
        "CLAUDE_CODE_ENVIRONMENT_RUNNER_VERSION": options.runner_version,
        "CLAUDE_CODE_REMOTE_SESSION_ID": options.remote_session_id,
        "CLAUDE_CODE_CONTAINER_ID": options.container_id,
    }
    return {name: value for name, value in variables.items() if value is not None}
