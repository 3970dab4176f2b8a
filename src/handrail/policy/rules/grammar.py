"""The grammar of one permission rule: `Tool` or `Tool(spec)`, and what is wrong with a text that is neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from handrail.policy.verdict import Behavior

__all__ = ["Kind", "Problem", "Rule", "parse_rule"]

Kind: TypeAlias = Literal["malformed", "dead"]
"""Malformed: not a rule at all. Dead: well formed, but by the grammar it can never match a call."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `spec` is what stands between the parentheses, None for a bare rule."""

    text: str
    behavior: Behavior
    tool: str
    spec: str | None

    @property
    def is_whole_tool(self) -> bool:
        """Whether the rule speaks of every call of its tool."""
        return self.spec is None or self.spec == "*"


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that does nothing: which, in which list, what is wrong, and what to write instead if that can be told."""

    rule: str
    behavior: Behavior
    kind: Kind
    wrong: str
    instead: str | None = None
    tool: str | None = None
    """The tool that the rule was about, as far as it can be recognised; it may hold `*`."""

    def __str__(self) -> str:
        advice = f"; write {self.instead}" if self.instead else ""
        return f"{self.behavior} rule {self.rule!r} is {self.kind}: {self.wrong}{advice}"


_NAME = re.compile(r"[A-Za-z*][\w.*?-]*")


def parse_rule(text: object, behavior: Behavior) -> Rule | Problem:
    """The rule, or what is wrong with it."""
    if not isinstance(text, str):
        return Problem(repr(text), behavior, "malformed", f"a rule is a string, not {type(text).__name__}")

    def malformed(wrong: str, instead: str | None = None) -> Problem:
        return Problem(text, behavior, "malformed", wrong, instead, _recognised(text))

    if not text.strip():
        return malformed("the rule is empty")
    if text != text.strip():
        return malformed("there is white space around it", text.strip())
    tool, bracket, _ = text.partition("(")
    if not _NAME.fullmatch(tool):
        return malformed(f"{tool!r} is not the name of a tool", _tidied(text))
    if not bracket:
        return Rule(text, behavior, tool, None)
    wrong = _wrong_with_parentheses(text)
    if wrong:
        return malformed(wrong, f"{tool}(…) with both parentheses, or {tool} for every call")
    spec = re.sub(r"\\([()\\])", r"\1", text[len(tool) + 1 : -1])
    if not spec.strip():
        return malformed("there is nothing between the parentheses", f"{tool} for every call")
    return Rule(text, behavior, tool, spec)


def _wrong_with_parentheses(text: str) -> str | None:
    brackets = list(_brackets(text))
    opened = sum(1 for _, bracket in brackets if bracket == "(")
    if opened * 2 != len(brackets):
        return "its parentheses do not pair up"
    if brackets[-1] != (len(text) - 1, ")"):
        return "there is text after the closing parenthesis"
    return None


def _brackets(text: str) -> Iterator[tuple[int, str]]:
    """Each parenthesis that no backslash escapes, with its place."""
    for found in re.finditer(r"\\.|[()]", text, re.DOTALL):
        if len(found[0]) == 1:
            yield found.start(), found[0]


def _recognised(text: str) -> str | None:
    name = re.match(r"mcp__[\w.*-]+|[A-Z][A-Za-z]*", text.strip())
    return name[0] if name else None


def _tidied(text: str) -> str | None:
    """What was probably meant by `Bash foo`, `Bash:*` or `Bash{foo}`."""
    meant = re.fullmatch(r"([A-Z]\w*)[\s:{\[]+(.*?)[\s}\]]*", text, re.DOTALL)
    if meant is None:
        return None
    tool, spec = meant.groups()
    return f"{tool}({spec})" if spec not in ("", "*") else tool
