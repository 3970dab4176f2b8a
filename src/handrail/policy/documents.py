"""Policy files: what may stand in them, and messages that say where it does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import msgspec

from handrail.errors import InvalidPolicy
from handrail.policy.profiles import PROFILES
from handrail.policy.rules.dead import why_dead
from handrail.policy.rules.grammar import Problem, parse_rule
from handrail.policy.verdict import Behavior
from handrail.toml_text import NotToml, Place, line_of, parse_toml, place_in_words, toml_lines
from handrail.wording import did_you_mean, listed

__all__ = ["Document", "WrittenRule", "duration", "parse_document", "rule_problem"]

BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_DURATION_HELP = 'write a number and a unit, such as "90s", "30m" or "2h"'


class WrittenRule(msgspec.Struct, frozen=True):
    """A rule and where it is written."""

    text: str
    behavior: Behavior
    line: int


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy file says; None where it says nothing."""

    path: str
    profile: str | None = None
    rules: tuple[WrittenRule, ...] = ()
    expire_after: float | None = None
    outline_cooldown: bool | None = None
    lines: Mapping[str, int] = {}
    """Where each key stands."""


def parse_document(data: bytes, path: str) -> Document:
    """Read a policy file. Everything that is wrong with it is in the one error that is raised."""
    text, values = _toml(data, path)
    page = _Page(path, toml_lines(text))
    page.check_keys(values, _KEYS, ())
    document = Document(
        path=path,
        profile=page.value(values, "profile", _profile),
        rules=tuple(page.rules(values)),
        expire_after=page.value(values, "expire_after", duration),
        outline_cooldown=page.plan(values),
        lines={key: page.line((key,)) for key in values},
    )
    page.raise_problems()
    return document


def duration(value: Any) -> float:
    """Seconds, from words such as `"30m"`."""
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise _Unfit(f"{_shown(value)} is not a duration: {_DURATION_HELP}")
    seconds = float(found[1]) * _UNITS[found[2]]
    if not 0 < seconds < float("inf"):
        raise _Unfit(f"{_shown(value)} is no time at all: {_DURATION_HELP}")
    return seconds


def rule_problem(text: str, behavior: Behavior) -> str | None:
    """What is wrong with a rule: it is malformed, or can never match."""
    parsed = parse_rule(text, behavior)
    problem = parsed if isinstance(parsed, Problem) else why_dead(parsed)
    return None if problem is None else str(problem)


class _Unfit(ValueError):
    """A value that does not fit; the message says what would."""


class _Page:
    """One file while it is read: collects what is wrong with it."""

    def __init__(self, path: str, lines: Mapping[Place, int]) -> None:
        self._path = path
        self._lines = lines
        self._problems: list[tuple[int, str]] = []

    def line(self, place: Place) -> int:
        return line_of(place, self._lines)

    def check_keys(self, values: Mapping[str, Any], known: Iterable[str], above: Place) -> None:
        for key in values:
            if key not in known:
                self.problem((*above, key), f"there is no such key{did_you_mean(key, known)}")

    def value(self, values: Mapping[str, Any], key: str, read: Callable[[Any], Any]) -> Any:
        if key not in values:
            return None
        try:
            return read(values[key])
        except _Unfit as error:
            return self.problem((key,), str(error))

    def rules(self, values: Mapping[str, Any]) -> Iterable[WrittenRule]:
        for behavior in BEHAVIORS:
            written = values.get(behavior, [])
            if not isinstance(written, list):
                self.problem((behavior,), f'must be a list of rules: write {behavior} = ["Bash(git status)"]')
                continue
            for index, text in enumerate(written):
                place = (behavior, index)
                problem = rule_problem(text, behavior) if isinstance(text, str) else _not_a_rule(text)
                if problem:
                    self.problem(place, problem)
                else:
                    yield WrittenRule(text, behavior, self.line(place))

    def plan(self, values: Mapping[str, Any]) -> bool | None:
        table = values.get("plan", {})
        if not isinstance(table, dict):
            self.problem(("plan",), "must be a table: write [plan] on a line of its own, its keys below")
            return None
        self.check_keys(table, ("outline_cooldown",), ("plan",))
        cooldown = table.get("outline_cooldown")
        if cooldown is not None and not isinstance(cooldown, bool):
            self.problem(("plan", "outline_cooldown"), f"must be true or false, not {_shown(cooldown)}")
            return None
        return cooldown

    def problem(self, place: Place, message: str) -> None:
        self._problems.append((self.line(place), f"{place_in_words(place)}: {message}"))

    def raise_problems(self) -> None:
        if self._problems:
            lines = [f"{self._path}, line {line}, {message}" for line, message in sorted(self._problems)]
            raise InvalidPolicy("\n".join(lines))


_KEYS = ("profile", *BEHAVIORS, "expire_after", "plan")


def _toml(data: bytes, path: str) -> tuple[str, dict[str, Any]]:
    try:
        return parse_toml(data)
    except NotToml as error:
        raise InvalidPolicy(f"{path}, line {error.line}: {error}") from error


def _profile(value: Any) -> str:
    if not isinstance(value, str):
        raise _Unfit(f'must be one of {listed(PROFILES)}, in quotes: write profile = "careful"')
    if value not in PROFILES:
        raise _Unfit(f"there is no profile {value!r}{did_you_mean(value, PROFILES)}")
    return value


def _not_a_rule(value: Any) -> str:
    return f'{_shown(value)} is not a rule: write it in quotes, such as "Bash(git status)"'


def _shown(value: Any) -> str:
    text = str(msgspec.json.encode(value, enc_hook=str), "utf-8")
    return text if len(text) <= 60 else f"{text[:57]}…"
