"""What is remembered of a session so that its CLI can be started again, also by another process after a reboot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from handrail.errors import InvalidOptions, SessionError
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.transports.redact import is_secret_name

__all__ = [
    "SessionSettings",
    "changed",
    "check_policy_is_known",
    "decode_settings",
    "encode_settings",
    "for_fork",
    "for_new",
    "for_resume",
    "plain_options",
    "with_configured_prompt",
    "without_secrets",
    "worktree_origin",
]

WITH_SECRETS = frozenset({"env", "headers"})
"""Where the names of values tell which are secret: of the CLI, of its settings, of MCP servers wherever they are."""
OF_ONE_LAUNCH = frozenset(
    {"resume", "resume_at", "resume_drops_turn", "continue_conversation", "fork_session", "session_id"}
)


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is run. `policy` is what was asked of the policy files; None means a session without a policy."""

    options: Options = Options()
    policy: Asked | None = None
    budget: float | None = None
    worktree: dict[str, Any] | None = None
    fixed_policy: bool = False
    """Whether a program gave it a `Policy` as it is, which cannot be written down: it must be given again."""
    forks: str | None = None
    """The conversation that the session is a copy of, by the CLI's id: its first start makes that copy."""
    dials_in: bool = False
    """Whether somebody else starts its CLI, elsewhere, and it dials in to be seated."""
    last_seen: str | None = None
    """The last message of such a CLI, by its uuid, when its seat was given up: it may dial in again."""
    undelivered: tuple[str, ...] = ()
    """Its requests whose answers may not have got there, by their ids."""
    request: str = ""
    """A digest of what was asked for when it was begun: the same request once more means the same session."""


def encode_settings(settings: SessionSettings) -> bytes:
    """`settings` as JSON, without secrets and without what cannot be written down (servers inside a process)."""
    options = _chosen(settings.options)
    if isinstance(options.get("mcp_servers"), Mapping):
        options["mcp_servers"] = {name: each for name, each in options["mcp_servers"].items() if not _in_process(each)}
    stored = {
        "options": without_secrets(options),
        "policy": settings.policy,
        "budget": settings.budget,
        "worktree": settings.worktree,
        "fixed_policy": settings.fixed_policy,
        "forks": settings.forks,
        "dials_in": settings.dials_in,
        "last_seen": settings.last_seen,
        "undelivered": settings.undelivered,
        "request": settings.request,
    }
    return msgspec.json.encode(stored, enc_hook=_plain)


def plain_options(options: Options) -> dict[str, Any]:
    """Options as plain values, secrets and all, for a start on another machine; those of one launch are left out.

    Raises `InvalidOptions` for what cannot leave its process.
    """
    chosen = _chosen(options)
    servers = chosen.get("mcp_servers")
    if isinstance(servers, Mapping) and any(_in_process(each) for each in servers.values()):
        raise InvalidOptions(
            "a server inside this process cannot be an option of a session elsewhere: pass it as a tool"
        )
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(chosen, enc_hook=_plain))
    return plain


def _chosen(options: Options) -> dict[str, Any]:
    return {
        name: value
        for name, value in msgspec.structs.asdict(options).items()
        if name not in OF_ONE_LAUNCH and value != getattr(Options(), name)
    }


def decode_settings(stored: bytes) -> SessionSettings:
    """The settings that `encode_settings` wrote. An option of a newer Handrail is left out."""
    found = msgspec.json.decode(stored)
    known = set(Options.__struct_fields__)
    policy = found.get("policy")
    return SessionSettings(
        options=Options(**{name: value for name, value in (found.get("options") or {}).items() if name in known}),
        policy=msgspec.convert(policy, Asked) if policy is not None else None,
        budget=found.get("budget"),
        worktree=found.get("worktree"),
        fixed_policy=bool(found.get("fixed_policy")),
        forks=found.get("forks"),
        dials_in=bool(found.get("dials_in")),
        last_seen=found.get("last_seen"),
        undelivered=tuple(found.get("undelivered") or ()),
        request=str(found.get("request") or ""),
    )


def for_new(options: Options, cli_session_id: str) -> Options:
    """Start a conversation whose id is known beforehand, so that it can be locked before the CLI runs."""
    return _streaming(options, session_id=options.session_id or cli_session_id)


def for_resume(options: Options, cli_session_id: str) -> Options:
    """Go on with a conversation."""
    return _streaming(options, resume=cli_session_id, session_id=None)


def for_fork(options: Options, cli_session_id: str) -> Options:
    """Go on with a copy of a conversation."""
    return _streaming(options, resume=cli_session_id, fork_session=True, session_id=None)


def _streaming(options: Options, **changes: Any) -> Options:
    cleared = {"continue_conversation": False, "fork_session": False, "resume": None}
    return msgspec.structs.replace(options, **{**cleared, "include_partial_messages": True, **changes})


def without_secrets(value: Any) -> Any:
    """Plain values, without those of variables and headers whose names say that they are secret."""
    if isinstance(value, list | tuple):
        return [without_secrets(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _public(each) if name in WITH_SECRETS else without_secrets(each) for name, each in value.items()}


def _public(named: Any) -> Any:
    if not isinstance(named, Mapping):
        return named
    return {name: value for name, value in named.items() if not is_secret_name(str(name))}


def _in_process(server: Any) -> bool:
    return not isinstance(server, Mapping) or server.get("type") == "sdk"


def _plain(value: Any) -> Any:
    if isinstance(value, PurePath | os.PathLike):
        return os.fspath(value)
    raise InvalidOptions(
        f"a durable session is started from what can be stored: {type(value).__name__} in its options cannot"
    )


def changed(settings: SessionSettings, changes: Mapping[str, Any]) -> SessionSettings:
    """The settings with other options, another policy or another budget."""
    if not changes:
        return settings
    policy = changes.get("policy", settings.policy)
    budget = changes.get("budget", settings.budget)
    options = {name: value for name, value in changes.items() if name not in ("policy", "budget")}
    return msgspec.structs.replace(
        settings, options=msgspec.structs.replace(settings.options, **options), policy=policy, budget=budget
    )


def check_policy_is_known(settings: SessionSettings, session_id: str, *, given: bool = False) -> None:
    """Raise `SessionError` for a session whose policy only its program has, unless that has `given` it again."""
    if settings.fixed_policy and settings.policy is None and not given:
        raise SessionError(
            f"session {session_id[:8]} was started by a program with a policy of its own, without which it is neither "
            "resumed nor forked: use Manager.resume(…, policy=…), or name a profile"
        )


def worktree_origin(worktree: Mapping[str, Any] | None) -> str | None:
    """The directory that a session's directory in a worktree is a copy of; None if it is in none."""
    if worktree is None:
        return None
    inside = os.path.relpath(worktree["cwd"], worktree["path"])
    return os.path.normpath(os.path.join(str(worktree["repository"]), inside))


def with_configured_prompt(base: Options, changes: Mapping[str, Any]) -> dict[str, Any]:
    """`changes` of options, in which what is to be added to Claude's instructions follows what `base` adds already."""
    wanted = changes.get("append_system_prompt")
    if not wanted or not base.append_system_prompt:
        return dict(changes)
    return {**changes, "append_system_prompt": f"{base.append_system_prompt}\n\n{wanted}"}
