"""Arguments that may run what a prefix or wildcard rule did not mean: only a rule on the very command allows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from handrail.policy.shell.actions import AWKS, has_find_action
from handrail.policy.shell.tree import Command
from handrail.policy.shell.wrappers import basename, is_assignment, is_duration, layers, peeled

__all__ = ["runs_the_unseen"]

_LAUNCHERS = frozenset([
    "watch", "setsid", "ionice", "flock", "chrt", "script", "strace", "ltrace", "unshare", "nsenter", "taskset",
])  # fmt: skip
_FIRM_WRAPPERS = frozenset(["time", "nohup", "nice", "builtin", "noglob", "timeout"])
"""Wrappers whose options have to be understood to know what they wrap."""

_AWK_CODE = re.compile(r"\bsystem\s*\\?\(|@\s*(?:load|include|namespace|[A-Za-z_]\w*\s*\()|\|\s*&")
_AWK_PIPE = re.compile(r"(?<!\|)\|(?!\|)")
_AWK_PIPE_USER = re.compile(r"\"|getline|print[^}]*\|")
_JQ_CODE = re.compile(r"\bsystem\s*\(|\b(?:include|import)\b")
_JQ_FILES = re.compile(r"-\w*[fL]\w*|--(?:from-file|library-path|slurpfile|rawfile|argfile)(?:=.*)?", re.DOTALL)
_PLAIN_NAME = re.compile(r"[\w./+@:%,=~$-]+|\[\[?")
_ENV_FLAGS = frozenset(["-i", "-0"])


def runs_the_unseen(command: Command) -> bool:
    """Whether the command, or one that it wraps, runs or reads what its first words do not tell."""
    *_, innermost = peeled(command)
    is_odd = innermost.name != command.name and not _PLAIN_NAME.fullmatch(innermost.name)
    if is_odd or innermost.name.startswith("-") or _is_half_understood(innermost):
        return True
    return any(_takes_a_program([word.value for word in words]) for words in layers(command.words))


def _is_half_understood(command: Command) -> bool:
    """Whether a wrapper is left over, with arguments that do not lead to a command."""
    is_only_a_duration = command.name == "timeout" and len(command.words) == 2 and is_duration(command.values[1])
    return command.name in _FIRM_WRAPPERS and len(command.words) > 1 and not is_only_a_duration


def _takes_a_program(values: Sequence[str]) -> bool:
    name = basename(values[0])
    return name in _LAUNCHERS or (name in _PROGRAMS and _PROGRAMS[name](values[1:]))


def _awk(arguments: Sequence[str]) -> bool:
    return any(_AWK_CODE.search(text) or _has_awk_pipe(text) for text in arguments)


def _has_awk_pipe(text: str) -> bool:
    return _AWK_PIPE.search(text) is not None and _AWK_PIPE_USER.search(text) is not None


def _jq(arguments: Sequence[str]) -> bool:
    return any(_JQ_FILES.fullmatch(argument) or _JQ_CODE.search(argument) for argument in arguments)


def _env(arguments: Sequence[str]) -> bool:
    """Options such as `-S` hold a command, or change where it runs."""
    at = 0
    while at < len(arguments):
        if arguments[at] == "-u":
            at += 2
        elif arguments[at] in _ENV_FLAGS or is_assignment(arguments[at]):
            at += 1
        else:
            return arguments[at].startswith("-")
    return False


def _command(arguments: Sequence[str]) -> bool:
    options = [argument for argument in arguments[:1] if argument.startswith("-")]
    return not all(re.fullmatch(r"-[pvV]+|--", option) for option in options)


_PROGRAMS: dict[str, Callable[[Sequence[str]], bool]] = {
    "find": has_find_action,
    **dict.fromkeys(AWKS, _awk),
    "jq": _jq,
    "env": _env,
    "command": _command,
}
