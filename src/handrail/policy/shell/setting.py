"""Builtins that set variables: whether what they set can be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from handrail.policy.shell.variables import DECLARING, changes_the_shell
from handrail.policy.shell.words import Word

__all__ = ["keeps_assignments", "sets_unclearly"]

_DECLARE_OPTIONS = re.compile(r"-[xrpf]+|--|\+x")
_EXPORT_OPTIONS = re.compile(r"-[pfn]")
_READONLY_OPTIONS = re.compile(r"-[pf]")
_SHELL_OPTIONS = re.compile(r"[-+][eux]+|[-+]o|errexit|nounset|pipefail|xtrace")
_SPECIAL_BUILTINS = frozenset([":", "break", "continue", "exit", "return", "shift", "times"])
_UNSET_OPTIONS = re.compile(r"-[vf]")


def sets_unclearly(words: Sequence[Word]) -> bool:
    """Whether the builtin changes how variables behave, or takes words for names that a shell would evaluate."""
    check = _CHECKS.get(words[0].value)
    return check is not None and check(words[1:])


def keeps_assignments(name: str) -> bool:
    """Whether a shell may keep what is assigned in front of this builtin."""
    return name in _CHECKS or name in _SPECIAL_BUILTINS


def _is_plain_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not changes_the_shell(name)


def _declares_unclearly(options: re.Pattern[str]) -> Callable[[Sequence[Word]], bool]:
    def check(arguments: Sequence[Word]) -> bool:
        return not all(options.fullmatch(word.value) or _is_plain_setting(word) for word in arguments)

    return check


def _changes_options_unclearly(arguments: Sequence[Word]) -> bool:
    """`set` is clear with a few well-known options, or with arguments behind `--` or without any option."""
    values = [word.value for word in arguments]
    if values[:1] == ["--"] or not any(value.startswith(("-", "+")) for value in values):
        return False
    return not all(_SHELL_OPTIONS.fullmatch(value) for value in values)


def _is_plain_setting(word: Word) -> bool:
    name, _, value = word.value.partition("=")
    return _is_plain_name(name) and not value.startswith("~")


def _unsets_unclearly(arguments: Sequence[Word]) -> bool:
    return not all(_UNSET_OPTIONS.fullmatch(word.value) or _is_plain_name(word.raw) for word in arguments)


def _reads_unclearly(arguments: Sequence[Word]) -> bool:
    """A word behind an option may be its value, but never one that is evaluated."""
    behind_option = False
    for word in arguments:
        is_option = word.value.startswith("-")
        if not is_option and not _is_plain_name(word.value) and not (behind_option and _is_plain_value(word)):
            return True
        behind_option = is_option
    return False


def _is_plain_value(word: Word) -> bool:
    return "[" not in word.value and not changes_the_shell(word.value)


def _names_unclearly(option: str) -> Callable[[Sequence[Word]], bool]:
    def check(arguments: Sequence[Word]) -> bool:
        values = [word.value for word in arguments]
        is_attached = any(value.startswith(option) and value != option for value in values)
        return is_attached or any(before == option and not _is_plain_name(name) for before, name in pairwise(values))

    return check


_CHECKS: dict[str, Callable[[Sequence[Word]], bool]] = {
    **dict.fromkeys(DECLARING, _declares_unclearly(_DECLARE_OPTIONS)),
    "export": _declares_unclearly(_EXPORT_OPTIONS),
    "readonly": _declares_unclearly(_READONLY_OPTIONS),
    "set": _changes_options_unclearly,
    "unset": _unsets_unclearly,
    "read": _reads_unclearly,
    "wait": _names_unclearly("-p"),
    **dict.fromkeys(["printf", "test", "[", "[["], _names_unclearly("-v")),
}
