"""Which sed commands only print."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["is_accepted_edit", "is_harmless", "only_prints"]

_QUIET = re.compile(r"-[nEr]*n[nEr]*|--quiet|--silent")
_PLAIN = re.compile(r"-[nEr]+|--quiet|--silent|--regexp-extended")
_PRINT = r"(?:\d+(?:,\d+)?)?p"
_PRINTS = re.compile(rf"{_PRINT}(?:;{_PRINT})*")
_SUBSTITUTION = re.compile(r"s/[^/\\\n]*/[^/\\\n]*/[gpiImM\d]*")


def only_prints(arguments: Sequence[str]) -> bool:
    """`sed -n 5,7p file…`: lines by number, and nothing else."""
    options = [argument for argument in arguments if argument.startswith("-")]
    rest = [argument for argument in arguments if not argument.startswith("-")]
    is_quiet = any(_QUIET.fullmatch(option) for option in options)
    is_plain = all(_PLAIN.fullmatch(option) for option in options)
    return is_quiet and is_plain and bool(rest) and _PRINTS.fullmatch(rest[0]) is not None


def is_harmless(arguments: Sequence[str]) -> bool:
    """Whether it needs no rule: it only prints, or replaces text on its way from input to output."""
    if only_prints(arguments):
        return True
    scripts = [argument for argument in arguments if argument not in ("-E", "-r")]
    return len(scripts) == 1 and _SUBSTITUTION.fullmatch(scripts[0]) is not None


def is_accepted_edit(arguments: Sequence[str]) -> bool:
    """`sed -i s/a/b/ file…`: one substitution, in files or from them, which `acceptEdits` treats as an edit."""
    options = [argument for argument in arguments if argument.startswith("-")]
    rest = [argument for argument in arguments if not argument.startswith("-")]
    is_plain = all(option in ("-i", "--in-place", "-E", "-r") for option in options)
    return is_plain and len(rest) > 1 and _SUBSTITUTION.fullmatch(rest[0]) is not None
