"""What the checks look at: Handrail's places, the environment, the project, and programs that answer questions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from handrail.config import Config, load_config
from handrail.errors import ConfigError
from handrail.places import Places
from handrail.protocol.launch import child_environment
from handrail.protocol.options import Options

__all__ = ["Answer", "Surroundings", "nearest_existing"]

QUIET_CLI = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
"""What keeps Claude Code from going online for a question that it can answer by itself."""


class Answer(NamedTuple):
    """What a program said. `code` is None if it could not be started or did not end in time."""

    code: int | None
    output: str


@dataclass(frozen=True)
class Surroundings:
    """Where the check-up takes place."""

    places: Places
    environ: Mapping[str, str]
    cwd: str
    cli: str | None = None
    """The Claude Code to look at, where that is not the one of the settings."""
    online: bool = False
    """Whether services elsewhere may be asked, too."""
    config: Config = field(init=False)
    """The settings in force; the defaults where there are errors, which have a finding of their own."""
    config_error: ConfigError | None = field(init=False)

    def __post_init__(self) -> None:
        try:
            config, error = load_config(self.places, self.environ), None
        except ConfigError as raised:
            config, error = Config(), raised
        object.__setattr__(self, "config", config)
        object.__setattr__(self, "config_error", error)

    @classmethod
    def here(cls, cli: str | None = None) -> Surroundings:
        """Those of this process; `cli` is another Claude Code than that of the settings."""
        return cls(Places.of_user(os.environ), os.environ, os.getcwd(), cli)

    @property
    def home(self) -> str:
        """The user's directory."""
        return self.environ.get("HOME") or os.path.expanduser("~")

    @property
    def environment_of_claude(self) -> dict[str, str]:
        """What a session's Claude Code would see."""
        claude = self.config.claude
        return child_environment(Options(use_api_billing=claude.use_api_billing, env=claude.env), self.environ)

    def ask(self, argv: Sequence[str], *, seconds: float, env: Mapping[str, str] | None = None) -> Answer:
        """Run a program that prints something and ends."""
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                env=dict(self.environ if env is None else env),
                cwd=self.cwd,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(None, f"no answer within {seconds:g} s")
        except OSError as error:
            return Answer(None, error.strerror or str(error))
        return Answer(done.returncode, (done.stdout or done.stderr).decode("utf-8", "replace").strip())

    def ask_claude(self, argv: Sequence[str], *arguments: str, seconds: float) -> Answer:
        """Ask Claude Code, as a session would start it."""
        return self.ask([*argv, *arguments], seconds=seconds, env={**self.environment_of_claude, **QUIET_CLI})


def nearest_existing(path: str) -> str:
    """The path itself, or the nearest directory above it that is there."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path
