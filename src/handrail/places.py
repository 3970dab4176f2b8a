"""Where Handrail keeps what is its own: configuration, state, caches and sockets of this user."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

import msgspec

from handrail.errors import ConfigError

__all__ = ["PROJECT_DIRECTORY", "Places"]

APP = "handrail"
PROJECT_DIRECTORY = ".handrail"
"""Handrail's directory inside a project."""
POLICY_FILE = "policy.toml"


class Places(msgspec.Struct, frozen=True):
    """Handrail's directories, absolute. Nothing in them needs to exist."""

    config: str
    state: str
    cache: str
    runtime: str
    decided: str = ""
    """Where it is kept what people trust and allowed for good, if that is not with the state."""

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> Places:
        """The platform's directories; `HANDRAIL_CONFIG_DIR` and its like in `environ` put them elsewhere."""
        from platformdirs import user_cache_dir, user_config_dir, user_state_dir  # costs a session nothing before

        state = _given(environ, "HANDRAIL_STATE_DIR") or user_state_dir(APP, appauthor=False)
        return cls(
            config=_given(environ, "HANDRAIL_CONFIG_DIR") or user_config_dir(APP, appauthor=False),
            state=state,
            cache=_given(environ, "HANDRAIL_CACHE_DIR") or user_cache_dir(APP, appauthor=False),
            runtime=_given(environ, "HANDRAIL_RUNTIME_DIR") or _runtime(environ, state),
        )

    def of_host(self) -> Places:
        """The places of sessions that this machine runs for a hub: a state of their own, and the same decisions."""
        state = posixpath.join(self.state, "host")
        return msgspec.structs.replace(self, state=state, decided=self.decided or self.state)

    @property
    def all(self) -> tuple[str, ...]:
        """Every directory."""
        own = (self.config, self.state, self.cache, self.runtime)
        return (*own, self.decided) if self.decided else own

    @property
    def config_file(self) -> str:
        """Handrail's settings."""
        return posixpath.join(self.config, "config.toml")

    @property
    def policy_file(self) -> str:
        """The policy for all projects."""
        return posixpath.join(self.config, POLICY_FILE)

    @property
    def trust_file(self) -> str:
        """Which projects' policies are trusted, by hash."""
        return posixpath.join(self.decided or self.state, "trust.json")

    @property
    def grants_file(self) -> str:
        """What people allowed for good."""
        return posixpath.join(self.decided or self.state, "grants.json")


def project_policy_file(root: str) -> str:
    """The policy of the project at `root`."""
    return posixpath.join(root, PROJECT_DIRECTORY, POLICY_FILE)


def _absolute(path: str | None) -> str | None:
    return posixpath.normpath(path) if path and path.startswith("/") else None


def _given(environ: Mapping[str, str], name: str) -> str | None:
    """The directory that a variable names. A relative one would mean another directory in each place: an error."""
    path = environ.get(name)
    if path and not path.startswith("/"):
        raise ConfigError(f"{name} must be an absolute path, not {path!r}")
    return _absolute(path)


def _runtime(environ: Mapping[str, str], state: str) -> str:
    """Beside the state where the system offers no directory for sockets: one in /tmp could be somebody else's."""
    offered = _absolute(environ.get("XDG_RUNTIME_DIR"))
    return posixpath.join(offered, APP) if offered else posixpath.join(state, "run")
