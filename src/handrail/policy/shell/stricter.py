"""Where Handrail asks although Claude Code would not: commands hidden in the arguments of others.

Claude Code's deny and ask rules do not look into `sh -c`, `eval` and their like, so that `Bash(rm:*)` in deny
stops `rm x` but not `sh -c 'rm x'`. Here such a command is for a person to answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from handrail.policy.shell.parse import parse
from handrail.policy.shell.tree import Command, Script
from handrail.policy.shell.words import Word
from handrail.policy.shell.wrappers import basename, layers

__all__ = ["STRICTER", "hidden_commands", "looks_alike"]

STRICTER: dict[str, str] = {
    "sh -c": "the script in the argument is read: also bash, zsh, dash, ksh, fish and su",
    "eval": "the arguments are read as a script",
    "trap": "the action is read as a script",
    "alias": "the replacement is read as a script",
    "coproc": "the rest is read as a command",
    "find -exec": "the command of -exec, -execdir, -ok and -okdir is read",
    "xargs with options": "the command behind the options is read",
    "$'…'": "escape codes in a command word are decoded",
    "lookalikes": "a command word with letters beyond ASCII is for a person to see",
    "variables": "values that the command itself sets, also in loops, are read in place of the variables",
    "here-documents": "commands are read in every form that expands, also in backticks",
    "wrappers": "options of timeout, nice, stdbuf and others are skipped also where they are unusual",
    "critical removals": "rm of critical paths is also seen behind sudo, eval and xargs",
}
"""What is read, by the construction that hides it; the documentation and the tests of agreement use this table."""

_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish", "su"])
_MAX_DEPTH = 4
_ANSI_C_WORD = re.compile(r"\$'((?:[^'\\]|\\.)*)'")


def hidden_commands(commands: Sequence[Command], depth: int = 0) -> Iterator[Command]:
    """The commands that can be read in the arguments of `commands`, and in theirs."""
    if depth >= _MAX_DEPTH:
        return
    for command in commands:
        for words in layers(command.words):
            for text in _hidden_texts(words):
                found = parse(text).everything
                yield from found
                yield from hidden_commands(found, depth + 1)


def looks_alike(script: Script) -> bool:
    """Whether a command word has letters that can be mistaken for others."""
    return any(not command.name.isascii() for command in script.everything)


def _hidden_texts(words: tuple[Word, ...]) -> Iterator[str]:
    name = basename(words[0].value)
    decoded = _ANSI_C_WORD.fullmatch(words[0].raw)
    if decoded:
        yield " ".join([_decode(decoded[1]), *(word.raw for word in words[1:])])
    if name in _SHELLS:
        yield from _shell_script(words)
    elif name in _READERS:
        yield from _READERS[name]([word.value for word in words[1:]], [word.raw for word in words[1:]])


def _shell_script(words: tuple[Word, ...]) -> Iterator[str]:
    for option, script in pairwise(words[1:]):
        if re.fullmatch(r"-\w*c|--command", option.value):
            yield script.value


def _joined(values: list[str], raw: list[str]) -> Iterator[str]:
    yield " ".join(values)


def _first(values: list[str], raw: list[str]) -> Iterator[str]:
    yield from values[:1]


def _rest(values: list[str], raw: list[str]) -> Iterator[str]:
    yield " ".join(raw)


def _replacements(values: list[str], raw: list[str]) -> Iterator[str]:
    yield from (value.partition("=")[2] for value in values if "=" in value)


def _find_actions(values: list[str], raw: list[str]) -> Iterator[str]:
    for at, value in enumerate(values):
        if value in ("-exec", "-execdir", "-ok", "-okdir"):
            yield " ".join(raw[at + 1 :]).removesuffix(r"\;")


def _after_options(values: list[str], raw: list[str]) -> Iterator[str]:
    """Every reading of what comes behind the options, which may or may not take values."""
    for at, value in enumerate(values):
        if not value.startswith("-"):
            yield " ".join(raw[at:])
            if at == 0 or not values[at - 1].startswith("-"):
                return


_READERS: dict[str, Callable[[list[str], list[str]], Iterator[str]]] = {
    "eval": _joined,
    "trap": _first,
    "alias": _replacements,
    "coproc": _rest,
    "find": _find_actions,
    **dict.fromkeys(["xargs", "parallel", "busybox", "caffeinate", "unbuffer", "eatmydata"], _after_options),
}


def _decode(text: str) -> str:
    """What bash makes of the inside of `$'…'`, as far as letters can be hidden in it."""
    codes = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)

    def character(found: re.Match[str]) -> str:
        hexadecimal = found[1] or found[2] or found[3]
        code = int(hexadecimal, 16) if hexadecimal else int(found[4], 8) if found[4] else None
        if code is None:
            return found[5]
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "?"

    return codes.sub(character, text)
