"""What the owner of this machine lets a hub do here. It binds, whatever the hub says.

A hub's people answer what Claude asks; so these limits are about what nobody would be asked: where sessions run, with
which program and which settings, and how much they may do without asking.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import msgspec

from handrail.errors import HostRefused, InvalidOptions
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions.asks import AnyAnswer
from handrail.sessions.exchange import OUTBOX, PRIVATE, FileExchange
from handrail.sessions.launching import SessionSettings, with_configured_prompt, worktree_origin
from handrail.sessions.roots import RootRefused, Roots

__all__ = ["ALLOWED", "REFUSED", "REFUSED_REQUESTS", "REQUESTS", "HostLimits"]

ALLOWED: Final = frozenset(
    {
        *("cwd", "env", "model", "fallback_model", "effort", "thinking", "max_thinking_tokens", "betas"),
        *("max_turns", "max_budget_usd", "task_budget", "output_format"),
        *("system_prompt", "append_system_prompt", "append_subagent_system_prompt", "plan_mode_instructions"),
        *("agents", "skills", "permission_mode", "allowed_tools", "disallowed_tools", "tools", "add_dirs"),
        *("dangerously_skip_permissions", "allow_dangerously_skip_permissions"),
        *("title", "enable_file_checkpointing", "include_partial_messages", "include_hook_events"),
        *("replay_user_messages", "forward_subagent_text", "agent_progress_summaries", "prompt_suggestions"),
        *("strict_mcp_config", "client_app"),
    }
)
"""Options that a hub may set, some of them within limits."""

REFUSED: Final[Mapping[str, str]] = {
    "cli_path": "which program is Claude Code is for its owner to say",
    "use_api_billing": "who pays is for its owner to say",
    "extra_args": "any flag could be passed, also one that switches asking off",
    "extra_initialize": "it could take the place of the hooks that hold a session to its policy",
    "permission_prompt_tool_name": "asks would go where no policy sees them",
    "settings": "settings run commands of their own, and change what is asked about",
    "setting_sources": "its owner's settings are part of what the owner relies on",
    "sandbox": "how commands are contained is for its owner to say",
    "mcp_servers": "they run commands of their own; a program can offer its tools instead",
    "plugins": "they run commands of their own",
    "transport": "a host reaches its Claude Code by itself",
    "access_token_by": "a host reaches its Claude Code by itself",
    "runner_version": "a host reaches its Claude Code by itself",
    "remote_session_id": "a host reaches its Claude Code by itself",
    "container_id": "a host reaches its Claude Code by itself",
    "no_session_persistence": "the session could not be resumed",
    "session_mirror": "the journal has it all",
    "resume": "use resume or adopt",
    "resume_at": "use resume",
    "resume_drops_turn": "use resume",
    "continue_conversation": "use resume",
    "fork_session": "use fork",
    "session_id": "it is given when the session starts",
}
"""Options that it may not, and why."""

REQUESTS: Final = frozenset(
    {
        *("initialize", "interrupt", "set_model", "set_permission_mode", "set_max_thinking_tokens", "list_models"),
        *("get_binary_version", "get_context_usage", "get_session_cost", "get_usage", "list_permission_rules"),
        *("mcp_status", "mcp_reconnect", "mcp_toggle", "get_hooks_listing"),
        *("stop_task", "background_tasks", "get_task_output", "cancel_async_message"),
        *("rewind_files", "file_suggestions", "rename_session", "set_color", "set_has_subscribers"),
        *("reload_skills", "reload_output_styles"),
    }
)
"""Control requests that a hub may make."""

REFUSED_REQUESTS: Final[Mapping[str, str]] = {
    "apply_flag_settings": "settings run commands of their own, and change what is asked about",
    "update_settings": "settings run commands of their own, and change what is asked about",
    "get_settings": "settings hold secrets",
    "mcp_set_servers": "they run commands of their own",
    "mcp_call": "a tool would run without anybody being asked",
    "mcp_read_resource": "it would be read without anybody being asked",
    "mcp_message": "it belongs to a server inside of the session's process",
    "read_file": "it would be read without anybody being asked",
    "seed_read_state": "Claude would take for read what it never saw",
    "register_repo_root": "where sessions work is for its owner to say",
    "reload_plugins": "they run commands of their own",
    "end_session": "use stop",
}
"""Those that it may not, and why."""

OF_AGENTS: Final = frozenset(
    {
        *("description", "prompt", "tools", "disallowedTools", "model", "maxTurns", "skills", "effort", "background"),
        *("color", "memory", "initialPrompt"),
    }
)
"""What an agent may be given: no servers, hooks or permissions of its own."""

NEEDS_PROFILE: Final[Mapping[str, frozenset[str]]] = {
    "acceptEdits": frozenset({"edits", "trusted"}),
    "auto": frozenset({"trusted"}),
}
"""Modes that allow what only these profiles do."""
BYPASS: Final = "bypassPermissions"
MODE_OF_PLANS: Final = "acceptEdits"
"""The mode in which a plan is carried out whose answer names none."""


@dataclass(frozen=True, kw_only=True)
class HostLimits:
    """What the owner of a host allows. `defaults` is how sessions are started here, as far as the hub does not say."""

    roots: Sequence[str]
    profiles: Sequence[str] = ("careful", "edits", "readonly")
    allow_bypass: bool = False
    capacity: int | None = None
    defaults: Options = field(default_factory=lambda: Options(include_partial_messages=True))
    policy: Asked = field(default_factory=Asked)
    """What every session is held to, beside what the hub asks: its rules add up, its profile is that of sessions for
    which the hub names none."""
    budget: float | None = None
    """What a session may cost before a person is asked, where the hub does not say."""
    env_names: frozenset[str] = frozenset()
    """Variables that the hub may set for a session."""
    file_exchange: bool = False
    """Whether the hub may fetch and put files; what sessions leave in their outbox it may fetch anyway."""
    private_files: Sequence[str] = PRIVATE
    """Patterns of names of files that it may not."""
    own: Sequence[str] = ()
    """Handrail's own directories here."""

    @cached_property
    def directories(self) -> Roots:
        """The roots, as they are on the disk."""
        return Roots(self.roots, setting="host.roots")

    @cached_property
    def files(self) -> FileExchange:
        """The files in the roots, and in the worktrees that Handrail made."""
        worktrees = [os.path.join(directory, "worktrees") for directory in self.own]
        roots = Roots(self.directories.paths, setting="host.roots", further=worktrees)
        return FileExchange(roots, private=self.private_files, own=self.own)

    def exchanged(self, path: str, *, reads: bool) -> str:
        """Where a path leads. Raises `HostRefused` if the hub is not to fetch that file, or to put it there."""
        resolved = self.files.resolve(path)
        if not self.file_exchange and not (reads and OUTBOX in resolved.split("/")):
            raise HostRefused(
                "its owner does not let files be fetched from there or put there (the setting host.file_exchange)"
            )
        return resolved

    # ------------------------------------------------------------ starting

    def options(self, wanted: Mapping[str, Any]) -> Options:
        """How a session is started. Raises `HostRefused` or `InvalidOptions`."""
        changes = self.changes(wanted)
        changes["cwd"] = self.directory(changes.get("cwd") or self.directories.paths[0])
        return msgspec.structs.replace(self.defaults, **with_configured_prompt(self.defaults, changes))

    def changes(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Options that a hub wants to be other ones. Raises `HostRefused` or `InvalidOptions`."""
        for name in wanted:
            _check_option(name)
        changes = dict(wanted)
        if "cwd" in changes:
            changes["cwd"] = self.directory(changes["cwd"])
        if "add_dirs" in changes:
            changes["add_dirs"] = [self.directory(each) for each in _listed(changes["add_dirs"])]
        if "env" in changes:
            changes["env"] = {**self.defaults.env, **self._variables(changes["env"])}
        _check_prompt(changes.get("system_prompt"))
        _check_agents(changes.get("agents"))
        if self.defaults.strict_mcp_config and "strict_mcp_config" in changes:
            changes["strict_mcp_config"] = True  # other servers of the project would run commands
        if "permission_mode" in changes:
            changes.setdefault("dangerously_skip_permissions", False)
        self._check_modes(changes)
        return changes

    def asked(self, wanted: Asked | None) -> Asked:
        """What a hub may ask of a session's policy. There is always one: that of the files and of the owner."""
        wanted = wanted or Asked()
        self.check_profile(wanted.profile)
        if wanted.allow and "trusted" not in self.profiles:
            raise HostRefused("the owner of this host lets no hub add rules that allow something: see host.profiles")
        return wanted

    def check_stored(self, settings: SessionSettings) -> None:
        """Raise `HostRefused` if a session may not go on as it was: its owner may have changed the limits since."""
        options = settings.options
        origin = worktree_origin(settings.worktree)
        if origin is None:
            self.directory(str(options.cwd))
        elif not self.directories.contain(origin):  # the place in the repository that it was started for
            raise HostRefused(f"{origin} is not inside the directories that this host's owner offers (host.roots)")
        for each in options.add_dirs:
            if each not in self.defaults.add_dirs:
                self.directory(str(each))
        self._check_modes({name: getattr(options, name) for name in ("permission_mode", *_SKIPPING)})
        if settings.policy is not None:
            self.check_profile(settings.policy.profile)

    # ------------------------------------------------------------ one thing at a time

    def directory(self, path: Any) -> str:
        """Where `path` leads, if that is inside the roots. Raises `HostRefused` or `InvalidOptions`."""
        if not isinstance(path, str):
            raise InvalidOptions(f"a directory is a path, not {type(path).__name__}")
        try:
            return self.directories.check(path)
        except RootRefused as error:
            kind = HostRefused if error.code == "outside_roots" else InvalidOptions
            raise kind(str(error)) from None

    def check_profile(self, profile: str | None) -> None:
        """Raise `HostRefused` for a policy profile that the hub may not choose."""
        if profile is not None and profile != self.policy.profile and profile not in self.profiles:
            raise HostRefused(
                f"the owner of this host does not let a hub choose the profile {profile}: "
                f"only {', '.join(self.profiles)} (host.profiles)"
            )

    def check_mode(self, mode: str | None) -> None:
        """Raise `HostRefused` for a permission mode that allows more than the hub may have allowed."""
        if mode is None or mode == self.defaults.permission_mode:
            return
        if mode == BYPASS and not self.allow_bypass:
            raise HostRefused(
                "the owner of this host does not let a hub bypass permissions: host.allow_bypass says so there"
            )
        needed = NEEDS_PROFILE.get(mode)
        if needed is not None and not (self.allow_bypass or needed & set(self.profiles)):
            raise HostRefused(
                f"the owner of this host does not let a hub choose the mode {mode}, which allows what the profile "
                f"{' or '.join(sorted(needed))} does: see host.profiles there"
            )

    def check_request(self, subtype: str, fields: Mapping[str, Any]) -> None:
        """Raise `HostRefused` for a control request that the hub may not make."""
        if subtype not in REQUESTS:
            why = REFUSED_REQUESTS.get(subtype, "this Handrail does not know it")
            raise HostRefused(f"no hub may make the request {subtype} on a host: {why}")
        if subtype == "initialize" and fields:
            raise HostRefused(f"no hub may initialize a session on a host with {min(fields)}: it is how it was started")
        if subtype == "set_permission_mode":
            self.check_mode(str(fields.get("mode")))

    def check_answer(self, answer: AnyAnswer) -> None:
        """Raise `HostRefused` for an answer to an ask that would lift these limits for what follows."""
        if isinstance(answer, ApprovePlan | ApproveInFreshContext):
            self.check_mode(answer.mode or MODE_OF_PLANS)
        elif isinstance(answer, Allow):
            for update in answer.updated_permissions:
                self._check_update(msgspec.to_builtins(update))

    def _check_update(self, update: Any) -> None:
        """What is allowed "always" may hold for a session and its project; the rest of the machine is its owner's."""
        if isinstance(update, Mapping) and update.get("destination") == "userSettings":
            raise HostRefused(
                "no hub may change what holds for all sessions of a host: answer for the session or the project"
            )
        match update:
            case {"type": "setMode", "mode": str(mode)}:
                self.check_mode(mode)
            case {"type": "addDirectories", "directories": [*directories]}:
                for each in directories:
                    self.directory(each)
            case {"type": "addRules" | "removeDirectories"}:
                pass
            case {"type": "removeRules" | "replaceRules", "destination": "session"}:
                pass
            case _:
                raise HostRefused(
                    "no hub may take rules away from a host, or change what this Handrail does not know: "
                    "answer without that"
                )

    def _check_modes(self, options: Mapping[str, Any]) -> None:
        self.check_mode(options.get("permission_mode"))
        for name in _SKIPPING:
            if options.get(name) and not self.allow_bypass and not getattr(self.defaults, name):
                raise HostRefused(
                    f"the owner of this host does not let a hub set {name}: host.allow_bypass says so there"
                )

    def _variables(self, env: Any) -> dict[str, str]:
        if not isinstance(env, Mapping):
            raise InvalidOptions("env must be a mapping")
        for name in env:
            if name not in self.env_names:
                raise HostRefused(f"the owner of this host does not let a hub set the variable {name}")
        return dict(env)


_SKIPPING: Final = ("dangerously_skip_permissions", "allow_dangerously_skip_permissions")


def _check_option(name: str) -> None:
    if name in ALLOWED:
        return
    if name in REFUSED:
        raise HostRefused(f"no hub may set the option {name} on a host: {REFUSED[name]}")
    raise InvalidOptions(f"there is no option {name!r}, or the host is too old to know it")


def _check_prompt(prompt: Any) -> None:
    if isinstance(prompt, Mapping) and prompt.get("type") == "file":
        raise HostRefused("a system prompt from a file would be read on the host: pass its text")


def _check_agents(agents: Any) -> None:
    for name, agent in agents.items() if isinstance(agents, Mapping) else ():
        if isinstance(agent, Mapping) and (further := agent.keys() - OF_AGENTS):
            raise HostRefused(f"no hub may give the agent {name} {', '.join(sorted(map(str, further)))} on a host")


def _listed(paths: Any) -> Sequence[Any]:
    if isinstance(paths, str) or not isinstance(paths, Sequence):
        raise InvalidOptions("add_dirs must be a list of paths")
    return paths
