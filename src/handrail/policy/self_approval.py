"""No self-approval: calls that touch Handrail's own files, or run Handrail, are for a person to answer.

Claude runs as the same user as Handrail. A call that could read its tokens, change its rules or give its answers must
not be allowed by a rule that was meant for something else. The check is strict rather than clever: it looks for names
in the text of a command, so a harmless `grep handrail README.md` asks too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from handrail.places import PROJECT_DIRECTORY, Places
from handrail.policy.profiles import EDITORS
from handrail.policy.situation import Situation

__all__ = ["Intrusion", "Own", "intrusion"]

_PATH_FIELDS: Mapping[str, str] = {
    "Edit": "file_path",
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Read": "file_path",
    "Write": "file_path",
}
_REACHES_NOTHING = frozenset(
    {
        "Agent",
        "BashOutput",
        "Skill",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskUpdate",
        "TodoRead",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
    }
)
"""Tools that touch no file and run no command themselves: their text may speak of Handrail."""

_ONLY_SAID = frozenset({("Bash", "description"), ("PowerShell", "description"), ("Monitor", "description")})
"""Fields that explain a call and do nothing."""

_QUOTING = re.compile(r"\\\n|[\\'\"]")
_SEPARATORS = re.compile(r"[\s;|&<>()=,:`{}\[\]]+")
_GLOB = re.compile(r"[*?\[{]")

_RECURSIVE = re.compile(
    r"(?:^|[\s;&|(])(?:rg|ag|ack|tar|zip|rsync|scp|find|fd)\b|\s-\w*[rRa]\w*(?=\s|$)|--(?:recursive|archive)\b"
)
"""Commands and options that go through whole directories."""

MOST_WORDS = 2_000

_RUNS_HANDRAIL = re.compile(r"(?<![\w.-])handrail(?![\w/-])", re.I)
_HANDRAIL_DIRECTORY = re.compile(r"(?<![\w./-])handrail/|\$\{?\w+[^\s/]*/handrail(?![\w-])", re.I)
_HANDRAIL_VARIABLE = re.compile(r"(?<!\w)HANDRAIL_[A-Z]")
_PROJECT_DIRECTORY = re.compile(rf"(?<![\w-]){re.escape(PROJECT_DIRECTORY)}(?![\w-])", re.I)


class Own(msgspec.Struct, frozen=True):
    """What is Handrail's own: directories that nobody may read unasked, and further ones that nobody may change."""

    secret: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()

    @classmethod
    def of(cls, places: Places) -> Own:
        """Handrail's directories, and the code that runs."""
        return cls(secret=places.all, guarded=(posixpath.dirname(posixpath.dirname(__file__)),))

    def ask_rules(self) -> tuple[str, ...]:
        """As far as Claude Code's own rules can say it."""
        files = [f"{tool}(/{directory}/**)" for directory in self.secret for tool in ("Read", "Edit")]
        code = [f"Edit(/{directory}/**)" for directory in self.guarded]
        return (*files, *code, f"Edit({PROJECT_DIRECTORY}/**)", "Bash(handrail:*)")


class Intrusion(msgspec.Struct, frozen=True):
    """How a call touches what is Handrail's own. `reading_is_fine`: only if it changes something is it one."""

    reason: str
    reading_is_fine: bool = False


def intrusion(own: Own, tool_name: str, tool_input: Mapping[str, Any], situation: Situation) -> Intrusion | None:
    """How the call touches what is Handrail's own, if it does."""
    if tool_name in _REACHES_NOTHING:
        return None
    ground = _Ground(own, situation)
    if tool_name in _PATH_FIELDS:
        return _by_path(ground, tool_name, tool_input)
    said = {key: value for key, value in tool_input.items() if (tool_name, key) not in _ONLY_SAID}
    found = [intruder for text in _texts(said) if (intruder := _by_text(ground, text))]
    # What is worst of them decides.
    return min(found, key=lambda each: each.reading_is_fine, default=None)


