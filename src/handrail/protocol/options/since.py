"""Which versions of Claude Code know an option."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from handrail.protocol.options.model import Options

__all__ = ["FIELD_SINCE", "Version", "too_new_for"]

Version: TypeAlias = tuple[int, int, int]

FIELD_SINCE: Final[Mapping[str, Version]] = {
    "agent_progress_summaries": (2, 1, 120),
    "append_subagent_system_prompt": (2, 1, 120),
    "client_app": (2, 1, 52),
    "effort": (2, 1, 52),
    "forward_subagent_text": (2, 1, 120),
    "include_hook_events": (2, 1, 120),
    "plan_mode_instructions": (2, 1, 120),
    "prompt_suggestions": (2, 1, 52),
    "resume_drops_turn": (2, 1, 325),
    "session_mirror": (2, 1, 120),
    "skills": (2, 1, 120),
    "task_budget": (2, 1, 120),
    "thinking": (2, 1, 52),
    "title": (2, 1, 120),
}
"""The oldest of the measured versions that knows an option (on the control channel); all know the others.

Measured: 2.1.37, .52, .62, .120, .197 and .325. An older version ends at once if the option is a flag, and ignores it
if it is a field of `initialize`.
"""


def too_new_for(options: Options, version: Version) -> list[str]:
    """What this version of the CLI cannot do of what the options ask for: one sentence each."""
    defaults = Options()
    needed = [
        (field, since) for field, since in FIELD_SINCE.items() if getattr(options, field) != getattr(defaults, field)
    ]
    return [
        f"{what} needs Claude Code {'.'.join(map(str, since))} or newer"
        for what, since in [*needed, *_values_since(options)]
        if version < since
    ]


def _values_since(options: Options) -> Iterator[tuple[str, Version]]:
    """Values that came later than their option."""
    prompt = options.system_prompt if isinstance(options.system_prompt, Mapping) else {}
    if options.effort == "xhigh":
        yield "effort='xhigh'", (2, 1, 120)
    if options.permission_mode == "auto":
        yield "permission_mode='auto'", (2, 1, 120)
    if "display" in (options.thinking or {}):
        yield "thinking['display']", (2, 1, 120)
    if "exclude_dynamic_sections" in prompt:
        yield "system_prompt['exclude_dynamic_sections']", (2, 1, 120)
    if "snapshot" in prompt:
        yield "system_prompt['snapshot']", (2, 1, 325)
