"""What `handrail run` was told on its command line."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["RunSettings"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings:
    """Values as they were given; None where nothing was said."""

    prompt: str = ""
    images: tuple[Path, ...] = ()
    model: str | None = None
    mode: str | None = None
    policy: str | None = None
    allowed_tools: tuple[str, ...] = ()
    max_budget: float | None = None
    max_turns: int | None = None
    cwd: Path | None = None
    worktree: str | None = None
    in_hub: bool = False
    host: str | None = None
    title: str | None = None
    resume: str | None = None
    continue_latest: bool = False
    fork: bool = False
    cli: str | None = None
    transport: str | None = None
    use_api_billing: bool = False
    record: Path | None = None
    json: bool = False
    deltas: bool = False
    verbose: bool = False
    demo: bool = False
    yes: bool = False

    @property
    def describes_a_session(self) -> bool:
        """Whether anything was said about what is to run, and not only about how to show it."""
        shown = replace(self, cli=None, record=None, json=False, deltas=False, verbose=False, demo=False, yes=False)
        return shown != RunSettings()

    @property
    def directory(self) -> str:
        """The project's directory, absolute."""
        return os.path.abspath(self.cwd or os.getcwd())

    @property
    def directory_elsewhere(self) -> str:
        """The project's directory on another machine: what `~` is there is known there."""
        return str(self.cwd or os.getcwd())

    @property
    def names_a_whole_path(self) -> bool:
        """Whether the directory means the same wherever it is looked for."""
        return self.directory_elsewhere.startswith(("/", "~"))

    @property
    def goes_on(self) -> bool:
        """Whether it goes on with a session that there is."""
        return self.resume is not None or self.continue_latest

    @property
    def needs_this_process(self) -> bool:
        """Whether anything was said that only a session of this process can be given."""
        return self.needs_this_machine or bool(self.max_turns or self.allowed_tools)

    @property
    def needs_this_machine(self) -> bool:
        """Whether anything was said that the Claude Code of another machine cannot be given."""
        return bool(self.cli or self.transport or self.record or self.use_api_billing)