class _Ground:
    """Handrail's directories under every name they have."""

    def __init__(self, own: Own, situation: Situation) -> None:
        self._situation = situation
        self._secret = _faces(own.secret, situation)
        self._guarded = _faces(own.guarded, situation)

    def is_secret(self, path: str) -> bool:
        return self._within(path, self._secret)

    def is_guarded(self, path: str) -> bool:
        return self._within(path, self._guarded) or any(
            PROJECT_DIRECTORY in face.split("/") for face in self._faces_of(path)
        )

    def holds_a_secret(self, directory: str) -> bool:
        """Whether one of the secret directories lies in this one."""
        return any(_below(secret, face) for face in self._faces_of(directory) for secret in self._secret)

    def could_match_a_secret(self, pattern: str) -> bool:
        """Whether the shell could expand this word to a secret directory, or to something in one."""
        if not _GLOB.search(pattern):
            return False
        parts = self._faces_of(pattern)[0].split("/")
        return any(
            all(fnmatchcase(name, part) for part, name in zip(parts, secret.split("/"), strict=False))
            and len(parts) >= len(secret.split("/"))
            for secret in self._secret
        )

    def spelled_out(self, text: str) -> bool:
        """Whether a secret directory is named in the text, with the home directory in any of its spellings."""
        home = self._situation.home.casefold()
        return any(spelling in text for secret in self._secret for spelling in _spellings(secret, home))

    def without_the_project(self, text: str) -> str:
        """The text with the project's own path cut short: a project may be called handrail."""
        return re.sub(re.escape(self._situation.cwd) + r"(?![\w.-])", ".", text)

    def _within(self, path: str, directories: Iterable[str]) -> bool:
        return any(_below(face, directory) for face in self._faces_of(path) for directory in directories)

    def _faces_of(self, path: str) -> tuple[str, ...]:
        """The path as it is written and as it resolves, in one case: some file systems do not tell cases apart."""
        situation = self._situation
        if path == "~" or path.startswith("~/"):
            path = situation.home + path[1:]
        absolute = posixpath.normpath(posixpath.join(situation.cwd, path))
        return absolute.casefold(), _resolved(absolute, situation).casefold()


def _by_path(ground: _Ground, tool: str, given: Mapping[str, Any]) -> Intrusion | None:
    path = _text(given, _PATH_FIELDS[tool])
    if ground.is_secret(path) or (tool == "Glob" and ground.is_secret(_searched(path, given))):
        return Intrusion("this is one of Handrail's own files")
    if tool in EDITORS and ground.is_guarded(path):
        return Intrusion("this is part of Handrail's policy or of Handrail itself")
    if tool == "Grep" and ground.holds_a_secret(path):
        return Intrusion("the search would go through Handrail's own files")
    return None


def _searched(path: str, given: Mapping[str, Any]) -> str:
    """The directory that a pattern leads to, as far as it is spelled out."""
    return posixpath.join(path, _GLOB.split(_text(given, "pattern"))[0])


def _by_text(ground: _Ground, text: str) -> Intrusion | None:
    plain = _QUOTING.sub("", text)
    said = ground.without_the_project(plain)
    if _RUNS_HANDRAIL.search(said):
        return Intrusion("it names handrail, whose commands are for people")
    if _HANDRAIL_VARIABLE.search(said):
        return Intrusion("it names one of Handrail's own settings")
    if _HANDRAIL_DIRECTORY.search(said) or ground.spelled_out(plain.casefold()):
        return Intrusion("it names one of Handrail's own directories")
    words = {word for word in _SEPARATORS.split(plain) if _could_be_a_path(word)}
    if len(words) > MOST_WORDS:
        return Intrusion(
            f"it names more than {MOST_WORDS} paths, too many to see whether Handrail's own are among them"
        )
    if any(ground.is_secret(word) or ground.could_match_a_secret(word) for word in words):
        return Intrusion("it reaches one of Handrail's own directories")
    if _RECURSIVE.search(plain) and any(ground.holds_a_secret(word) for word in (".", *words)):
        return Intrusion("it goes through a directory that Handrail's own files are in")
    if _PROJECT_DIRECTORY.search(plain) or any(ground.is_guarded(word) for word in words):
        return Intrusion("it touches Handrail's policy or Handrail itself", reading_is_fine=True)
    return None


def _could_be_a_path(word: str) -> bool:
    """Whether a word can name something outside of the directory it is said in, or something hidden."""
    return "/" in word or word.startswith(("~", "."))


def _text(given: Mapping[str, Any], field: str) -> str:
    value = given.get(field)
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> Iterator[str]:
    """Every string in a tool's input."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _faces(directories: Iterable[str], situation: Situation) -> tuple[str, ...]:
    found = {face for each in directories for face in (posixpath.normpath(each), _resolved(each, situation))}
    return tuple(sorted(face.casefold() for face in found))


def _spellings(directory: str, home: str) -> Iterator[str]:
    yield directory
    if _below(directory, home):
        rest = directory[len(home) :]
        yield f"~{rest}"
        yield f"$home{rest}"
        yield f"${{home}}{rest}"
        yield rest.strip("/")


def _resolved(path: str, situation: Situation) -> str:
    try:
        return situation.files.resolve(path)
    except (OSError, ValueError):  # a name too long for the system, or with a NUL in it: there is no such file
        return path


def _below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
