"""What `handrail run` was told on its command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["RunSettings"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings:
    """Values as they were given; `handrail.protocol.launch.Options` checks what concerns the CLI."""

    prompt: str = ""
    model: str | None = None
    permission_mode: str = "default"
    cwd: Path | None = None
    resume: str | None = None
    continue_conversation: bool = False
    allowed_tools: tuple[str, ...] = ()
    policy: str | None = None
    budget: float | None = None
    max_turns: int | None = None
    cli: str | None = None
    use_api_billing: bool = False
    record: Path | None = None
    demo: bool = False
    yes: bool = False
    json: bool = False
    verbose: bool = False

    @property
    def describes_a_session(self) -> bool:
        """Whether anything was said about what is to run, and not only about how to show it."""
        shown = replace(self, cli=None, record=None, demo=False, yes=False, json=False, verbose=False)
        return shown != RunSettings()
