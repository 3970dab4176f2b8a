"""How a program's wishes are told to a hub: options, policies and places, as what a request may say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from handrail.errors import ConfigError, InvalidOptions
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.sessions.launching import plain_options

__all__ = ["changes", "check_address", "check_record", "directory", "given", "new_session", "policy"]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_address(url: str, *, has_token: bool) -> None:
    """Raise `ConfigError` for an address that is none of a hub's, or over which a token must not go."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"the address of a hub is such as https://hub.example.org: {url!r} is not")
    if has_token and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ConfigError(f"use https://: anybody on the way to {url} could read the token")


def check_record(record: Any) -> None:
    """Raise `InvalidOptions`: nothing can be recorded from afar."""
    if record is not None:
        raise InvalidOptions(
            "record is written by the process that runs the session: read Session.frames() of a hub's session instead"
        )


def new_session(options: Options, *, host: str, is_here: bool) -> dict[str, Any]:
    """A start as a hub takes it."""
    if options.resume is not None or options.continue_conversation:
        raise InvalidOptions("a new session resumes nothing: use Hub.resume, or Hub.adopt for one of the CLI's")
    plain = plain_options(options)
    cwd = directory(str(plain.pop("cwd", "") or ""), is_here=is_here and not host)
    return {"cwd": cwd, "options": {**plain, **given(session_id=options.session_id)}}


def directory(path: str, *, is_here: bool) -> str:
    """A directory of the machine that runs the session. A relative one means something only on this machine."""
    if is_here:
        return os.path.abspath(path or os.getcwd())
    if not path.startswith(("/", "~")):
        raise InvalidOptions(
            f"name the directory on the machine that runs the session, as in Options(cwd='/srv/project'), not {path!r}"
        )
    return path


def policy(wanted: Asked | Policy | None) -> dict[str, Any] | None:
    """A policy as a hub takes it."""
    if isinstance(wanted, Policy):
        raise InvalidOptions("a session elsewhere is held to the policies there: pass an Asked")
    if wanted is None:
        return None
    plain: dict[str, Any] = msgspec.to_builtins(wanted)
    return {name: value for name, value in plain.items() if value not in (None, [], ())}


def changes(wanted: Asked | Policy | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be other about a session that is resumed or forked."""
    named = {name: value for name, value in options.items() if name != "budget"}
    unknown = sorted(named.keys() - set(Options.__struct_fields__))
    if unknown:
        raise InvalidOptions(f"there is no option {unknown[0]!r}")
    plain = msgspec.json.decode(msgspec.json.encode(named, enc_hook=os.fspath))
    return given(options=plain or None, policy=policy(wanted), budget=options.get("budget"))


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}
