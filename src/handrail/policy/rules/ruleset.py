"""Claude Code's permission rules, in the lists allow, ask and deny, with what is wrong with them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from handrail.errors import InvalidRule
from handrail.policy.rules.dead import why_dead
from handrail.policy.rules.grammar import Problem, Rule, parse_rule
from handrail.policy.verdict import Behavior

__all__ = ["Problem", "Rule", "Rules"]

_log = logging.getLogger("handrail.policy")


@dataclass(frozen=True, slots=True, init=False)
class Rules:
    """The rules of a policy, as Claude Code's settings would hold them.

    A rule that is malformed, or that can never match, is in `problems` and logged; `check()` raises for them all.
    """

    allow: tuple[Rule, ...]
    ask: tuple[Rule, ...]
    deny: tuple[Rule, ...]
    problems: tuple[Problem, ...]

    def __init__(self, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        problems: list[Problem] = []
        object.__setattr__(self, "allow", _read(allow, "allow", problems))
        object.__setattr__(self, "ask", _read(ask, "ask", problems))
        object.__setattr__(self, "deny", _read(deny, "deny", problems))
        object.__setattr__(self, "problems", tuple(problems))
        if problems:
            _log.warning("%s", _summary(self.problems))

    def of(self, behavior: Behavior) -> tuple[Rule, ...]:
        """The rules of one list."""
        lists = {"allow": self.allow, "ask": self.ask, "deny": self.deny}
        return lists[behavior]

    def without_allow(self) -> Rules:
        """The same rules, allowing nothing."""
        tightened = object.__new__(Rules)
        for name, value in (("allow", ()), ("ask", self.ask), ("deny", self.deny), ("problems", self.problems)):
            object.__setattr__(tightened, name, value)
        return tightened

    def check(self) -> None:
        """Raise `InvalidRule`, naming every rule that does nothing."""
        if self.problems:
            raise InvalidRule(_summary(self.problems))


def _read(texts: object, behavior: Behavior, problems: list[Problem]) -> tuple[Rule, ...]:
    rules = []
    for text in _listed(texts, behavior):
        parsed = parse_rule(text, behavior)
        if isinstance(parsed, Problem):
            problems.append(parsed)
            continue
        rules.append(parsed)
        dead = why_dead(parsed)
        if dead is not None:
            problems.append(dead)
    return tuple(rules)


def _listed(texts: object, behavior: Behavior) -> Iterable[object]:
    if isinstance(texts, str | bytes | dict) or not isinstance(texts, Iterable):
        raise InvalidRule(f"`{behavior}` is a list of rules such as ['Bash(git status)'], not {texts!r}")
    return texts


def _summary(problems: tuple[Problem, ...]) -> str:
    noun = "1 rule does nothing" if len(problems) == 1 else f"{len(problems)} rules do nothing"
    return "\n  ".join([f"{noun}:", *map(str, problems)])
