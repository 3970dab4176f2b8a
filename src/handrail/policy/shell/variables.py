"""Variables: which ones change how later commands run, and what a script itself sets them to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import product

from handrail.policy.shell.tree import Script
from handrail.policy.shell.words import HOME

__all__ = ["DECLARING", "Known", "assigned", "changes_the_shell", "has_too_many_readings", "readings"]

Known = Mapping[str, tuple[str, ...]]
"""The values that each variable may have."""

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)[^{}]*\})")
DECLARING = frozenset(["export", "declare", "local", "readonly", "typeset"])
"""Builtins that take assignments as arguments."""

_MAX_READINGS = 64
_MAX_CHAIN = 4

_SPECIAL_PREFIXES = (
    "BASH",
    "COMP_",
    "DYLD_",
    "FUNC",
    "GIT_",
    "HIST",
    "LC_",
    "LD_",
    "LESS",
    "OPT",
    "PROMPT",
    "PYTHON",
    "SSH_",
    "ZSH",
)
_SPECIAL_NAMES = frozenset([
    "_", "ALIASES", "ARGC", "ARGV0", "BAUD", "BROWSER", "CDPATH", "COLUMNS", "CPUTYPE", "DIRSTACK", "DIRSTACKSIZE",
    "DISPLAY", "EDITOR", "EGID", "ENV", "EPOCHSECONDS", "ERRNO", "EUID", "EXECIGNORE", "FIGNORE", "FPATH", "GID",
    "GLOBIGNORE", "GROUPS", "HOME", "HOST", "HOSTNAME", "HOSTTYPE", "IFS", "INPUTRC", "KEYTIMEOUT", "LANG",
    "LANGUAGE", "LINENO", "LINES", "LISTMAX", "LOGCHECK", "LOGNAME", "MACHTYPE", "MAIL", "MAILCHECK", "MAILPATH",
    "MANPATH", "MATCH", "NODE_OPTIONS", "NODE_PATH", "NO_PROXY", "NULLCMD", "OLDPWD", "OSTYPE", "PAGER", "PATH",
    "PERL5LIB", "PERL5OPT", "PIPESTATUS", "PPID", "PWD", "RANDOM", "READNULLCMD", "REPLY", "RPROMPT", "RUBYLIB",
    "RUBYOPT", "SAVEHIST", "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SPROMPT", "STATUS", "TERM", "TMOUT", "TMPDIR",
    "TMPPREFIX", "TTYIDLE", "TZ", "UID", "USER", "USERNAME", "VISUAL", "WATCH", "ZDOTDIR", "aliases", "argv",
    "cdpath", "commands", "dirstack", "env", "fignore", "fpath", "functions", "galiases", "histchars", "home", "lang",
    "mailpath", "manpath", "match", "module_path", "options", "parameters", "path", "pipestatus", "prompt", "psvar",
    "saliases", "shell", "signals", "status", "watch",
])  # fmt: skip
_PROMPT = re.compile(r"R?PS\d")


def changes_the_shell(name: str) -> bool:
    """Whether setting this variable is more than remembering a value."""
    return name in _SPECIAL_NAMES or name.startswith(_SPECIAL_PREFIXES) or _PROMPT.fullmatch(name) is not None


def assigned(script: Script) -> Known:
    """What the script itself sets variables to, by assignments, declarations and loops."""
    known: dict[str, dict[str, None]] = {}
    for name, value in _settings(script):
        known.setdefault(name, {})[value.replace(HOME, "$HOME")] = None
    return {name: tuple(values) for name, values in known.items()}


def _settings(script: Script) -> Iterator[tuple[str, str]]:
    for command in script.everything:
        yield from ((one.name, one.value.value) for one in command.assignments)
        if command.name in DECLARING:
            for argument in command.words[1:]:
                name, equals, value = argument.value.partition("=")
                if equals:
                    yield name, value
    yield from ((one.name, one.value.value) for one in script.loops)


def readings(text: str, known: Known) -> tuple[str, ...]:
    """What the text may turn into as its variables are replaced; nothing if it uses none that is known."""
    found: dict[str, None] = {}
    pending = [text]
    for _ in range(_MAX_CHAIN):
        pending = [reading for one in pending for reading in _replaced(one, known)][:_MAX_READINGS]
        found.update(dict.fromkeys(pending))
    return tuple(found)


def has_too_many_readings(text: str, known: Known) -> bool:
    """Whether `readings` leaves some out."""
    return math.prod(len(known[name]) for name in _used(text, known)) >= _MAX_READINGS


def _replaced(text: str, known: Known) -> Iterator[str]:
    """One reading for each choice of values: within one command a variable has one value."""
    names = _used(text, known)
    if not names:
        return
    for values in product(*(known[name] for name in names)):
        yield _with(dict(zip(names, values, strict=True)), text)


def _with(chosen: Mapping[str, str], text: str) -> str:
    return _VARIABLE.sub(lambda found: chosen.get(found[1] or found[2], found[0]), text)


def _used(text: str, known: Known) -> list[str]:
    names = (found[1] or found[2] for found in _VARIABLE.finditer(text))
    return list(dict.fromkeys(name for name in names if name in known))
