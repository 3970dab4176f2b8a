"""Whether the paths that a command reads and writes are denied, in doubt, or fine."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from handrail.policy.files import Files
from handrail.policy.rules.grammar import Rule
from handrail.policy.rules.paths import Action, inside_project, path_rule
from handrail.policy.rules.protected import is_protected
from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell.operands import Operand
from handrail.policy.shell.words import HOME, Word
from handrail.policy.situation import Situation

__all__ = ["Access"]

_SOMETHING_DEEP = ("\x01", "\x01")
_STANDARD_STREAMS = frozenset(["-", "/dev/stdin"])
_ODD_PATH = re.compile(r"//.*|(?:.*/)?\.{3,}(?:/.*)?|.*[^./]\.|.*~\d.*")
_EXPANDING = re.compile(r"[$`]|^=")


class _Remembered:
    """Files as they were when they were first looked at: one verdict asks for the same paths many times."""

    def __init__(self, files: Files) -> None:
        self.is_link = files.is_link
        self.link_target = files.link_target
        self.exists = files.exists
        self.read = files.read
        self.resolve = cache(files.resolve)
        self.is_directory = cache(files.is_directory)


class Access:
    """Judges paths for one command line, which may have changed its directory before it uses them."""

    def __init__(self, rules: Rules, situation: Situation, directories: Sequence[str]) -> None:
        self._rules = rules
        self._situation = replace(situation, files=_Remembered(situation.files))
        self._bases = tuple(dict.fromkeys([situation.cwd, *directories]))

    def denied_by(self, operand: Operand) -> Rule | None:
        """The deny rule that the use of this path breaks."""
        actions: list[Action] = [operand.action]
        if operand.is_source:
            actions.append("read")
        for path in self._paths(operand.word):
            for action in actions:
                rule = path_rule(self._rules, "deny", action, path, self._situation)
                if rule:
                    return rule
        return None

    def never_allowed(self, operand: Operand) -> str | None:
        """Why no allow rule reaches this path: what it writes decides what runs next, or is elsewhere."""
        if operand.action != "edit" or operand.word.doubt:
            return None
        for path in self._paths(operand.word):
            resolved = self._situation.files.resolve(path)
            if is_protected(path) or is_protected(resolved):
                return f"it writes to {path}, which decides what runs next"
            if _ODD_PATH.fullmatch(operand.word.value):
                return f"it writes to {path}, a name that not every system takes for what it is"
            if self._is_inside_by_name(path) and not inside_project(path, self._situation):
                return f"{path} leads out of the project through a link"
        return None

    def doubt(self, operand: Operand) -> str | None:
        """Why using this path is for a person to answer."""
        word = operand.word
        if word.value in _STANDARD_STREAMS:
            return None
        shape = self._odd_shape(operand)
        if shape:
            return shape
        for path in self._paths(word):
            if not self._is_allowed(operand.action, path) and not inside_project(path, self._situation):
                verb = "writes to" if operand.action == "edit" else "reads"
                return f"it {verb} {path}, which is outside the project"
        return None

    def may_redirect_to(self, operand: Operand) -> bool:
        """Whether writing to this file is allowed as an edit of it would be."""
        if self._situation.mode == "acceptEdits" and self.doubt(operand) is None:
            return True
        paths = list(self._paths(operand.word))
        return all(path_rule(self._rules, "allow", "edit", path, self._situation) for path in paths)

    def _is_allowed(self, action: Action, path: str) -> bool:
        if path_rule(self._rules, "allow", action, path, self._situation):
            return True
        # A rule on everything below a directory also lets the directory itself be read.
        deep_below = posixpath.join(path, *_SOMETHING_DEEP)
        is_listed = action == "read" and self._situation.files.is_directory(path)
        return is_listed and path_rule(self._rules, "allow", action, deep_below, self._situation) is not None

    def _odd_shape(self, operand: Operand) -> str | None:
        word = operand.word
        if word.doubt:
            return f"a path holds {word.doubt}"
        if re.match(r"~[^/]", word.value):
            return "a path starts with somebody's home"
        if _EXPANDING.search(word.value.replace(HOME, "")):
            return "a path holds what a shell may expand"
        if operand.action == "edit" and re.search(r"[*?\[{}]", word.value):
            return "it writes to files that a pattern names"
        if re.search(r"[^/.][^/]*/+\.\.(?:/|$)", word.value):
            return "a path goes down and up again"
        return None

    def _is_inside_by_name(self, path: str) -> bool:
        cwd = self._situation.cwd.rstrip("/")
        return path.startswith(cwd + "/")

    def _paths(self, word: Word) -> Iterator[str]:
        """The absolute paths that the word may mean, one for each directory it may be used in."""
        value = word.value.replace(HOME, self._situation.home).replace("\0", "")
        value = value.encode(errors="replace").decode()
        # The CLI takes a quoted ~ for the home as well.
        if re.match(r"~(?:/|$)", value):
            value = self._situation.home + value[1:]
        if word.has_glob:
            value = _before_pattern(value)
        for base in self._bases:
            path = posixpath.normpath(posixpath.join(base, value))
            yield "/" + path.lstrip("/")


def _before_pattern(path: str) -> str:
    """The directory that is certain, in front of the first name with a pattern."""
    names = path.split("/")
    for at, name in enumerate(names):
        if any(sign in name for sign in "*?["):
            return "/".join(names[:at]) + ("/" if at == 1 and not names[0] else "")
    return path
