"""Keeps secrets out of what is written down: recordings and the wire log.

One place decides what a secret is: a value whose name says so (`ANTHROPIC_API_KEY`, `authorization`,
`dbPassword`), a value that looks like one (`sk-ant-…`), every value of an `update_environment_variables` line, and
any value that the caller names. What is split over several lines, such as a key in streamed text, is beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import msgspec

__all__ = ["REDACTED", "Redactor", "is_secret_name"]

REDACTED: Final = "[redacted]"

# A name is secret if it ends like this …
_SECRET_ENDING: Final = re.compile(
    r"(?:token|secret|password|passwd|passphrase|authorization|cookie|credentials?"
    r"|(?:api|access|secret|private|signing|encryption)[_.\- ]?key)$",
    re.IGNORECASE,
)
# … or, in the manner of environment variables, if one of its words says so wherever it stands.
_SECRET_WORD: Final = re.compile(r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY)(?:_|$)")
# MCP's progress tokens pair requests with notifications; they protect nothing.
_HARMLESS_NAMES: Final = frozenset({"progressToken"})


# The patterns below take a time linear in the length of the text: no two repetitions in a row can match the same
# characters. They are compiled when something first needs them: a session that is not written down never does.


@cache
def _secret_shapes() -> tuple[re.Pattern[bytes], ...]:
    """What looks like a secret whatever it is called; the group is what goes."""
    return (
        re.compile(rb"\b(sk-[A-Za-z0-9_-]{16,})"),
        re.compile(rb"\b(ghp_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
        re.compile(rb"\b(\d{8,10}:AA[A-Za-z0-9_-]{30,})"),  # a Telegram bot's token
        re.compile(rb"\bbearer\s+([A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE),
        re.compile(rb"://([^/\s:@]+:[^/\s@]+)@"),
    )


@cache
def _assignments() -> tuple[re.Pattern[bytes], ...]:
    """A name and its value inside a text: `NAME=value`, `--name value`, `"name": "value"`, `Name: value`."""
    return (
        re.compile(rb"\b(?P<name>\w{1,100})=(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"',;&]+)"),
        re.compile(rb"(?<![\w-])--(?P<name>[A-Za-z][\w-]{1,100})[= ](?P<value>[^\s-]\S*)"),
        re.compile(rb"""["'](?P<name>[\w. -]{1,100})\\?["']\s*:\s*\\?["'](?P<value>[^"'\\]+)"""),
        re.compile(rb"(?P<name>authorization|api-key|cookie):\s*(?P<value>[^\s\"'][^\n\"']*)", re.IGNORECASE),
    )


# Where none of these occurs (in lower case) there is nothing to redact, and that is true of nearly every line. So
# they are looked for before anything is parsed, and the patterns, which are slow, are tried only around them.
_CLUES: Final = (
    b"key",
    b"token",
    b"secret",
    b"passw",
    b"passphrase",
    b"authorization",
    b"cookie",
    b"credential",
    b"bearer",
    b"sk-",
    b"ghp_",
    b"github_pat_",
    b":aa",
    b"://",
)
_BEFORE_CLUE: Final = 128
SHORTEST_KNOWN: Final = 8
"""Shorter values are words that stand everywhere."""
_AFTER_CLUE: Final = 4096


def is_secret_name(name: str) -> bool:
    """Whether what is called this should not be shown."""
    if name in _HARMLESS_NAMES:
        return False
    return bool(_SECRET_ENDING.search(name) or _SECRET_WORD.search(name))


