"""Keeps secrets out of what is written down: recordings and the wire log.

One place decides what a secret is: a value whose name says so (`ANTHROPIC_API_KEY`, `authorization`,
`dbPassword`), a value that looks like one (`sk-ant-…`), every value of an `update_environment_variables` line, and
any value that the caller names. What is split over several lines, such as a key in streamed text, is beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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

# What looks like a secret whatever it is called; the group is what goes. These patterns and the next are linear in
# the length of the text: no two repetitions in a row can match the same characters.
_SECRET_SHAPES: Final = (
    re.compile(r"\b(sk-[A-Za-z0-9_-]{16,})"),
    re.compile(r"\b(ghp_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    re.compile(r"\b(\d{8,10}:AA[A-Za-z0-9_-]{30,})"),  # a Telegram bot's token
    re.compile(r"\bbearer\s+([A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE),
    re.compile(r"://([^/\s:@]+:[^/\s@]+)@"),
)
# A name and its value inside a text: `NAME=value`, `--name value`, `"name": "value"`, `Name: value`.
_ASSIGNMENTS: Final = (
    re.compile(r"\b(?P<name>\w{1,100})=(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"',;&]+)"),
    re.compile(r"(?<![\w-])--(?P<name>[A-Za-z][\w-]{1,100})[= ](?P<value>[^\s-]\S*)"),
    re.compile(r"""["'](?P<name>[\w. -]{1,100})\\?["']\s*:\s*\\?["'](?P<value>[^"'\\]+)"""),
    re.compile(r"(?P<name>authorization|api-key|cookie):\s*(?P<value>[^\s\"'][^\n\"']*)", re.IGNORECASE),
)

# Where none of these occurs (in lower case) there is nothing to redact, and that is true of nearly every line. So
# they are looked for before anything is parsed. `token` is apart because nearly every frame counts `tokens`.
_HINTS: Final = (
    b"key",
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
    b"update_environment_variables",
    b"\\u00",  # an ASCII character in disguise
)


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
        except (msgspec.DecodeError, UnicodeDecodeError):
            text = line.decode("utf-8", "surrogateescape")
            clean = self.text(text)
            return line if clean == text else clean.encode("utf-8", "surrogateescape")
        clean_value = self.value(value)
        return line if clean_value == value else msgspec.json.encode(clean_value)

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
        if not _is_suspect(text.encode("utf-8", "surrogatepass")):
            return text
        # Line by line, because the patterns are slow and most lines of a long text are above suspicion.
        return "".join(map(_clean, text.splitlines(keepends=True)))

    def _object(self, fields: dict[str, Any]) -> dict[str, Any]:
        sets_environment = fields.get("type") == "update_environment_variables"
        return {
            name: _hidden(value)
            if is_secret_name(name) or (sets_environment and name == "variables")
            else self.value(value)
            for name, value in fields.items()
        }

    def _may_hold_secrets(self, line: bytes) -> bool:
        if not self._needles:
            return _is_suspect(line)
        # A known secret may be written with escapes instead of its own characters.
        return b"\\u" in line or any(needle in line for needle in self._needles) or _is_suspect(line)


def _is_suspect(data: bytes) -> bool:
    lowered = data.lower()
    for hint in _HINTS:
        if hint in lowered:
            return True
    if b"token" in lowered and lowered.count(b"token") > lowered.count(b"tokens"):
        return True
    return b"://" in lowered and b"@" in lowered


def _clean(text: str) -> str:
    if not _is_suspect(text.encode("utf-8", "surrogatepass")):
        return text
    for shape in _SECRET_SHAPES:
        text = shape.sub(_without_group, text)
    for assignment in _ASSIGNMENTS:
        text = assignment.sub(_without_secret_value, text)
    return text


def _hidden(value: Any) -> Any:
    """Every string in the value hidden; numbers are no secrets, and an empty string shows that nothing was set."""
    return _map_strings(value, lambda text: REDACTED if text else text)


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {name: _map_strings(item, change) for name, item in value.items()}
    return value


def _without_group(match: re.Match[str]) -> str:
    return _without(match, 1)


def _without_secret_value(match: re.Match[str]) -> str:
    return _without(match, "value") if is_secret_name(match["name"]) else match[0]


def _without(match: re.Match[str], group: int | str) -> str:
    start, end = match.span(group)
    return match.string[match.start() : start] + REDACTED + match.string[end : match.end()]
