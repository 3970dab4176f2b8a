"""Permission modes and plan modes in words: what each does, and that two different things are called auto."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.policy.describing.suggestions import describe_mode
from handrail.policy.situation import MODES
from handrail.telegram.text.safe import line

__all__ = ["MODES", "PLANMODES", "mode_hint", "mode_words", "planmode_words"]

_WORDS: Mapping[str, str] = {
    "default": "Ask",
    "acceptEdits": "Accept edits",
    "plan": "Plan",
    "auto": "Auto",
    "dontAsk": "Don't ask",
    "bypassPermissions": "Bypass",
}
PLANMODES: Mapping[str, str] = {
    "on": "plan first, and ask before it is carried out",
    "off": "no plan first",
    "auto": "plan first, then go on by itself (not the CLI's own mode auto)",
}
"""What `/planmode` sets, in words."""
_PLANMODE_SHORT: Mapping[str, str] = {"on": "plan first", "off": "", "auto": "plan first, then on by itself"}


def mode_words(mode: str) -> str:
    """A permission mode's name, as the page has it."""
    return _WORDS.get(mode) or line(mode, 40) or _WORDS["default"]


def mode_hint(mode: str) -> str:
    """What a permission mode does."""
    return describe_mode(mode or "default")


def planmode_words(planmode: str) -> str:
    """A plan mode in a few words, for a footer; nothing for none."""
    return _PLANMODE_SHORT.get(planmode, "")
