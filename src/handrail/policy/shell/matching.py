"""What stands between the parentheses of a Bash rule, and which commands it matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from handrail.policy.calls.base import names
from handrail.policy.rules.grammar import Rule
from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell.tree import Command, Script
from handrail.policy.shell.unseen import runs_the_unseen
from handrail.policy.shell.variables import Known, assigned, readings
from handrail.policy.shell.words import Word
from handrail.policy.shell.wrappers import basename, layers, peeled
from handrail.policy.verdict import Behavior

__all__ = ["allowing_rule", "exact_rule", "forbidding_rule", "has_specific_rules", "whole_tool_rule"]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A compiled spec. A prefix ends at a word; `*` stands for anything; all else is compared as it is."""

    kind: Literal["exact", "prefix", "wildcard"]
    text: str
    regex: re.Pattern[str]

    def matches(self, text: str) -> bool:
        return self.regex.fullmatch(text) is not None

    @property
    def is_open_ended(self) -> bool:
        """Whether it fixes how a command begins, and nothing else."""
        return self.kind == "prefix" or (self.kind == "wildcard" and self.text.find("*") == len(self.text) - 1)


@lru_cache(maxsize=4096)
def _pattern(spec: str) -> _Pattern:
    if spec.endswith(":*"):
        prefix = spec[:-2]
        # An empty prefix would match everything: the CLI takes such a rule to match nothing.
        regex = re.escape(prefix) + r"(?: .*)?" if prefix else "(?!)"
        return _Pattern("prefix", prefix, re.compile(regex, re.DOTALL))
    pieces = re.split(r"(\\[*\\]|\*)", spec)
    stars = pieces.count("*")
    if not stars:
        return _Pattern("exact", spec, re.compile(re.escape(spec)))
    regex = "".join(_wildcard_piece(piece) for piece in pieces)
    if stars == 1 and spec.endswith(" *"):
        # A single trailing ` *` is a word boundary: it also matches the command without arguments.
        regex = re.escape("".join(pieces[:-2]).removesuffix(" ")) + r"(?: .*)?"
    return _Pattern("wildcard", spec, re.compile(regex, re.DOTALL))


def _wildcard_piece(piece: str) -> str:
    if piece == "*":
        return ".*"
    return re.escape(piece[1:] if piece in (r"\*", r"\\") else piece)


def _bash_rules(rules: Rules, behavior: Behavior) -> Iterator[tuple[Rule, _Pattern]]:
    for rule in rules.of(behavior):
        if rule.tool == "Bash" and rule.spec is not None and not rule.is_whole_tool:
            yield rule, _pattern(rule.spec)


def whole_tool_rule(rules: Rules, behavior: Behavior) -> Rule | None:
    """A rule on every Bash call: `Bash`, `Bash(*)`, and for deny and ask a wildcard in the tool's name."""
    return next((rule for rule in rules.of(behavior) if rule.is_whole_tool and names(rule, "Bash")), None)


def has_specific_rules(rules: Rules) -> bool:
    """Whether some deny or ask rule singles out commands."""
    return any(True for behavior in ("ask", "deny") for _ in _bash_rules(rules, behavior))


# Allow rules: the text as it was written


def exact_rule(rules: Rules, script: Script) -> Rule | None:
    """The allow rule that names this very command line."""
    for rule, pattern in _bash_rules(rules, "allow"):
        if pattern.kind != "wildcard" and pattern.text == script.text:
            return rule
    return None


def allowing_rule(rules: Rules, command: Command) -> Rule | None:
    """The first allow rule that covers one simple command."""
    faces = list(peeled(command))
    exact_only = runs_the_unseen(command)
    for rule, pattern in _bash_rules(rules, "allow"):
        if exact_only and pattern.kind != "exact":
            continue
        if any(pattern.matches(text) for face in faces for text in _allow_texts(face, pattern)):
            return rule
    return None


def _allow_texts(command: Command, pattern: _Pattern) -> Iterator[str]:
    if pattern.kind == "exact":
        yield command.text
        yield _with_plain_name(command, command.text)
        return
    spaced = _spaced(command)
    yield spaced
    yield _with_plain_name(command, spaced)
    if pattern.is_open_ended and command.name == "xargs" and not command.assignments and len(command.words) > 1:
        yield " ".join(word.raw for word in command.words[1:])


def _spaced(command: Command) -> str:
    """The words as written, with one space between them."""
    return " ".join([*(assignment.raw for assignment in command.assignments), *(word.raw for word in command.words)])


def _with_plain_name(command: Command, text: str) -> str:
    """The text with its command word unquoted."""
    if command.assignments or not command.words or not text.startswith(command.words[0].raw):
        return text
    if any(character.isspace() for character in command.name):
        return text
    return command.name + text[len(command.words[0].raw) :]


# Deny and ask rules: every face that the command can be given


def forbidding_rule(rules: Rules, behavior: Behavior, script: Script, commands: Iterable[Command]) -> Rule | None:
    """The first deny or ask rule that some command anywhere in the script falls under."""
    patterns = list(_bash_rules(rules, behavior))
    if not patterns:
        return None
    whole = next((rule for rule, pattern in patterns if pattern.kind == "exact" and pattern.text == script.text), None)
    if whole is not None:
        return whole
    known = assigned(script)
    for face in dict.fromkeys(face for command in commands for face in _faces(command, known)):
        for rule, pattern in patterns:
            if pattern.matches(face):
                return rule
    return None


def _faces(command: Command, known: Known) -> Iterator[str]:
    """Every text that a deny or ask rule should recognise the command by."""
    for face in _faces_as_written(command):
        yield face
        if known and "$" in face:
            yield from readings(face, known)


def _faces_as_written(command: Command) -> Iterator[str]:
    yield command.text
    yield _spaced(command)
    for words in layers(command.words):
        yield from _word_faces(words)


def _word_faces(words: tuple[Word, ...]) -> Iterator[str]:
    values = [word.value for word in words]
    yield " ".join(values)
    yield " ".join([basename(values[0]), *values[1:]])
    # What cannot be told may turn out to be nothing.
    yield " ".join([basename(values[0]), *(word.value for word in words[1:] if word.doubt is None)])
    yield " ".join([basename(values[0]), *(word.raw for word in words[1:])])
