"""Commands that run another command: what an allow rule sees through, and what deny and ask rules see through."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from handrail.policy.shell.tree import Assignment, Command
from handrail.policy.shell.words import Word

__all__ = ["basename", "is_assignment", "is_duration", "is_overwrapped", "layers", "peeled", "peeled_for_reading"]

SAFE_VARIABLES = frozenset([
    "ANTHROPIC_API_KEY", "BLOCKSIZE", "BLOCK_SIZE", "CGO_ENABLED", "CHARSET", "CI", "CLICOLOR", "CLICOLOR_FORCE",
    "COLORTERM", "COLUMNS", "DEBIAN_FRONTEND", "FORCE_COLOR", "GCC_COLORS", "GIT_TERMINAL_PROMPT", "GO111MODULE",
    "GOARCH", "GOEXPERIMENT", "GOOS", "GREP_COLOR", "GREP_COLORS", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE",
    "LC_TIME", "LINES", "LSCOLORS", "LS_COLORS", "NODE_ENV", "NO_COLOR", "PYTEST_DEBUG",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LOG",
    "TERM", "TIME_STYLE", "TZ",
])  # fmt: skip
"""Variables that an allow rule lets a command be prefixed with: they change how it looks, not what it does."""

_SAFE_VALUE = re.compile(r"[A-Za-z0-9_.-]+")
_SAFE_PATH = re.compile(r"\w+(?:[/:]\w+)*")
_HOLDING_PATHS = frozenset(["NODE_ENV", "LANGUAGE", "TZ"])
_LOCALES = frozenset(["LANG", "LC_ALL", "LC_CTYPE"])
_LOCALE = re.compile(r"C|POSIX|C\.UTF-8|en_US\.UTF-8|UTF-8")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_INTEGER = re.compile(r"-?\d+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class _Options:
    """The options that a wrapper may have in front of the command it runs, as patterns."""

    alone: re.Pattern[str]
    with_value: re.Pattern[str]
    value: re.Pattern[str]
    is_required: bool = False


_NEVER = re.compile(r"(?!)")
_ANY = re.compile(r"[\w.+-]+")
_NO_OPTIONS = _Options(_NEVER, _NEVER, _NEVER)

_WRAPPERS: dict[str, _Options] = {
    "time": _NO_OPTIONS,
    "nohup": _NO_OPTIONS,
    "builtin": _NO_OPTIONS,
    "noglob": _NO_OPTIONS,
    "command": _Options(re.compile(r"-p|--"), _NEVER, _NEVER),
    "nice": _Options(re.compile(r"-\d+"), re.compile("-n"), _INTEGER),
    "stdbuf": _Options(re.compile(r"-[ioe][\dLKMG]+"), _NEVER, _NEVER, is_required=True),
    "timeout": _Options(
        re.compile(r"--foreground|--preserve-status|--verbose|-v|-[sk][\w.]+|--(?:signal|kill-after)=[\w.]+"),
        re.compile(r"-s|-k|--signal|--kill-after"),
        _ANY,
    ),
}
"""What an allow rule sees through."""

_KEEP_READING_SAFE = frozenset(["timeout", "command", "builtin", "noglob"])
"""The wrappers under which a read-only command needs no rule."""

_POSITIONALS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(
        [
            "time", "nohup", "builtin", "noglob", "nocorrect", "command", "nice", "stdbuf", "sudo", "doas", "env",
            "exec", "watch", "setsid", "ionice", "strace", "ltrace", "unshare", "nsenter", "script", "pkexec", "!",
            "if", "then", "elif", "else", "while", "until", "do",
        ],
        (0, 0),
    ),
    **dict.fromkeys(["flock", "chrt", "taskset"], (0, 1)),
    "timeout": (1, 1),
}  # fmt: skip
"""What deny and ask rules see through, and how many arguments at least and at most come before the inner command."""


def basename(name: str) -> str:
    """The command itself: deny and ask rules on `foo` also mean `/usr/bin/foo` and `./foo`."""
    return posixpath.basename(name.rstrip("/")) or name


def is_duration(word: str) -> bool:
    """Whether `timeout` takes the word for its time."""
    return _DURATION.fullmatch(word) is not None


def is_assignment(word: str) -> bool:
    """Whether a word has the form of an assignment."""
    return _ASSIGNMENT.match(word) is not None


def is_safe_assignment(assignment: Assignment) -> bool:
    """Whether an allow rule lets the command be prefixed with this."""
    raw_value = assignment.value.raw
    if assignment.name not in SAFE_VARIABLES or assignment.raw != f"{assignment.name}={raw_value}":
        return False
    if assignment.name in _LOCALES:
        return _LOCALE.fullmatch(raw_value) is not None
    if assignment.name in _HOLDING_PATHS and _SAFE_PATH.fullmatch(raw_value):
        return True
    return _SAFE_VALUE.fullmatch(raw_value) is not None and ".." not in raw_value


def peeled(command: Command) -> Iterator[Command]:
    """The command, and what is left of it as safe assignments and wrappers are taken off one by one."""
    current: Command | None = command
    while current is not None:
        yield current
        current = _without_first_assignment(current) or _without_wrapper(current, frozenset(_WRAPPERS))


def peeled_for_reading(command: Command) -> Command:
    """The command inside, for the wrappers and assignments that keep a read-only command read-only."""
    current: Command | None = command
    while current is not None:
        command = current
        current = _without_first_assignment(current) or _without_plain_wrapper(current)
    return command


def _without_first_assignment(command: Command) -> Command | None:
    if not command.assignments or not command.words or not is_safe_assignment(command.assignments[0]):
        return None
    text = command.text[len(command.assignments[0].raw) :].lstrip()
    return replace(command, text=text, assignments=command.assignments[1:])


def _without_wrapper(command: Command, wrappers: frozenset[str]) -> Command | None:
    if command.assignments or command.name not in wrappers:
        return None
    start = _inner_start(command.values, _WRAPPERS[command.name])
    if start is None or any(word.is_quoted for word in command.words[:start]):
        return None
    return _tail(command, start)


def _without_plain_wrapper(command: Command) -> Command | None:
    has_options = len(command.words) > 1 and command.words[1].value.startswith("-")
    return None if has_options else _without_wrapper(command, _KEEP_READING_SAFE)


def _inner_start(values: Sequence[str], options: _Options) -> int | None:
    """Where the inner command begins; None if that cannot be told."""
    at = 1
    while at < len(values):
        if options.alone.fullmatch(values[at]):
            at += 1
        elif (
            options.with_value.fullmatch(values[at])
            and at + 1 < len(values)
            and options.value.fullmatch(values[at + 1])
        ):
            at += 2
        else:
            break
    if options.is_required and at == 1:
        return None
    if values[0] == "timeout":
        if at >= len(values) or not is_duration(values[at]):
            return None
        at += 1
    if at >= len(values) or values[at].startswith("-") or is_assignment(values[at]):
        return None
    return at


def _tail(command: Command, start: int) -> Command:
    words = command.words[start:]
    return Command(_text_from(command, start), words)


def _text_from(command: Command, start: int) -> str:
    """The text from one word on, as it was written."""
    rest = command.text
    for word in command.words[:start]:
        rest = rest[rest.index(word.raw) + len(word.raw) :]
    return rest.lstrip()


def _suspected_inner(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """What a wrapper may run, for deny and ask rules: rather one reading too many than one too few.

    Whether an option takes the next word as its value is not known, so both readings count.
    """
    name = basename(words[0].value) if words else ""
    if name == "xargs" and len(words) > 1 and not words[1].value.startswith("-"):
        yield words[1:]
    only_looks_up = name == "command" and len(words) > 1 and words[1].value in ("-v", "-V")
    if name not in _POSITIONALS or only_looks_up:
        return
    fewest, most = _POSITIONALS[name]
    options = plain = 0
    for at in range(1, len(words)):
        if plain > most + options:
            return
        value = words[at].value
        if value.startswith("-"):
            options += 1
        elif not is_assignment(value):
            if plain >= fewest:
                yield words[at:]
            plain += 1


_MAX_LAYERS = 32


def layers(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """A command's words, and those of everything that it may run inside, up to a limit."""
    pending = [words] if words else []
    for _ in range(_MAX_LAYERS):
        if not pending:
            return
        current = pending.pop()
        yield current
        pending.extend(_suspected_inner(current))


def is_overwrapped(words: tuple[Word, ...]) -> bool:
    """Whether there may be more layers than `layers` looks at."""
    return sum(1 for _ in layers(words)) >= _MAX_LAYERS
