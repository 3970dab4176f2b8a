"""Gitignore patterns as the CLI reads them in path rules: in any case, and with all that is below a match."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

__all__ = ["matches"]


def matches(pattern: str, relative_path: str, *, generous: bool = False) -> bool:
    """Whether `pattern` covers `relative_path` (no leading slash) or a directory above it.

    Programs differ in which letters beyond ASCII are one letter in another case; `generous` takes all that may be.
    """
    expression = _compile(pattern, generous)
    if expression is None:
        return False
    names = relative_path.split("/")
    above = ("/".join(names[:depth]) + "/" for depth in range(1, len(names)))
    return any(expression.fullmatch(candidate) for candidate in (*above, relative_path))


@lru_cache(maxsize=1024)
def _compile(pattern: str, generous: bool) -> re.Pattern[str] | None:
    """The pattern as an expression over paths, directories ending in a slash; None if it can match nothing."""
    pattern = re.sub("//+", "/", _without_trailing_spaces(pattern))
    if not pattern or pattern.startswith(("#", "!")) or _ends_in_a_lone_backslash(pattern):
        return None
    only_directories = pattern.endswith("/")
    body = pattern.rstrip("/")
    anchored = "/" in body
    body = body.removeprefix("/")
    if not body:
        return None
    start = "" if anchored else "(?:.*/)?"
    end = "/" if only_directories else "/?"
    flags = re.IGNORECASE | re.DOTALL | (0 if generous else re.ASCII)
    try:
        with warnings.catch_warnings():
            # What `--` in a set may mean to Python one day is none of the user's concern: it is a range, or its end.
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(start + _translate(body) + end, flags)
    except re.error:  # a character range such as [z-a]
        return None


def _without_trailing_spaces(pattern: str) -> str:
    bare = pattern.rstrip()
    return bare + " " if bare != pattern and _ends_in_a_lone_backslash(bare) else bare


def _ends_in_a_lone_backslash(pattern: str) -> bool:
    return (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1


_TOKEN = re.compile(
    r"""
      (?P<everything_below> (?<=/)\*\*\Z )
    | (?P<any_directories> (?:\A|(?<=/))\*\*/ )
    | (?P<stars> \*+ )
    | (?P<one> \? )
    | (?P<set> \[ (?P<members>[^\]/]+) \] )
    | \\ (?P<escaped> . )
    | (?P<literal> . )
    """,
    re.VERBOSE | re.DOTALL,
)
"""In a set, `!` and `^` are characters like others: the CLI knows no negated sets."""


def _translate(body: str) -> str:
    return "".join(_expression_of(token) for token in _TOKEN.finditer(body))


def _expression_of(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "everything_below":
            return ".+"
        case "any_directories":
            return "(?:[^/]+/)*"
        case "stars":
            return _stars(token)
        case "one":
            return "[^/]"
        case "set":
            return "[" + re.sub(r"([\[&|~^])", r"\\\1", token["members"]) + "]"
        case _:
            return re.escape(token["escaped"] or token["literal"])


def _stars(token: re.Match[str]) -> str:
    """A star that is a whole name stands for at least one character."""
    text = token.string
    is_whole_name = text[: token.start()].endswith("/") and token.end() == len(text)
    return "[^/]+" if is_whole_name else "[^/]*"