class Redactor:
    """Replaces secrets by `[redacted]`; `secrets` are values known to be secret, wherever they occur."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: a secret may be part of another.
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._needles = [msgspec.json.encode(secret)[1:-1] for secret in self._secrets]

    def line(self, line: bytes) -> bytes:
        """The line without its secrets: the very same object where there are none."""
        if not self._may_hold_secrets(line):
            return line
        try:
            value = msgspec.json.decode(line)
            clean = self.value(value)
            return line if clean == value else msgspec.json.encode(clean)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._bytes(line)

    def known(self, data: bytes) -> bytes:
        """JSON without the values that are known to be secret; what only looks like a secret stays."""
        for needle in self._needles:
            if len(needle) >= SHORTEST_KNOWN and needle in data:
                data = data.replace(needle, REDACTED.encode())
        return data

    def value(self, value: Any) -> Any:
        """A decoded JSON value without its secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return self._object(value)
        return value

    def text(self, text: str) -> str:
        """A text without what looks like a secret, or follows a name that says so."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        data = text.encode("utf-8", "surrogatepass")
        clean = _clean(data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def _bytes(self, line: bytes) -> bytes:
        for needle in self._needles:
            line = line.replace(needle, REDACTED.encode())
        return _clean(line)

    def _object(self, fields: dict[str, Any]) -> dict[str, Any]:
        sets_environment = fields.get("type") == "update_environment_variables"
        return {
            name: _hidden(value)
            if is_secret_name(name) or (sets_environment and name == "variables")
            else self.value(value)
            for name, value in fields.items()
        }

    def _may_hold_secrets(self, line: bytes) -> bool:
        # Escapes can stand for any character, of a clue or of a known secret.
        if b"\\u00" in line or (self._needles and b"\\u" in line):
            return True
        if b"update_environment_variables" in line or any(needle in line for needle in self._needles):
            return True
        lowered = line.lower()
        return any(_first(clue, lowered) >= 0 for clue in _CLUES)


def _clean(text: bytes) -> bytes:
    """The text without secrets: the very same object where nothing suggests that there are any."""
    lowered = text.lower()
    pieces, done = [], 0
    for start, end in _windows(lowered):
        pieces += [text[done:start], _clean_window(text[start:end])]
        done = end
    return b"".join((*pieces, text[done:])) if pieces else text


def _clean_window(text: bytes) -> bytes:
    for shape in _secret_shapes():
        text = shape.sub(_without_group, text)
    for assignment in _assignments():
        text = assignment.sub(_without_secret_value, text)
    return text


def _windows(lowered: bytes) -> list[tuple[int, int]]:
    """The parts of the text that may hold a secret: around each clue, within its line. In order, and apart."""
    windows: list[tuple[int, int]] = []
    for place in sorted(_places(lowered)):
        start = max(0, place - _BEFORE_CLUE, lowered.rfind(b"\n", max(0, place - _BEFORE_CLUE), place) + 1)
        newline = lowered.find(b"\n", place, place + _AFTER_CLUE)
        end = min(len(lowered), place + _AFTER_CLUE) if newline < 0 else newline
        if windows and start <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(end, windows[-1][1])
        else:
            windows.append((start, end))
    return windows


def _places(lowered: bytes) -> Iterator[int]:
    for clue in _CLUES:
        place = _first(clue, lowered)
        while place >= 0:
            yield place
            place = _first(clue, lowered, place + 1)


def _first(clue: bytes, lowered: bytes, start: int = 0) -> int:
    place = lowered.find(clue, start)
    # Nearly every frame counts `tokens`; those are no clue.
    while place >= 0 and clue == b"token" and lowered[place + 5 : place + 6] == b"s":
        place = lowered.find(clue, place + 1)
    return place


def _hidden(value: Any) -> Any:
    """Every string in the value hidden; numbers are no secrets, and an empty string shows that nothing was set."""
    if isinstance(value, str):
        return REDACTED if value else value
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    if isinstance(value, dict):
        return {name: _hidden(item) for name, item in value.items()}
    return value


def _without_group(match: re.Match[bytes]) -> bytes:
    return _without(match, 1)


def _without_secret_value(match: re.Match[bytes]) -> bytes:
    return _without(match, "value") if is_secret_name(match["name"].decode("ascii")) else match[0]


def _without(match: re.Match[bytes], group: int | str) -> bytes:
    start, end = match.span(group)
    return match.string[match.start() : start] + REDACTED.encode() + match.string[end : match.end()]
