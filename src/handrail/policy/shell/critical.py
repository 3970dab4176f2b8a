"""Removals that no rule allows: the root, the home, the working directory and what is above it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from handrail.policy.shell.tree import Command, Script
from handrail.policy.shell.words import HOME, Word
from handrail.policy.shell.wrappers import basename, layers
from handrail.policy.situation import Situation

__all__ = ["critical_removal"]

_VARIABLE_THEN_SLASH = re.compile(r"\$(?:\w+|\{\w+\})\"?/")


def critical_removal(script: Script, commands: Iterable[Command], situation: Situation) -> str | None:
    """What makes the script too dangerous for any rule to allow it, in words."""
    changes_directory = any(command.name == "cd" for command in script.everything)
    for command in commands:
        for words in layers(command.words):
            if basename(words[0].value) not in ("rm", "rmdir"):
                continue
            for target in _targets(words):
                danger = _danger(target, situation, changes_directory=changes_directory)
                if danger:
                    return f"`{basename(words[0].value)} {target.raw}` would remove {danger}"
    return None


def _targets(words: tuple[Word, ...]) -> Iterator[Word]:
    after_dashes = False
    for word in words[1:]:
        if word.value == "--" and not after_dashes:
            after_dashes = True
        elif after_dashes or not word.value.startswith("-"):
            yield word


def _danger(target: Word, situation: Situation, *, changes_directory: bool) -> str | None:
    if target.doubt == "a command substitution":
        return "whatever a command prints"
    if _VARIABLE_THEN_SLASH.search(target.raw) and HOME not in target.value:
        return "everything, if the variable is empty"
    if target.has_glob and changes_directory and not target.value.startswith(("/", "~")):
        return "files of a directory that is not known"
    path = _resolved(target, situation)
    emptied = path.removesuffix("/*") or "/"
    if emptied == "/" or posixpath.dirname(emptied) == "/":
        return f"the critical path {path}"
    if emptied == posixpath.normpath(situation.home):
        return "the home directory"
    cwd = posixpath.normpath(situation.cwd)
    if cwd == emptied or cwd.startswith(emptied + "/"):
        return "the working directory or one above it"
    return None


def _resolved(target: Word, situation: Situation) -> str:
    value = target.value.replace(HOME, situation.home)
    if target.has_tilde and (value == "~" or value.startswith("~/")):
        value = situation.home + value[1:]
    path = posixpath.normpath(posixpath.join(situation.cwd, value))
    return "/" + path.lstrip("/")
